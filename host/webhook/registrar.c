/* Each maintained object is an item: its desired state, its last seen state, and whether our part
 * has changed since its last write began (dirty; a write that fails counts as none). Every action
 * follows from a look at the object (on_registrar_seen), so a lost answer, a restart and a foreign
 * change are the same case.
 *
 * Plurals come from discovery, one kind after the other. Kinds that are not served are asked for
 * again, and left out meanwhile. */
#include "webhook/registrar.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/list.h"
#include "base/log.h"
#include "kube/status.h"
#include "webhook/kept_object.h"
#include "write/recorder.h"

#include <string.h>

#define AGAIN_NS (5 * PL_SECOND) /* interval of checks for missing kinds */

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

/* One maintained object. */
struct item {
    struct pl_registrar *r; /* back-pointer */
    struct item *next;
    enum pl_hook_sort sort;
    struct pl_kind kind;    /* convert: the converted kind, without a version */
    char *name;             /* owned; NULL: a CRD that is not there */
    struct pl_kept *kept;   /* NULL: not yet */
    struct pl_doc *desired; /* counted; NULL: nothing */
    struct pl_registration_memory memory;
    char *refused; /* owned: why its last write failed; NULL: it did not */
    bool dirty, wanted;
    bool applying;          /* the last write was an apply, not a removal */
    bool removing, removed; /* pl_registrar_remove */
};

struct entry {
    const struct pl_hook_spec *spec; /* of the edition */
    const struct pl_hook_kind *kind;
    char *plural; /* owned; NULL: not known */
};

/* A request that ends with its answer. */
struct shot {
    struct pl_link link;
    struct pl_registrar *r; /* NULL: it is gone */
    struct pl_op *op;
    const struct pl_resource *resource;
};

struct pl_registrar {
    struct pl_registrar_options o;
    struct pl_site *site;
    struct pl_timers *timers;
    char *url, *ca_pem; /* owned */
    bool ca_known, stray_looked;
    struct pl_edition **editions; /* owned array of references */
    size_t edition_count;
    struct entry *entries;     /* owned */
    size_t entry_count, asked; /* entries whose kind was asked for */
    bool asking, unknown;
    struct item *items;
    struct pl_list shots;
    struct pl_timer again, limit;
    bool finding; /* a list of CRDs is under way */
    void (*removed)(void *arg);
    void *removed_arg;
};

static struct pl_registration_target target_of(const struct pl_registrar *r)
{
    return (struct pl_registration_target){.url = r->url,
                                           .ns = r->o.service_ns,
                                           .name = r->o.service_name,
                                           .port = r->o.service_port,
                                           .ca_pem = r->ca_pem};
}

static bool may_write(const struct pl_registrar *r)
{
    return r->ca_known && (r->url != NULL || r->o.service_name != NULL) && r->removed == NULL;
}

/* ---- single requests ---- */

static void fire(struct pl_registrar *r, const struct pl_call *call, pl_answer_fn on_answer)
{
    struct shot *shot = PL_NEW(struct shot);
    shot->r = r;
    shot->resource = call->resource;
    pl_list_push(&r->shots, &shot->link);
    shot->op = pl_client_start(pl_site_client(r->site), call, on_answer, shot);
}

/* The registrar, or NULL; frees the shot. */
static struct pl_registrar *end_shot(struct shot *shot)
{
    struct pl_registrar *r = shot->r;
    pl_link_unlink(&shot->link);
    pl_free(shot);
    return r;
}

/* ---- configurations under another name ---- */

static void on_registrar_again(struct pl_timer *timer);

/* The next look also covers the object of a failed request. */
static void look_for_strays_later(struct pl_registrar *r)
{
    r->stray_looked = false;
    pl_timer_start(r->timers, &r->again, AGAIN_NS, on_registrar_again);
}

static void on_deleted(void *arg, const struct pl_answer *answer)
{
    struct pl_registrar *r = end_shot(arg);
    if (r != NULL && answer->err != NULL && !pl_err_is_not_found(answer->err))
        look_for_strays_later(r);
}

static void on_strays(void *arg, const struct pl_answer *answer)
{
    struct shot *shot = arg;
    const struct pl_resource *resource = shot->resource;
    struct pl_registrar *r = end_shot(shot);
    if (r == NULL)
        return;
    if (answer->err != NULL || answer->items == NULL) {
        look_for_strays_later(r);
        return;
    }
    const struct pl_registration_target target = target_of(r);
    for (size_t i = 0; i < answer->items->count; i++) {
        struct pl_node object = pl_doc_root(answer->items->items[i]);
        struct pl_scratch scratch;
        struct pl_slice name = pl_node_str(pl_node_dig(object, "metadata", "name"), &scratch);
        if (pl_slice_eqz(name, r->o.name) || !pl_registration_is_ours(object, &target))
            continue;
        pl_log(PL_LOG_INFO, "removing webhooks that were registered under another name",
               pl_strn("name", name));
        const struct pl_call call = {
            .verb = PL_VERB_DELETE, .resource = resource, .name = name, .grace_period = -1};
        fire(r, &call, on_deleted);
    }
}

static void look_for_strays(struct pl_registrar *r)
{
    if (r->stray_looked)
        return;
    r->stray_looked = true;
    for (int sort = PL_HOOK_VALIDATE; sort <= PL_HOOK_MUTATE; sort++) {
        const struct pl_call call = {.verb = PL_VERB_LIST,
                                     .resource = &resources[sort],
                                     .grace_period = -1,
                                     .keep_managed_fields = true};
        fire(r, &call, on_strays);
    }
}

/* ---- items ---- */

static void check_removed(struct pl_registrar *r)
{
    for (const struct item *item = r->items; item != NULL; item = item->next)
        if (item->removing && !item->removed)
            return;
    if (r->removed != NULL)
        pl_timer_start(r->timers, &r->limit, 0, r->limit.fire);
}

static void registrar_apply(struct item *item)
{
    item->dirty = false;
    item->applying = true;
    pl_kept_apply(item->kept, item->desired, PL_REGISTRATION_MANAGER);
}

static void registrar_take_back(struct item *item)
{
    item->dirty = false;
    item->applying = false;
    if (item->sort == PL_HOOK_CONVERT) {
        struct pl_doc *nothing = pl_registration_conversion(item->name, NULL);
        pl_kept_apply(item->kept, nothing, PL_REGISTRATION_MANAGER);
        pl_doc_unref(nothing);
    } else {
        pl_kept_delete(item->kept);
    }
}

/* For an item that is not wanted any more: whether we have written it. */
static bool is_left_over(const struct item *item, struct pl_doc *object)
{
    const struct pl_registration_target target = target_of(item->r);
    if (!item->dirty || object == NULL)
        return false;
    return item->sort == PL_HOOK_CONVERT ? item->memory.accepted != NULL
                                         : pl_registration_is_ours(pl_doc_root(object), &target);
}

static void on_registrar_seen(void *arg, struct pl_doc *object)
{
    struct item *item = arg;
    if (pl_kept_is_writing(item->kept) || !may_write(item->r))
        return;
    struct pl_node root = pl_doc_root(object);
    if (item->desired == NULL) {
        if (is_left_over(item, object))
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
static void registrar_report(const struct item *item, const struct pl_err *err)
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
static void registrar_removed(struct item *item)
{
    if (item->applying) {
        registrar_take_back(item);
        return;
    }
    item->removed = true;
    check_removed(item->r);
}

static void note_refusal(struct item *item, const char *message)
{
    pl_free(item->refused);
    item->refused = pl_strdup_or_null(message);
}

static void on_registrar_written(void *arg, struct pl_doc *object, const struct pl_err *err)
{
    struct item *item = arg;
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
    if (item->applying && err == NULL)
        pl_log(PL_LOG_INFO, "webhooks are registered",
               pl_str("as", resources[item->sort].kind.kind), pl_str("name", item->name));
}

static void open_item(struct item *item)
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
static void want(struct item *item, struct pl_doc *desired)
{
    bool same = item->wanted && (desired == NULL) == (item->desired == NULL) &&
                pl_node_equal(pl_doc_root(desired), pl_doc_root(item->desired));
    pl_doc_unref(item->desired);
    item->desired = desired;
    item->wanted = true;
    if (same)
        return;
    note_refusal(item, NULL);
    item->dirty = true;
    open_item(item);
    if (item->kept != NULL)
        pl_kept_look(item->kept, 0);
}

static struct item *item_of(struct pl_registrar *r, enum pl_hook_sort sort,
                            const struct pl_kind *kind)
{
    struct item *item = r->items;
    while (item != NULL &&
           (item->sort != sort || (kind != NULL && !pl_kind_eq_group(&item->kind, kind))))
        item = item->next;
    if (item != NULL)
        return item;
    item = PL_NEW(struct item);
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

/* ---- the desired state ---- */

static void want_config(struct pl_registrar *r, enum pl_hook_sort sort)
{
    const struct pl_registration_target target = target_of(r);
    struct pl_registration_entry *all = pl_calloc(r->entry_count + 1, sizeof *all);
    for (size_t i = 0; i < r->entry_count; i++)
        all[i] = (struct pl_registration_entry){
            .spec = r->entries[i].spec, .kind = r->entries[i].kind, .plural = r->entries[i].plural};
    want(item_of(r, sort, NULL),
         pl_registration_config(sort, r->o.name, all, r->entry_count, &target));
    pl_free(all);
}

static bool converts(const struct pl_registrar *r, const struct pl_kind *kind)
{
    for (size_t i = 0; i < r->entry_count; i++)
        if (r->entries[i].spec->sort == PL_HOOK_CONVERT &&
            pl_kind_eq_group(&r->entries[i].kind->kind, kind))
            return true;
    return false;
}

static void want_conversion(struct item *item)
{
    const struct pl_registration_target target = target_of(item->r);
    if (item->name != NULL)
        want(item, converts(item->r, &item->kind) ? pl_registration_conversion(item->name, &target)
                                                  : NULL);
}

static void want_all(struct pl_registrar *r)
{
    if (!may_write(r))
        return;
    want_config(r, PL_HOOK_VALIDATE);
    want_config(r, PL_HOOK_MUTATE);
    for (struct item *item = r->items; item != NULL; item = item->next)
        if (item->sort == PL_HOOK_CONVERT)
            want_conversion(item);
    look_for_strays(r);
}

/* ---- which CRD ---- */

static bool registrar_is_of(struct pl_node crd, const struct pl_kind *kind)
{
    return pl_node_str_eq(pl_node_dig(crd, "spec", "group"), pl_slice_z(kind->group)) &&
           pl_node_str_eq(pl_node_dig(crd, "spec", "names", "kind"), pl_slice_z(kind->kind));
}

static void name_crds(struct pl_registrar *r, const struct pl_docs *crds)
{
    for (struct item *item = r->items; item != NULL; item = item->next) {
        for (size_t i = 0; item->sort == PL_HOOK_CONVERT && item->name == NULL && i < crds->count;
             i++) {
            struct pl_node crd = pl_doc_root(crds->items[i]);
            struct pl_scratch scratch;
            struct pl_slice name = pl_node_str(pl_node_dig(crd, "metadata", "name"), &scratch);
            if (registrar_is_of(crd, &item->kind))
                item->name = pl_memdup0(name.ptr, name.len);
        }
    }
}

static void on_crds(void *arg, const struct pl_answer *answer)
{
    struct pl_registrar *r = end_shot(arg);
    if (r == NULL)
        return;
    r->finding = false;
    if (answer->err == NULL && answer->items != NULL)
        name_crds(r, answer->items);
    want_all(r);
    bool missing = false;
    for (const struct item *item = r->items; item != NULL; item = item->next)
        missing = missing || (item->name == NULL && converts(r, &item->kind));
    if (missing)
        pl_timer_start(r->timers, &r->again, AGAIN_NS, on_registrar_again);
}

/* One list for all of them. */
static void find_crds(struct pl_registrar *r)
{
    bool missing = false;
    for (size_t i = 0; i < r->entry_count; i++)
        if (r->entries[i].spec->sort == PL_HOOK_CONVERT)
            missing =
                item_of(r, PL_HOOK_CONVERT, &r->entries[i].kind->kind)->name == NULL || missing;
    if (!missing || r->finding)
        return;
    const struct pl_call call = {
        .verb = PL_VERB_LIST, .resource = &resources[PL_HOOK_CONVERT], .grace_period = -1};
    r->finding = true;
    fire(r, &call, on_crds);
}

/* ---- plurals ---- */

static void ask_next(struct pl_registrar *r);

static void on_registrar_resource(void *arg, const struct pl_resource *resource,
                                  const struct pl_err *err)
{
    struct pl_registrar *r = arg;
    struct entry *entry = &r->entries[r->asked++];
    r->asking = false;
    if (resource != NULL)
        entry->plural = pl_strdup(resource->plural);
    else
        r->unknown = true;
    PL_UNUSED(err);
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
    want_all(r);
    find_crds(r);
    if (r->unknown)
        pl_timer_start(r->timers, &r->again, AGAIN_NS, on_registrar_again);
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

/* ---- life ---- */

static void drop_entries(struct pl_registrar *r)
{
    pl_discovery_forget(pl_site_discovery(r->site), r);
    r->asking = false;
    for (size_t i = 0; i < r->entry_count; i++)
        pl_free(r->entries[i].plural);
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
            r->entries[r->entry_count++] = (struct entry){.spec = spec, .kind = &spec->kinds[j]};
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

bool pl_registrar_is_refused(const struct pl_registrar *r, struct pl_buf *why)
{
    bool any = false;
    for (const struct item *item = r->items; item != NULL; item = item->next) {
        if (item->refused == NULL)
            continue;
        pl_buf_add_f(why, "%s%s %s: %s", any ? "; " : "", resources[item->sort].kind.kind,
                     item->name, item->refused);
        any = true;
    }
    return any;
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
    for (struct item *item = r->items; item != NULL; item = item->next) {
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

static void free_item(struct item *item)
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
    struct pl_link *link;
    while ((link = pl_list_pop(&r->shots)) != NULL) {
        struct shot *shot = PL_CONTAINER_OF(link, struct shot, link);
        shot->r = NULL;
        pl_op_cancel(shot->op);
    }
    while (r->items != NULL) {
        struct item *item = r->items;
        r->items = item->next;
        free_item(item);
    }
    pl_free(r->url);
    pl_free(r->ca_pem);
    pl_free(r);
}
