/* At most one read or write is under way; requests meanwhile are done afterwards. Events of the
 * watch only trigger a read and are not used otherwise, so there is only one way to see the object,
 * and it is always complete. */
#include "webhook/kept_object.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/log.h"
#include "kube/status.h"

#include <string.h>

#define SOON_NS       (20 * PL_MS)
#define EACH_NS       (60 * PL_SECOND) /* interval of reads without events */
#define FIRST_NS      (200 * PL_MS)    /* the first pause after a failure; each one is doubled */
#define LONGEST_NS    (30 * PL_SECOND) /* the longest pause */
#define WATCH_NS      (2 * PL_SECOND)  /* pause between watches */
#define WATCH_SECONDS 300
#define SILENCE_NS    (400 * PL_SECOND)

struct pl_kept {
    struct pl_kept_options o;
    char *ns, *name, *selector; /* owned */
    int refs;                   /* references of the owner and of each request */
    bool closed;
    struct pl_op *op; /* NULL: none */
    bool writing;     /* op is a write */
    struct pl_watch *watch;
    struct pl_timer look, rewatch;
    int64_t pause_ns;
    char *told[2]; /* owned: the last logged trouble with reads and with writes, or NULL */
};

static void unref(struct pl_kept *kept)
{
    if (--kept->refs > 0)
        return;
    pl_free(kept->ns);
    pl_free(kept->name);
    pl_free(kept->selector);
    pl_free(kept->told[0]);
    pl_free(kept->told[1]);
    pl_free(kept);
}

static void kept_complain(struct pl_kept *kept, bool write, const struct pl_err *err)
{
    static const char what[][44] = {"an object of the webhooks can't be read",
                                    "an object of the webhooks can't be written"};
    char **told = &kept->told[write], kind[PL_KIND_TEXT];
    if (*told != NULL && strcmp(*told, err->message) == 0)
        return;
    pl_log(PL_LOG_WARN, what[write], pl_str("kind", pl_kind_text(&kept->o.resource->kind, kind)),
           pl_str("name", kept->name), pl_str("error", err->message));
    pl_free(*told);
    *told = pl_strdup(err->message);
}

static void is_well(struct pl_kept *kept, bool write)
{
    pl_free(kept->told[write]);
    kept->told[write] = NULL;
}

static struct pl_call call_of(const struct pl_kept *kept, enum pl_verb verb)
{
    return (struct pl_call){.verb = verb,
                            .resource = kept->o.resource,
                            .ns = pl_slice_z(kept->ns),
                            .name = pl_slice_z(kept->name),
                            .grace_period = -1,
                            .keep_managed_fields = true};
}

/* ---- watching ---- */

static void on_rewatch(struct pl_timer *timer);

static void on_kept_event(void *arg, enum pl_watch_type type, struct pl_doc *object)
{
    struct pl_kept *kept = arg;
    bool about = type != PL_WATCH_BOOKMARK && type != PL_WATCH_ERROR;
    pl_doc_unref(object);
    if (!kept->closed && about && !kept->writing)
        pl_kept_look(kept, SOON_NS);
}

static void on_kept_end(void *arg, const struct pl_err *err)
{
    struct pl_kept *kept = arg;
    kept->watch = NULL;
    bool forbidden = err != NULL && pl_err_is_forbidden(err);
    if (!kept->closed)
        pl_timer_start(kept->o.timers, &kept->rewatch, forbidden ? EACH_NS : WATCH_NS, on_rewatch);
    unref(kept);
}

static void on_kept_open(void *arg)
{
    PL_UNUSED(arg);
}

static void kept_watch(struct pl_kept *kept)
{
    static const struct pl_watch_ops ops = {on_kept_open, on_kept_event, on_kept_end};
    const struct pl_watch_call call = {.resource = kept->o.resource,
                                       .ns = pl_slice_z(kept->ns),
                                       .fields = pl_slice_z(kept->selector),
                                       .timeout_seconds = WATCH_SECONDS,
                                       .silence_ns = SILENCE_NS};
    kept->refs++;
    kept->watch = pl_client_watch(kept->o.client, &call, &ops, kept);
}

static void on_rewatch(struct pl_timer *timer)
{
    struct pl_kept *kept = PL_CONTAINER_OF(timer, struct pl_kept, rewatch);
    kept_watch(kept);
    pl_kept_look(kept, SOON_NS);
}

/* ---- looking ---- */

static void on_look(struct pl_timer *timer);

void pl_kept_look(struct pl_kept *kept, int64_t delay_ns)
{
    int64_t due_ns = pl_clock_mono(kept->o.timers->clock) + delay_ns;
    if (!pl_timer_is_active(&kept->look) || kept->look.due_ns > due_ns)
        pl_timer_start(kept->o.timers, &kept->look, delay_ns, on_look);
}

static void kept_failed(struct pl_kept *kept, bool write, const struct pl_err *err)
{
    kept_complain(kept, write, err);
    kept->pause_ns = kept->pause_ns == 0 ? FIRST_NS : kept->pause_ns * 2;
    if (kept->pause_ns > LONGEST_NS)
        kept->pause_ns = LONGEST_NS;
    pl_kept_look(kept, kept->pause_ns);
}

static void on_kept_read(void *arg, const struct pl_answer *answer)
{
    struct pl_kept *kept = arg;
    kept->op = NULL;
    bool gone = answer->err != NULL && pl_err_is_not_found(answer->err);
    if (!kept->closed && answer->err != NULL && !gone) {
        kept_failed(kept, false, answer->err);
    } else if (!kept->closed) {
        is_well(kept, false);
        if (kept->told[true] == NULL)
            kept->pause_ns = 0;
        if (kept->watch == NULL && !pl_timer_is_active(&kept->rewatch))
            kept_watch(kept);
        pl_kept_look(kept, EACH_NS);
        kept->o.seen(kept->o.arg, gone ? NULL : answer->doc);
    }
    unref(kept);
}

static void on_look(struct pl_timer *timer)
{
    struct pl_kept *kept = PL_CONTAINER_OF(timer, struct pl_kept, look);
    if (kept->op != NULL) { /* reading at its end is early enough */
        pl_kept_look(kept, SOON_NS);
        return;
    }
    struct pl_call call = call_of(kept, PL_VERB_GET);
    kept->refs++;
    kept->op = pl_client_start(kept->o.client, &call, on_kept_read, kept);
}

/* ---- writing ---- */

static void on_kept_written(void *arg, const struct pl_answer *answer)
{
    struct pl_kept *kept = arg;
    kept->op = NULL;
    kept->writing = false;
    if (!kept->closed) {
        bool lost = answer->err != NULL &&
                    (pl_err_is_conflict(answer->err) || pl_err_is_already_exists(answer->err));
        if (lost) /* another client was faster */
            pl_kept_look(kept, SOON_NS);
        else if (answer->err != NULL)
            kept_failed(kept, true, answer->err);
        else
            is_well(kept, true), kept->pause_ns = 0;
        kept->o.written(kept->o.arg, answer->doc, answer->err);
    }
    unref(kept);
}

static void kept_start(struct pl_kept *kept, const struct pl_call *call)
{
    PL_REQUIRE(!kept->writing && !kept->closed);
    if (kept->op != NULL) /* a read: its result is outdated now */
        pl_op_cancel(kept->op);
    kept->writing = true;
    kept->refs++;
    kept->op = pl_client_start(kept->o.client, call, on_kept_written, kept);
}

bool pl_kept_is_writing(const struct pl_kept *kept)
{
    return kept->writing;
}

void pl_kept_create_object(struct pl_kept *kept, struct pl_doc *object)
{
    struct pl_call call = call_of(kept, PL_VERB_CREATE);
    call.name = pl_slice("", 0);
    call.body = object;
    kept_start(kept, &call);
}

void pl_kept_update(struct pl_kept *kept, struct pl_doc *object)
{
    struct pl_call call = call_of(kept, PL_VERB_UPDATE);
    call.body = object;
    kept_start(kept, &call);
}

void pl_kept_apply(struct pl_kept *kept, struct pl_doc *object, const char *manager)
{
    struct pl_call call = call_of(kept, PL_VERB_PATCH);
    call.patch_type = PL_PATCH_APPLY;
    call.body = object;
    call.field_manager = pl_slice_z(manager);
    call.force = true;
    kept_start(kept, &call);
}

void pl_kept_delete(struct pl_kept *kept)
{
    struct pl_call call = call_of(kept, PL_VERB_DELETE);
    kept_start(kept, &call);
}

/* ---- life ---- */

struct pl_kept *pl_kept_create(const struct pl_kept_options *options)
{
    struct pl_kept *kept = PL_NEW(struct pl_kept);
    kept->o = *options;
    kept->refs = 1;
    kept->ns = pl_strdup_or_null(options->ns);
    kept->name = pl_strdup(options->name);
    kept->selector = pl_format("metadata.name=%s", options->name);
    pl_kept_look(kept, 0);
    return kept;
}

void pl_kept_close(struct pl_kept *kept)
{
    if (kept == NULL)
        return;
    kept->closed = true;
    pl_timer_stop(kept->o.timers, &kept->look);
    pl_timer_stop(kept->o.timers, &kept->rewatch);
    if (kept->op != NULL)
        pl_op_cancel(kept->op);
    if (kept->watch != NULL)
        pl_watch_cancel(kept->watch);
    unref(kept);
}
