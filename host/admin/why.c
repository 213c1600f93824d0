/* The admin command "why": the recent history of a key, its current state, and its waits. */
#include "admin/admin.h"
#include "control/report.h"
#include "object/meta.h"

#include <string.h>

#define SECTIONS_MAX 64 /* limit of keys in one answer */

struct why {
    struct pl_admin_call *call;
    struct pl_build *b;
    struct pl_controller *controller;
    const char *kind_text; /* as in the request */
    struct pl_slice key;   /* key of the requested object */
    const char *through;   /* "for", "owns", "watches" */
    int64_t now_ns;
    size_t sections;
    bool is_member; /* a family of the controller follows the kind */
};

/* ---- one key of one controller ---- */

static void build_happened(void *arg, const struct pl_happened *happened)
{
    struct why *why = arg;
    struct pl_build *b = why->b;
    pl_build_object(b);
    pl_admin_build_seconds(b, "seconds_ago", why->now_ns - happened->at_ns);
    pl_build_put_text(b, "what", pl_slice_z(pl_happening_name(happened->what)));
    pl_build_put_text(b, "detail", happened->detail);
    if (happened->amount != 0)
        pl_admin_build_seconds(b, "seconds", happened->amount);
    pl_build_end(b);
}

/* The sources that keep a controller from starting, and why. */
static void add_unsynced(const struct pl_controller *controller, struct pl_buf *out)
{
    for (size_t i = 0; i < pl_controller_spec(controller)->source_count; i++) {
        const struct pl_informer *informer = pl_controller_informer(controller, i);
        if (informer == NULL || pl_informer_has_synced(informer))
            continue;
        const struct pl_err *trouble = pl_informer_trouble(informer);
        pl_buf_add_f(out, "%s%s%s%s", out->len > 0 ? "; " : "", pl_informer_owner(informer),
                     trouble != NULL ? ": " : "", trouble != NULL ? trouble->message : "");
    }
}

/* The wait of a key that is not running; nothing when it is at rest. */
static void why_explain(const struct why *why, const struct pl_key_report *key, struct pl_buf *out)
{
    struct pl_controller_report report;
    pl_controller_report(why->controller, &report);
    double now = (double)why->now_ns / 1e9;
    if (key->paused)
        pl_buf_add_f(out, "paused for %.1f s, until the annotation perilune.dev/paused is removed",
                     now - (double)key->paused_ns / 1e9);
    else if (key->queued.running)
        pl_buf_add_f(out, "running for %.1f s%s", now - (double)key->queued.started_ns / 1e9,
                     key->queued.ready ? "; it will run once more" : "");
    else if (report.state == PL_CONTROLLER_WAITING) {
        pl_buf_add_z(out, "for the controller's sources: ");
        struct pl_buf sources = PL_BUF_INIT;
        add_unsynced(why->controller, &sources);
        pl_buf_add_slice(out, pl_buf_slice(&sources));
        pl_buf_deinit(&sources);
    } else if (report.state == PL_CONTROLLER_STANDBY)
        pl_buf_add_z(out, "for the lead: another replica runs this controller");
    else if (report.state == PL_CONTROLLER_ELSEWHERE)
        pl_buf_add_z(out, "for shard 0: another replica runs this controller");
    else if (key->queued.ready)
        pl_buf_add_f(out, "for a free worker, for %.1f s (%zu of %d are busy, %zu keys are ready)",
                     now - (double)key->queued.ready_ns / 1e9, report.in_flight,
                     pl_controller_spec(why->controller)->max_concurrent, report.ready);
    else if (key->queued.delayed)
        pl_buf_add_f(out, "for its due time, in %.1f s", (double)key->queued.due_ns / 1e9 - now);
    if (key->waits_for != NULL)
        pl_buf_add_f(out, "%s for %.1f s: %s",
                     out->len > 0 ? "; the script has waited" : "for an event,",
                     now - (double)key->waiting_ns / 1e9, key->waits_for);
}

static void build_failures(struct pl_build *b, const struct pl_key_report *key)
{
    if (key->failures > 0) {
        pl_build_put_int(b, "failures", key->failures);
    }
    if (key->last_error != NULL)
        pl_build_put_text(b, "last_error", pl_slice_z(key->last_error));
}

static bool is_cached(const struct why *why, struct pl_slice key)
{
    const struct pl_controller_spec *spec = pl_controller_spec(why->controller);
    for (size_t i = 0; i < spec->source_count; i++) {
        if (spec->sources[i].role != PL_SOURCE_FOR)
            continue;
        struct pl_informer *informer = pl_controller_informer(why->controller, i);
        struct pl_doc *object =
            informer != NULL ? pl_store_get(pl_informer_store(informer), key) : NULL;
        pl_doc_unref(object);
        return object != NULL;
    }
    return false;
}

static void build_section(void *arg, struct pl_slice key)
{
    struct why *why = arg;
    struct pl_build *b = why->b;
    if (why->sections++ >= SECTIONS_MAX)
        return;
    struct pl_key_report report;
    struct pl_buf waits = PL_BUF_INIT;
    const char *controller = pl_controller_spec(why->controller)->name;
    pl_controller_report_key(why->controller, key, &report);
    why_explain(why, &report, &waits);
    pl_build_object(b);
    pl_build_put_text(b, "controller", pl_slice_z(controller));
    pl_build_put_text(b, "key", key);
    pl_build_put_text(b, "through", pl_slice_z(why->through));
    pl_build_put_bool(b, "cached", is_cached(why, key));
    if (waits.len > 0)
        pl_build_put_text(b, "waits_for", pl_buf_slice(&waits));
    build_failures(b, &report);
    pl_build_keyz(b, "history");
    pl_build_array(b);
    pl_history_each(pl_cluster_history(pl_admin_host(why->call)->cluster), pl_slice_z(controller),
                    key, build_happened, why);
    pl_build_end(b);
    pl_build_end(b);
    pl_buf_deinit(&waits);
}

/* ---- the keys of an object ---- */

static void tell_woken(struct why *why, size_t source)
{
    struct pl_informer *informer = pl_controller_informer(why->controller, source);
    struct pl_doc *object =
        informer != NULL ? pl_store_get(pl_informer_store(informer), why->key) : NULL;
    if (object != NULL)
        pl_controller_each_woken(why->controller, source, object, build_section, why);
    pl_doc_unref(object);
}

/* A kind that a family follows: the keys that a script's map function gives are unknown. */
static void tell_member(void *arg, const struct pl_source_spec *source,
                        struct pl_informer *informer)
{
    struct why *why = arg;
    PL_UNUSED(informer);
    if (!pl_admin_is_kind(&source->kind, why->kind_text))
        return;
    why->is_member = true;
    why->through = pl_source_role_name(source->role);
    if (source->map_by == PL_MAP_SELF)
        build_section(why, why->key);
}

static bool tell_controller(struct why *why)
{
    const struct pl_controller_spec *spec = pl_controller_spec(why->controller);
    bool known = false;
    for (size_t i = 0; i < spec->source_count; i++) {
        const struct pl_source_spec *source = &spec->sources[i];
        bool named = source->role == PL_SOURCE_FOR && strcmp(spec->name, why->kind_text) == 0;
        if (!named && !pl_admin_is_kind(&source->kind, why->kind_text))
            continue;
        known = true;
        why->through = pl_source_role_name(source->role);
        if (source->role == PL_SOURCE_FOR || source->map_by == PL_MAP_SELF)
            build_section(why, why->key);
        else if (source->role != PL_SOURCE_READS)
            tell_woken(why, i);
    }
    why->is_member = false;
    pl_edition_each_member(pl_controller_edition(why->controller), tell_member, why);
    return known || why->is_member;
}

static void fail_unknown_kind(struct pl_admin_call *call, const char *kind)
{
    struct pl_manager *manager = pl_admin_host(call)->manager;
    struct pl_buf known = PL_BUF_INIT;
    for (size_t i = 0; i < pl_manager_count(manager); i++) {
        const struct pl_controller_spec *spec = pl_controller_spec(pl_manager_at(manager, i));
        for (size_t j = 0; j < spec->source_count; j++) {
            char text[PL_KIND_TEXT];
            pl_kind_text(&spec->sources[j].kind, text);
            if (strstr(pl_buf_z(&known), text) == NULL)
                pl_buf_add_f(&known, "%s%s", known.len > 0 ? ", " : "", text);
        }
    }
    pl_admin_fail(call, "no controller watches \"%s\"; they watch %s", kind, pl_buf_z(&known));
    pl_buf_deinit(&known);
}

void pl_admin_why(void *arg, struct pl_admin_call *call)
{
    PL_UNUSED(arg);
    const struct pl_admin_options *host = pl_admin_host(call);
    struct why why = {.call = call,
                      .kind_text = pl_admin_text(call, "kind"),
                      .key = pl_slice_z(pl_admin_text(call, "key")),
                      .now_ns = pl_loop_now(host->loop)};
    struct pl_slice ns, name;
    if (why.kind_text == NULL || pl_key_split(why.key, &ns, &name) != 0) {
        pl_admin_fail(call, "why takes a kind and a key: v1/ConfigMap default/settings");
        return;
    }
    bool known = false;
    why.b = pl_build_create(NULL);
    pl_build_object(why.b);
    pl_build_keyz(why.b, "keys");
    pl_build_array(why.b);
    for (size_t i = 0; i < pl_manager_count(host->manager); i++) {
        why.controller = pl_manager_at(host->manager, i);
        known = tell_controller(&why) || known;
    }
    pl_build_end(why.b);
    pl_build_end(why.b);
    struct pl_doc *result = pl_build_close(why.b);
    if (known) {
        pl_admin_reply(call, result);
        return;
    }
    pl_doc_unref(result);
    fail_unknown_kind(call, why.kind_text);
}
