/* Each maintained object is an item: its desired state, its last seen state, and whether our part
 * has changed since its last write began (dirty; a write that fails counts as none). Every action
 * follows from a look at the object (on_registrar_seen), so a lost answer, a restart and a foreign
 * change are the same case.
 *
 * Plurals come from discovery, one kind after the other. Kinds that are not served are asked for
 * again, and left out meanwhile. While it is not known whether a kind is served, its configuration
 * stays as it is: it may contain the webhook already. */
#include "base/alloc.h"
#include "base/check.h"
#include "base/log.h"
#include "kube/status.h"
#include "webhook/registrar_impl.h"
#include "write/recorder.h"

#include "base/text.h"

#include <string.h>

#define AGAIN_NS (5 * PL_SECOND) /* interval of checks for missing kinds */
/* A removed object may come back: during a rollout, replicas that still have the handlers write it
 * again. It is removed a few more times, with pauses, so that nothing is left when they have gone.
 */
#define TAKE_AGAIN_NS (50 * PL_SECOND)
#define MOST_TAKES    5

static const struct pl_resource resources[] = {
    [PL_HOOK_VALIDATE] = {.kind = {"admissionregistration.k8s.io", "v1",
                                   "ValidatingWebhookConfiguration"},
                          .plural = "validatingwebhookconfigurations",
                          .can_watch = true},
    [PL_HOOK_MUTATE] = {.kind = {"admissionregistration.k8s.io", "v1",
                                 "MutatingWebhookConfiguration"},
                        .plural = "mutatingwebhookconfigurations",
                        .can_watch = true},
    [PL_HOOK_CONVERT] = {.kind = {"apiextensions.k8s.io", "v1", "CustomResourceDefinition"},
                         .plural = "customresourcedefinitions",
                         .can_watch = true},
};

struct pl_registration_target pl_registrar_target(const struct pl_registrar *r)
{
    return (struct pl_registration_target){.url = r->url,
                                           .ns = r->o.service_ns,
                                           .name = r->o.service_name,
                                           .port = r->o.service_port,
                                           .ca_pem = r->ca_pem};
}

const struct pl_resource *pl_registrar_resource(enum pl_hook_sort sort)
{
    return &resources[sort];
}

/* Without handlers nothing is written that a CA belongs to. */
static bool may_write(const struct pl_registrar *r)
{
    return (r->ca_known || r->entry_count == 0) && (r->url != NULL || r->o.service_name != NULL) &&
           r->removed == NULL;
}

/* ---- items ---- */

static void check_removed(struct pl_registrar *r)
{
    for (const struct pl_registrar_item *item = r->items; item != NULL; item = item->next)
        if (item->removing && !item->removed)
            return;
    if (r->removed != NULL)
        pl_timer_start(r->timers, &r->limit, 0, r->limit.fire);
}

static void registrar_apply(struct pl_registrar_item *item)
{
    item->dirty = false;
    item->applying = true;
    pl_kept_apply(item->kept, item->desired, PL_REGISTRATION_MANAGER);
}

static void registrar_take_back(struct pl_registrar_item *item)
{
    item->dirty = false;
    item->applying = false;
    item->taken_ns = pl_clock_mono(item->r->timers->clock);
    item->takes++;
    if (item->sort == PL_HOOK_CONVERT) {
        struct pl_doc *nothing = pl_registration_conversion(item->name, NULL);
        pl_kept_apply(item->kept, nothing, PL_REGISTRATION_MANAGER);
        pl_doc_unref(nothing);
    } else {
        pl_kept_delete(item->kept);
    }
}

/* For an item that is not wanted any more: whether it is time to remove it. */
static bool is_due(const struct pl_registrar_item *item)
{
    int64_t passed_ns = pl_clock_mono(item->r->timers->clock) - item->taken_ns;
    bool again = item->takes > 0 && item->takes < MOST_TAKES && passed_ns >= TAKE_AGAIN_NS;
    return item->dirty || again;
}

/* For an item that is not wanted any more: whether we have written it. */
static bool is_left_over(const struct pl_registrar_item *item, struct pl_doc *object)
{
    const struct pl_registration_target target = pl_registrar_target(item->r);
    if (object == NULL)
        return false;
    if (item->sort != PL_HOOK_CONVERT)
        return pl_registration_is_ours(pl_doc_root(object), &target);
    return item->memory.accepted != NULL ||
           pl_registration_converts_here(pl_doc_root(object), &target);
}

static void on_registrar_seen(void *arg, struct pl_doc *object)
{
    struct pl_registrar_item *item = arg;
    if (pl_kept_is_writing(item->kept) || !may_write(item->r))
        return;
    struct pl_node root = pl_doc_root(object);
    if (item->desired == NULL) {
        if (is_due(item) && is_left_over(item, object))
            registrar_take_back(item);
        else
            item->dirty = false;
    } else if (object == NULL && item->sort == PL_HOOK_CONVERT) {
        item->dirty = true; /* the CRD is gone: it may come back */
    } else if (object == NULL || item->dirty || pl_registration_is_undone(&item->memory, root)) {
        registrar_apply(item);
    } else {
        pl_registration_accept(&item->memory, root);
    }
}

/* A person has to correct a CRD that webhooks cannot convert. */
static void registrar_report(const struct pl_registrar_item *item, const struct pl_err *err)
{
    const struct pl_report report = {
        .regarding = {.api_version = pl_slice_z("apiextensions.k8s.io/v1"),
                      .kind = pl_slice_z("CustomResourceDefinition"),
                      .name = pl_slice_z(item->name)},
        .warning = true,
        .reason = pl_slice_z("WebhookConversionRefused"),
        .note = pl_slice_z(err->message),
        .action = pl_slice_z("Register")};
    pl_recorder_event(pl_cluster_recorder(item->r->o.cluster), &report);
}

/* A write of an item that is being removed has ended. An apply was under way when that began, and
 * may have succeeded even if its answer is an error. */
static void registrar_removed(struct pl_registrar_item *item)
{
    if (item->applying) {
        registrar_take_back(item);
        return;
    }
    item->removed = true;
    check_removed(item->r);
}

static void note_refusal(struct pl_registrar_item *item, const char *message)
{
    pl_free(item->refused);
    item->refused = pl_strdup_or_null(message);
}

static void on_registrar_written(void *arg, struct pl_doc *object, const struct pl_err *err)
{
    struct pl_registrar_item *item = arg;
    bool gone = err != NULL && pl_err_is_not_found(err);
    note_refusal(item, err != NULL && !gone && item->applying ? err->message : NULL);
    if (err != NULL && item->sort == PL_HOOK_CONVERT && pl_err_is_invalid(err))
        registrar_report(item, err);
    if (item->removing) {
        registrar_removed(item);
        return;
    }
    if (err != NULL && !gone) {
        item->dirty = true; /* it is read again */
        return;
    }
    if (object != NULL && item->applying)
        pl_registration_accept(&item->memory, pl_doc_root(object));
    else
        pl_registration_memory_deinit(&item->memory);
    if (err == NULL)
        pl_log(PL_LOG_INFO,
               item->applying ? "webhooks are registered" : "webhooks are no longer registered",
               pl_str("as", resources[item->sort].kind.kind), pl_str("name", item->name));
}

static void open_item(struct pl_registrar_item *item)
{
    if (item->kept != NULL || item->name == NULL)
        return;
    const struct pl_kept_options options = {.client = pl_site_client(item->r->site),
                                            .timers = item->r->timers,
                                            .resource = &resources[item->sort],
                                            .name = item->name,
                                            .seen = on_registrar_seen,
                                            .written = on_registrar_written,
                                            .arg = item};
    item->kept = pl_kept_create(&options);
}

/* Takes the document: the new desired state. */
static void want(struct pl_registrar_item *item, struct pl_doc *desired)
{
    bool same = item->wanted && (desired == NULL) == (item->desired == NULL) &&
                pl_node_equal(pl_doc_root(desired), pl_doc_root(item->desired));
    pl_doc_unref(item->desired);
    item->desired = desired;
    item->wanted = true;
    if (same)
        return;
    note_refusal(item, NULL);
    item->takes = 0;
    item->dirty = true;
    open_item(item);
    if (item->kept != NULL)
        pl_kept_look(item->kept, 0);
}

static struct pl_registrar_item *find_item(const struct pl_registrar *r, enum pl_hook_sort sort,
                                           const struct pl_kind *kind)
{
    struct pl_registrar_item *item = r->items;
    while (item != NULL &&
           (item->sort != sort || (kind != NULL && !pl_kind_eq_group(&item->kind, kind))))
        item = item->next;
    return item;
}

struct pl_registrar_item *pl_registrar_item_of(struct pl_registrar *r, enum pl_hook_sort sort,
                                               const struct pl_kind *kind)
{
    struct pl_registrar_item *item = find_item(r, sort, kind);
    if (item != NULL)
        return item;
    item = PL_NEW(struct pl_registrar_item);
    item->r = r;
    item->sort = sort;
    item->next = r->items;
    if (kind != NULL)
        item->kind = *kind;
    else
        item->name = pl_strdup(r->o.name);
    r->items = item;
    return item;
}

void pl_registrar_leave(struct pl_registrar *r, enum pl_hook_sort sort, const struct pl_kind *kind,
                        struct pl_slice name)
{
    struct pl_registrar_item *item = pl_registrar_item_of(r, sort, kind);
    if (item->name == NULL)
        item->name = pl_text_copy(name);
    if (!item->wanted)
        want(item, NULL);
}

/* ---- the desired state ---- */

static bool has_failed(const struct pl_registrar *r, enum pl_hook_sort sort)
{
    for (size_t i = 0; i < r->entry_count; i++)
        if (r->entries[i].spec->sort == sort && r->entries[i].failed)
            return true;
    return false;
}

static void want_config(struct pl_registrar *r, enum pl_hook_sort sort)
{
    const struct pl_registration_target target = pl_registrar_target(r);
    if (has_failed(r, sort))
        return;
    if (r->entry_count == 0 && find_item(r, sort, NULL) == NULL)
        return; /* a list finds the objects that an earlier process has left */
    struct pl_registration_entry *all = pl_calloc(r->entry_count + 1, sizeof *all);
    for (size_t i = 0; i < r->entry_count; i++)
        all[i] = (struct pl_registration_entry){
            .spec = r->entries[i].spec, .kind = r->entries[i].kind, .plural = r->entries[i].plural};
    want(pl_registrar_item_of(r, sort, NULL),
         pl_registration_config(sort, r->o.name, all, r->entry_count, &target));
    pl_free(all);
}

bool pl_registrar_converts(const struct pl_registrar *r, const struct pl_kind *kind)
{
    for (size_t i = 0; i < r->entry_count; i++)
        if (r->entries[i].spec->sort == PL_HOOK_CONVERT &&
            pl_kind_eq_group(&r->entries[i].kind->kind, kind))
            return true;
    return false;
}

static void want_conversion(struct pl_registrar_item *item)
{
    const struct pl_registration_target target = pl_registrar_target(item->r);
    if (item->name != NULL)
        want(item, pl_registrar_converts(item->r, &item->kind)
                       ? pl_registration_conversion(item->name, &target)
                       : NULL);
}

void pl_registrar_want_all(struct pl_registrar *r)
{
    if (!may_write(r))
        return;
    want_config(r, PL_HOOK_VALIDATE);
    want_config(r, PL_HOOK_MUTATE);
    for (struct pl_registrar_item *item = r->items; item != NULL; item = item->next)
        if (item->sort == PL_HOOK_CONVERT)
            want_conversion(item);
    pl_registrar_look_for_strays(r);
}

/* ---- plurals ---- */

static void ask_next(struct pl_registrar *r);

void pl_registrar_note_unknown(struct pl_registrar_entry *entry, const char *why)
{
    if (why != NULL && entry->unknown != NULL && strcmp(entry->unknown, why) == 0)
        return;
    pl_free(entry->unknown);
    entry->unknown = pl_strdup_or_null(why);
    if (why != NULL)
        pl_log(PL_LOG_WARN, "a webhook is not registered", pl_str("webhook", entry->kind->name),
               pl_str("error", why));
}

static void on_registrar_resource(void *arg, const struct pl_resource *resource,
                                  const struct pl_err *err)
{
    struct pl_registrar *r = arg;
    struct pl_registrar_entry *entry = &r->entries[r->asked++];
    r->asking = false;
    entry->failed = resource == NULL && err->code != PL_ENOTFOUND;
    if (resource != NULL)
        entry->plural = pl_strdup(resource->plural);
    else
        r->unknown = true;
    pl_registrar_note_unknown(entry, resource == NULL ? err->message : NULL);
    ask_next(r);
}

static void ask_next(struct pl_registrar *r)
{
    while (r->asked < r->entry_count && (r->entries[r->asked].plural != NULL ||
                                         r->entries[r->asked].spec->sort == PL_HOOK_CONVERT))
        r->asked++;
    if (r->asked < r->entry_count) {
        r->asking = true;
        pl_discovery_find(pl_site_discovery(r->site), &r->entries[r->asked].kind->kind,
                          on_registrar_resource, r);
        return;
    }
    pl_registrar_want_all(r);
    pl_registrar_find_crds(r);
    if (r->unknown)
        pl_registrar_again(r);
}

static void ask_all(struct pl_registrar *r)
{
    if (r->asking || !may_write(r))
        return;
    r->asked = 0;
    r->unknown = false;
    ask_next(r);
}

static void on_registrar_again(struct pl_timer *timer)
{
    ask_all(PL_CONTAINER_OF(timer, struct pl_registrar, again));
}

void pl_registrar_again(struct pl_registrar *r)
{
    pl_timer_start(r->timers, &r->again, AGAIN_NS, on_registrar_again);
}

/* ---- life ---- */

static void drop_entries(struct pl_registrar *r)
{
    pl_discovery_forget(pl_site_discovery(r->site), r);
    r->asking = false;
    for (size_t i = 0; i < r->entry_count; i++) {
        pl_free(r->entries[i].plural);
        pl_free(r->entries[i].unknown);
    }
    pl_free(r->entries);
    for (size_t i = 0; i < r->edition_count; i++)
        pl_edition_unref(r->editions[i]);
    pl_free(r->editions);
    r->entries = NULL;
    r->editions = NULL;
    r->entry_count = r->edition_count = 0;
}

void pl_registrar_set(struct pl_registrar *r, struct pl_edition *const *editions, size_t count)
{
    size_t kinds = 0;
    struct pl_edition **held = pl_calloc(count + 1, sizeof(struct pl_edition *));
    for (size_t i = 0; i < count; i++) {
        held[i] = pl_edition_ref(editions[i]);
        kinds += pl_edition_spec(editions[i])->hook->kind_count;
    }
    drop_entries(r);
    r->editions = held;
    r->edition_count = count;
    r->entries = pl_calloc(kinds + 1, sizeof *r->entries);
    for (size_t i = 0; i < count; i++) {
        const struct pl_hook_spec *spec = pl_edition_spec(held[i])->hook;
        for (size_t j = 0; j < spec->kind_count; j++)
            r->entries[r->entry_count++] =
                (struct pl_registrar_entry){.spec = spec, .kind = &spec->kinds[j]};
    }
    ask_all(r);
}

void pl_registrar_set_ca(struct pl_registrar *r, const char *ca_pem)
{
    pl_free(r->ca_pem);
    r->ca_pem = pl_strdup_or_null(ca_pem);
    r->ca_known = true;
    ask_all(r);
}

void pl_registrar_set_url(struct pl_registrar *r, const char *url)
{
    pl_free(r->url);
    r->url = pl_strdup(url);
    ask_all(r);
}

bool pl_registrar_is_incomplete(const struct pl_registrar *r, struct pl_buf *why)
{
    const char *between = "";
    for (size_t i = 0; i < r->entry_count; i++) {
        if (r->entries[i].unknown == NULL)
            continue;
        pl_buf_add_f(why, "%s%s: %s", between, r->entries[i].kind->name, r->entries[i].unknown);
        between = "; ";
    }
    for (const struct pl_registrar_item *item = r->items; item != NULL; item = item->next) {
        if (item->refused == NULL)
            continue;
        pl_buf_add_f(why, "%s%s %s: %s", between, resources[item->sort].kind.kind, item->name,
                     item->refused);
        between = "; ";
    }
    return *between != '\0';
}

static void on_registrar_limit(struct pl_timer *timer)
{
    struct pl_registrar *r = PL_CONTAINER_OF(timer, struct pl_registrar, limit);
    r->removed(r->removed_arg);
}

void pl_registrar_remove(struct pl_registrar *r, int64_t limit_ns, void (*done)(void *arg),
                         void *arg)
{
    PL_REQUIRE(r->removed == NULL);
    r->removed = done;
    r->removed_arg = arg;
    pl_timer_stop(r->timers, &r->again);
    pl_timer_start(r->timers, &r->limit, limit_ns, on_registrar_limit);
    for (struct pl_registrar_item *item = r->items; item != NULL; item = item->next) {
        item->removing =
            item->kept != NULL && (item->desired != NULL || pl_kept_is_writing(item->kept));
        if (item->removing && !pl_kept_is_writing(item->kept))
            registrar_take_back(item);
    }
    check_removed(r);
}

struct pl_registrar *pl_registrar_create(const struct pl_registrar_options *options)
{
    struct pl_registrar *r = PL_NEW(struct pl_registrar);
    r->o = *options;
    r->site = pl_cluster_site(options->cluster);
    r->timers = pl_site_timers(r->site);
    r->url = pl_strdup_or_null(options->url);
    pl_list_init(&r->shots);
    return r;
}

static void free_item(struct pl_registrar_item *item)
{
    pl_kept_close(item->kept);
    pl_registration_memory_deinit(&item->memory);
    pl_doc_unref(item->desired);
    pl_free(item->name);
    pl_free(item->refused);
    pl_free(item);
}

void pl_registrar_destroy(struct pl_registrar *r)
{
    if (r == NULL)
        return;
    pl_timer_stop(r->timers, &r->again);
    pl_timer_stop(r->timers, &r->limit);
    drop_entries(r);
    pl_registrar_end_lists(r);
    while (r->items != NULL) {
        struct pl_registrar_item *item = r->items;
        r->items = item->next;
        free_item(item);
    }
    pl_free(r->url);
    pl_free(r->ca_pem);
    pl_free(r);
}
