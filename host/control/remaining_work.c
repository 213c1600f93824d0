#include "control/remaining_work.h"

#include "base/alloc.h"
#include "control/controller_impl.h"

#include <string.h>

static bool sources_are_settled(const struct pl_controller *c)
{
    for (size_t i = 0; i < c->spec->source_count; i++)
        if (!pl_informer_is_settled(pl_controller_informer(c, i)))
            return false;
    return true;
}

const char *pl_controller_busy_with(struct pl_controller *c)
{
    bool is_task = c->spec->task.form != PL_NO_TASK;
    bool endless = c->spec->task.form == PL_TASK_RUN && c->in_flight > 0;
    if (!c->running)
        return c->may_run ? "it waits for its sources" : NULL;
    if (!pl_controller_has_synced(c) || c->asked > 0)
        return "predicates and map functions of its sources still run";
    if ((c->in_flight > 0 && !endless) || c->drive_deferred ||
        pl_workqueue_len(c->queue, pl_controller_due_until(c)) > 0)
        return is_task ? "it runs" : "keys are reconciled";
    if (!sources_are_settled(c))
        return "its watches have not yet delivered what was written";
    return NULL;
}

struct due_visit {
    void (*visit)(void *arg, struct pl_slice key, int64_t due_ns, bool fails);
    void *arg;
    int64_t late_ns;
};

static void see(void *arg, const struct pl_queued *queued)
{
    const struct due_visit *to = arg;
    if (queued->delayed)
        to->visit(to->arg, queued->key, queued->due_ns + to->late_ns, queued->requeues > 0);
}

/* "(the map function of v1/Pod: main.lua:8: ...)": what a controller waits for besides its keys. */
static char *failing_map(const struct pl_controller *c)
{
    for (size_t i = 0; i < c->spec->source_count; i++) {
        const char *message = c->subscriptions[i].failing.message;
        if (message != NULL)
            return pl_format("(the map function of %s: %.*s)", c->subscriptions[i].kind,
                             (int)strcspn(message, "\n"), message);
    }
    return pl_strdup("(a map function)");
}

void pl_controller_each_due(struct pl_controller *c,
                            void (*visit)(void *arg, struct pl_slice key, int64_t due_ns,
                                          bool fails),
                            void *arg)
{
    struct due_visit to = {visit, arg, c->late_ns};
    if (pl_workqueue_waiting(c->queue) > 0)
        pl_workqueue_each(c->queue, pl_controller_due_until(c), SIZE_MAX, see, &to);
    if (c->retry_keys.count > 0 && pl_timer_is_active(&c->retry)) {
        char *what = failing_map(c);
        visit(arg, pl_slice_z(what), c->retry.due_ns, true);
        pl_free(what);
    }
}
