/* The admin commands "queue" (list, requeue, drop), "pause" and "resume". */
#include "admin/admin.h"
#include "write/pause.h"
#include "control/edition.h"
#include "control/report.h"
#include "object/meta.h"

#include <string.h>

#define KEYS_MAX 10000 /* limit of one controller's keys in an answer */

/* ---- queue list ---- */

struct listing {
    struct pl_build *b;
    int64_t now_ns;
};

static void build_queued(void *arg, const struct pl_queued *queued)
{
    struct listing *listing = arg;
    struct pl_build *b = listing->b;
    pl_build_object(b);
    pl_build_put_text(b, "key", queued->key);
    pl_build_put_text(b, "state",
                      pl_slice_z(queued->running ? "running"
                                 : queued->ready ? "ready"
                                                 : "delayed"));
    if (queued->running)
        pl_admin_build_seconds(b, "for_seconds", listing->now_ns - queued->started_ns);
    else if (queued->ready)
        pl_admin_build_seconds(b, "for_seconds", listing->now_ns - queued->ready_ns);
    else
        pl_admin_build_seconds(b, "in_seconds", queued->due_ns - listing->now_ns);
    if (queued->running && (queued->ready || queued->delayed)) {
        pl_build_put_bool(b, "again", true);
    }
    pl_build_put_int(b, "priority", queued->priority);
    pl_build_put_int(b, "requeues", queued->requeues);
    pl_build_end(b);
}

static void build_queue(struct listing *listing, struct pl_controller *controller)
{
    struct pl_build *b = listing->b;
    pl_build_object(b);
    pl_build_put_text(b, "controller", pl_slice_z(pl_controller_spec(controller)->name));
    pl_build_keyz(b, "keys");
    pl_build_array(b);
    size_t total = pl_workqueue_each(pl_controller_queue(controller), listing->now_ns, KEYS_MAX,
                                     build_queued, listing);
    pl_build_end(b);
    pl_build_put_int(b, "total", (int64_t)total);
    pl_build_end(b);
}

static void queue_list(struct pl_admin_call *call, struct pl_controller *only)
{
    const struct pl_admin_options *host = pl_admin_host(call);
    struct listing listing = {pl_build_create(NULL), pl_loop_now(host->loop)};
    pl_build_object(listing.b);
    pl_build_keyz(listing.b, "queues");
    pl_build_array(listing.b);
    for (size_t i = 0; i < pl_manager_count(host->manager); i++)
        if (only == NULL || pl_manager_at(host->manager, i) == only)
            build_queue(&listing, pl_manager_at(host->manager, i));
    pl_build_end(listing.b);
    pl_build_end(listing.b);
    struct pl_doc *result = pl_build_close(listing.b);
    pl_admin_reply(call, result);
}

/* ---- queue requeue, queue drop ---- */

static void reply_bool(struct pl_admin_call *call, const char *key, bool value)
{
    struct pl_build *b = pl_build_create(NULL);
    pl_build_object(b);
    pl_build_put_bool(b, key, value);
    pl_build_end(b);
    struct pl_doc *result = pl_build_close(b);
    pl_admin_reply(call, result);
}

/* True when the call was answered: a task has one key, which only its own runs may queue again. */
static bool refuse_task(struct pl_admin_call *call, const struct pl_controller *controller,
                        const char *action, struct pl_slice key)
{
    const struct pl_controller_spec *spec = pl_controller_spec(controller);
    if (spec->task.form == PL_NO_TASK)
        return false;
    if (strcmp(action, "drop") == 0)
        pl_admin_fail(call, "%s is a task: dropping its key would end it", spec->name);
    else if (!pl_slice_eqz(key, spec->name))
        pl_admin_fail(call, "%s is a task, whose only key is %s", spec->name, spec->name);
    else
        return false;
    return true;
}

static void change(struct pl_admin_call *call, struct pl_controller *controller, const char *action,
                   struct pl_slice key)
{
    struct pl_slice ns, name;
    struct pl_err err;
    pl_err_clear(&err);
    if (refuse_task(call, controller, action, key))
        return;
    if (pl_key_split(key, &ns, &name) != 0) {
        pl_admin_fail(call, "queue %s takes a controller and a key: website default/blog", action);
    } else if (strcmp(action, "drop") == 0) {
        reply_bool(call, "dropped", pl_controller_drop(controller, key));
    } else if (pl_edition_check_key(pl_controller_edition(controller), "requeue", key, &err) != 0) {
        pl_admin_fail(call, "%s", err.message);
    } else {
        struct pl_add how = {0};
        pl_controller_enqueue(controller, key, &how, PL_CAUSE_REQUEUE);
        reply_bool(call, "queued", true);
    }
}

void pl_admin_queue(void *arg, struct pl_admin_call *call)
{
    PL_UNUSED(arg);
    const char *action = pl_admin_text(call, "action"), *name = pl_admin_text(call, "controller");
    struct pl_err err;
    struct pl_controller *controller =
        name != NULL ? pl_admin_find_controller(call, name, &err) : NULL;
    if (name != NULL && controller == NULL)
        pl_admin_fail(call, "%s", err.message);
    else if (action == NULL || strcmp(action, "list") == 0)
        queue_list(call, controller);
    else if (strcmp(action, "requeue") != 0 && strcmp(action, "drop") != 0)
        pl_admin_fail(call, "queue can list, requeue and drop, not \"%s\"", action);
    else if (controller == NULL)
        pl_admin_fail(call, "queue %s takes a controller and a key: website default/blog", action);
    else
        change(call, controller, action, pl_slice_z(pl_admin_text(call, "key")));
}

/* ---- pause, resume ---- */

/* The For kind that the text means. */
static const struct pl_kind *for_kind(struct pl_manager *manager, const char *text)
{
    for (size_t i = 0; i < pl_manager_count(manager); i++) {
        const struct pl_controller_spec *spec = pl_controller_spec(pl_manager_at(manager, i));
        for (size_t j = 0; j < spec->source_count; j++) {
            const struct pl_kind *kind = &spec->sources[j].kind;
            if (spec->sources[j].role == PL_SOURCE_FOR && pl_admin_is_kind(kind, text))
                return kind;
        }
    }
    return NULL;
}

static void on_queue_written(void *arg, const struct pl_written *written)
{
    struct pl_admin_call *call = arg;
    if (written->err != NULL)
        pl_admin_fail(call, "%s", written->err->message);
    else
        reply_bool(call, "done", true);
}

void pl_admin_pause(void *arg, struct pl_admin_call *call)
{
    PL_UNUSED(arg);
    const struct pl_admin_options *host = pl_admin_host(call);
    const char *command = pl_admin_text(call, "command"), *text = pl_admin_text(call, "kind");
    struct pl_slice key = pl_slice_z(pl_admin_text(call, "key")), ns, name;
    const struct pl_kind *kind = text != NULL ? for_kind(host->manager, text) : NULL;
    if (text == NULL || pl_key_split(key, &ns, &name) != 0) {
        pl_admin_fail(call, "%s takes a kind and a key: v1/ConfigMap default/settings", command);
        return;
    }
    if (kind == NULL) {
        pl_admin_fail(call, "no controller is For \"%s\": there is nothing to %s", text, command);
        return;
    }
    const struct pl_pause pause = {
        .kind = *kind, .ns = ns, .name = name, .paused = strcmp(command, "pause") == 0};
    pl_pause_object(pl_cluster_gate(host->cluster), &pause, on_queue_written, call);
}
