/* Tasks of scripts, perilune.every and perilune.run: runs without an object.
 *
 * A task is a controller with a single key, its own name, which only the clock queues. So it has
 * the properties of controllers: never two runs at a time, synced caches of its Reads, leader-only
 * or not, editions, stopping with grace, metrics and history under its name. The differences:
 * - every: the next run is one period after the end of the last one, whatever its result, or at the
 * time that the run returned (PL_OUTCOME_REQUEUE_AFTER); schedules use this;
 * - run: begins with the host (leader-only ones with each lead), again with backoff after a
 * failure, and not again after it has returned;
 * - a run is asked to stop (pl_reconciler_ops.stop) when the host stops, another edition takes
 * over, or the task is no longer declared. At a reload `every` keeps its due time, and `run` begins
 * anew when the old one has ended, if its code has changed or it had not returned. */
#include "control/controller_impl.h"

#include "base/alloc.h"
#include "base/text.h"

static bool is_task(const struct pl_controller_spec *spec)
{
    return spec->task.form != PL_NO_TASK;
}

static void queue_task(struct pl_controller *c, int64_t after_ns, enum pl_cause_type cause)
{
    struct pl_add how = {.after_ns = after_ns};
    pl_controller_enqueue(c, pl_slice_z(c->name), &how, cause);
}

static void queue_first(struct pl_controller *c)
{
    bool waits = c->spec->task.form == PL_TASK_EVERY && !c->spec->task.immediate;
    queue_task(c, waits ? c->spec->task.period_ns : 0, PL_CAUSE_ADDED);
}

static bool is_queued(struct pl_controller *c)
{
    struct pl_queued queued;
    return pl_workqueue_look(c->queue, pl_slice_z(c->name), pl_controller_now(c), &queued) &&
           (queued.ready || queued.delayed);
}

void pl_controller_task_begin(struct pl_controller *c)
{
    if (!is_task(c->spec) || c->task_begun)
        return;
    c->task_begun = true;
    if (!is_queued(c)) /* when a lead is gained again, `every` still has its due time */
        queue_first(c);
}

/* ---- another edition ---- */

struct keys {
    char **items; /* owned */
    size_t count;
};

static void task_collect(void *arg, const struct pl_queued *queued)
{
    struct keys *keys = arg;
    keys->items = pl_reallocarray(keys->items, keys->count + 1, sizeof(char *));
    keys->items[keys->count++] = pl_text_copy(queued->key);
}

/* Keys of a controller and of a task are different things. */
static void drop_keys(struct pl_controller *c)
{
    struct keys keys = {0};
    pl_workqueue_each(c->queue, pl_controller_now(c), SIZE_MAX, task_collect, &keys);
    for (size_t i = 0; i < keys.count; i++) {
        struct pl_cause_list causes;
        pl_workqueue_drop(c->queue, pl_slice_z(keys.items[i]));
        pl_causes_take(&c->causes, pl_slice_z(keys.items[i]), &causes);
        pl_cause_list_deinit(&causes);
        pl_free(keys.items[i]);
    }
    pl_free(keys.items);
}

void pl_controller_task_adopted(struct pl_controller *c, const struct pl_task_spec *old,
                                bool changed)
{
    const struct pl_task_spec *now = &c->spec->task;
    if (old->form == PL_NO_TASK && now->form == PL_NO_TASK)
        return;
    bool was_running = c->in_flight > 0, was_waiting = is_queued(c);
    if (old->form != PL_NO_TASK)
        pl_controller_ask_to_stop(c);
    if (old->form != now->form) {
        drop_keys(c);
        c->task_begun = false;
        if (c->running)
            pl_controller_task_begin(c);
    } else if (now->form == PL_TASK_EVERY && now->when_changed && changed) {
        queue_task(c, 0, PL_CAUSE_RELOAD);
    } else if (now->form == PL_TASK_EVERY && !was_running && now->period_ns < old->period_ns) {
        queue_task(c, now->period_ns, PL_CAUSE_RELOAD);
    } else if (now->form == PL_TASK_RUN && (changed || was_running || was_waiting)) {
        queue_task(c, 0, PL_CAUSE_RELOAD);
    }
}

/* ---- the result of its run ---- */

#define LIVED_LONG                                                                                 \
    (120 * PL_SECOND) /* a run that fails after this time does not count as repeated */

void pl_controller_task_ended(struct pl_controller *c, struct pl_slice key,
                              const struct pl_outcome_of_run *ended, int64_t took_ns)
{
    enum pl_outcome outcome = ended->outcome;
    const struct pl_task_spec *task = &c->spec->task;
    struct pl_add how = {.after_ns = 0};
    bool later = outcome == PL_OUTCOME_REQUEUE_AFTER;
    bool failed = !later && outcome != PL_OUTCOME_DONE && outcome != PL_OUTCOME_CANCELED;
    if (pl_controller_is_over(c) || !pl_slice_eqz(key, c->name))
        return;
    c->task_ran = c->task_ran || outcome != PL_OUTCOME_CANCELED;
    if (outcome == PL_OUTCOME_TERMINAL && task->form == PL_TASK_RUN)
        return;
    if (task->form == PL_TASK_EVERY && outcome != PL_OUTCOME_CANCELED) {
        how.after_ns = later ? ended->after_ns : task->period_ns;
    } else if (failed) {
        if (took_ns >= LIVED_LONG)
            pl_workqueue_forget(c->queue, key);
        how.rate_limited = true;
    } else if (outcome == PL_OUTCOME_DONE) {
        pl_workqueue_forget(c->queue, key);
        return;
    }
    pl_causes_add(&c->causes, key, failed ? PL_CAUSE_RETRY : PL_CAUSE_REQUEUE);
    pl_workqueue_add(c->queue, key, &how, pl_controller_now(c));
}
