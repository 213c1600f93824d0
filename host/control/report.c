/* Fills a report from the controller's queue, runs and sources. Read-only; it keeps no state. */
#include "control/report.h"

#include "control/controller_impl.h"

const char *pl_controller_state_name(enum pl_controller_state state)
{
    static const char names[][12] = {[PL_CONTROLLER_WAITING] = "waiting",
                                     [PL_CONTROLLER_STANDBY] = "standby",
                                     [PL_CONTROLLER_RUNNING] = "running",
                                     [PL_CONTROLLER_ELSEWHERE] = "elsewhere",
                                     [PL_CONTROLLER_STOPPING] = "stopping"};
    return names[state];
}

static enum pl_controller_state state_of(const struct pl_controller *c)
{
    if (c->stopping)
        return PL_CONTROLLER_STOPPING;
    if (c->running)
        return pl_controller_is_elsewhere(c) ? PL_CONTROLLER_ELSEWHERE : PL_CONTROLLER_RUNNING;
    return c->may_run ? PL_CONTROLLER_WAITING : PL_CONTROLLER_STANDBY;
}

static int64_t total(const struct pl_series *series)
{
    return series != NULL ? (int64_t)pl_series_value(series) : 0;
}

void pl_controller_report(const struct pl_controller *c, struct pl_controller_report *out)
{
    *out = (struct pl_controller_report){
        .state = state_of(c),
        .in_flight = c->in_flight,
        .ready = pl_workqueue_len(c->queue, pl_controller_now(c)),
        .delayed = pl_workqueue_waiting(c->queue),
        .paused = c->parked.count,
        .waiting = c->waiting.count,
        .failing = c->failing.count,
        .map_retries = c->retry_keys.count,
        .runs = total(c->metrics.success) + total(c->metrics.error) + total(c->metrics.requeue) +
                total(c->metrics.requeue_after),
        .errors = total(c->metrics.errors),
        .last_error = c->last_error.message,
        .last_key = pl_slice_z(c->last_error.key),
        .last_error_ns = c->last_error.at_ns,
    };
}

void pl_controller_each_loop(const struct pl_controller *c,
                             void (*visit)(void *arg, const char *key, const struct pl_loop *loop),
                             void *arg)
{
    pl_write_loops_each(c->loops, pl_controller_now(c), visit, arg);
}

void pl_controller_report_key(const struct pl_controller *c, struct pl_slice key,
                              struct pl_key_report *out)
{
    *out = (struct pl_key_report){0};
    pl_workqueue_look(c->queue, key, pl_controller_now(c), &out->queued);
    const struct pl_parked *parked = pl_map_get(&c->parked, key);
    out->paused = parked != NULL;
    out->paused_ns = parked != NULL ? parked->wait.since_ns : 0;
    out->waits_for = pl_controller_waits_for(c, key, &out->waiting_ns);
    const struct pl_failing *failing = pl_map_get(&c->failing, key);
    out->failures = failing != NULL ? failing->failures : 0;
    out->last_error = failing != NULL ? failing->message : NULL;
}

void pl_controller_each_woken(struct pl_controller *c, size_t source, struct pl_doc *object,
                              void (*visit)(void *arg, struct pl_slice key), void *arg)
{
    struct pl_event event = {.type = PL_EVENT_CREATE, .object = object};
    pl_requests_clear(&c->requests);
    if (!pl_handler_requests(&c->subscriptions[source].handler, &event, &c->requests))
        return;
    for (size_t i = 0; i < c->requests.count; i++)
        visit(arg, pl_requests_key(&c->requests, i));
}

bool pl_controller_drop(struct pl_controller *c, struct pl_slice key)
{
    pl_controller_take_back(c);
    if (!pl_workqueue_drop(c->queue, key))
        return false;
    struct pl_cause_list causes;
    pl_causes_take(&c->causes, key, &causes);
    pl_cause_list_deinit(&causes);
    pl_workqueue_forget(c->queue, key);
    pl_controller_note(c, key, PL_HAPPENED_FORGOT, 0, "dropped from the queue by hand");
    pl_controller_drive(c);
    return true;
}
