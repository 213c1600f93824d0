/* Runs: from the queue to the reconciler and back, and the consequences of each result. */
#include "control/controller_impl.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/text.h"
#include "write/capture.h"
#include "control/report.h"
#include "object/meta.h"

#include <string.h>

#define SAY_AGAIN (60 * PL_SECOND)

struct pl_doc *pl_controller_for_object(struct pl_controller *c, struct pl_slice key)
{
    for (size_t i = 0; i < c->spec->source_count; i++) {
        struct pl_subscription *subscription = &c->subscriptions[i];
        if (subscription->source->role == PL_SOURCE_FOR && subscription->informer != NULL)
            return pl_store_get(pl_informer_store(subscription->informer), key);
    }
    return NULL;
}

/* ---- failures of a key ---- */

static struct pl_failing *failing_of(struct pl_controller *c, struct pl_slice key)
{
    struct pl_failing *failing = pl_map_get(&c->failing, key);
    if (failing == NULL) {
        failing = PL_NEW(struct pl_failing);
        failing->since = c->editions;
        pl_map_put(&c->failing, key, failing);
    }
    return failing;
}

static void free_failing(struct pl_failing *failing)
{
    pl_free(failing->message);
    pl_free(failing);
}

static void forget_failures(struct pl_controller *c, struct pl_slice key)
{
    struct pl_failing *failing = pl_map_remove(&c->failing, key);
    if (failing != NULL)
        free_failing(failing);
}

void pl_controller_free_keys(struct pl_controller *c)
{
    size_t at = 0;
    struct pl_slice key;
    void *value;
    while (pl_map_next(&c->failing, &at, &key, &value))
        free_failing(value);
    pl_map_deinit(&c->failing);
    pl_free(c->last_error.message);
    pl_free(c->last_error.key);
    pl_controller_free_parked(c);
    pl_controller_free_waiting(c);
}

static void keep_last_error(struct pl_controller *c, struct pl_slice key, const char *message)
{
    pl_free(c->last_error.message);
    pl_free(c->last_error.key);
    c->last_error.message = pl_strdup(message);
    c->last_error.key = pl_text_copy(key);
    c->last_error.at_ns = pl_controller_now(c);
}

/* The same error of one key: logged in full once a minute, counted in between. */
static void log_failure(struct pl_controller *c, const struct pl_run_record *run,
                        const struct pl_outcome_of_run *outcome, const char *what)
{
    struct pl_failing *failing = failing_of(c, run->run.key);
    const char *message = outcome->message != NULL ? outcome->message : "no message";
    int64_t now = pl_controller_now(c);
    keep_last_error(c, run->run.key, message);
    if (failing->message != NULL && strcmp(failing->message, message) == 0 &&
        now - failing->logged_ns < SAY_AGAIN) {
        failing->repeated++;
        return;
    }
    struct pl_field fields[] = {
        pl_str(c->spec->task.form != PL_NO_TASK ? "task" : "controller", c->name),
        pl_strn("key", run->run.key),
        pl_str("reconcile_id", run->run.id),
        pl_int("attempt", run->run.attempt),
        pl_str("error", message),
        pl_int("repeated", failing->repeated),
        pl_str("traceback", outcome->traceback),
    };
    pl_log_fields(PL_LOG_ERROR, what, fields, PL_ARRAY_LEN(fields) - (outcome->traceback == NULL));
    pl_free(failing->message);
    failing->message = pl_strdup(message);
    failing->logged_ns = now;
    failing->repeated = 0;
}

/* ---- consequences of a result (rules 127-129) ---- */

static void run_again(struct pl_controller *c, const struct pl_run_record *run,
                      enum pl_cause_type cause, int64_t after_ns, bool rate_limited)
{
    struct pl_add how = {
        .priority = run->priority, .after_ns = after_ns, .rate_limited = rate_limited};
    if (pl_controller_is_over(c))
        return;
    if (!pl_controller_may_run_again(c, run)) { /* it belongs to another replica now */
        pl_controller_forget_key(c, run->run.key);
        return;
    }
    pl_causes_add(&c->causes, run->run.key, cause);
    pl_workqueue_add(c->queue, run->run.key, &how, pl_controller_now(c));
    struct pl_queued queued;
    int64_t now = pl_controller_now(c);
    if (pl_workqueue_look(c->queue, run->run.key, now, &queued) && queued.delayed)
        pl_controller_note(c, run->run.key, PL_HAPPENED_DELAYED, queued.due_ns - now,
                           pl_cause_type_name(cause));
}

void pl_controller_forget_key(struct pl_controller *c, struct pl_slice key)
{
    pl_workqueue_forget(c->queue, key);
    forget_failures(c, key);
}

static void run_forget(struct pl_controller *c, const struct pl_run_record *run)
{
    pl_workqueue_forget(c->queue, run->run.key);
    forget_failures(c, run->run.key);
}

static void run_failed(struct pl_controller *c, const struct pl_run_record *run,
                       const struct pl_outcome_of_run *outcome)
{
    log_failure(c, run, outcome, "reconcile failed");
    struct pl_failing *failing = failing_of(c, run->run.key);
    failing->failures++;
    if (c->spec->max_retries < 0 || failing->failures <= c->spec->max_retries) {
        run_again(c, run, PL_CAUSE_RETRY, 0, true);
        return;
    }
    pl_log(PL_LOG_ERROR, "gave up after max_retries: the next event starts anew",
           pl_str("controller", c->name), pl_strn("key", run->run.key),
           pl_int("failures", failing->failures));
    c->gave_up++;
    run_forget(c, run);
    pl_controller_waits_no_more(c, run->run.key);
}

static void apply_task_outcome(struct pl_controller *c, const struct pl_run_record *run,
                               const struct pl_outcome_of_run *outcome)
{
    if (outcome->outcome == PL_OUTCOME_DONE || outcome->outcome == PL_OUTCOME_REQUEUE_AFTER) {
        forget_failures(c, run->run.key);
    } else if (outcome->outcome != PL_OUTCOME_CANCELED) {
        log_failure(c, run, outcome, "task failed");
        failing_of(c, run->run.key)->failures++;
    }
    if (pl_controller_may_run_again(c, run))
        pl_controller_task_ended(c, run->run.key, outcome, pl_controller_now(c) - run->started_ns);
    else
        pl_controller_forget_key(c, run->run.key);
}

static void run_failed_for_good(struct pl_controller *c, const struct pl_run_record *run,
                                const struct pl_outcome_of_run *outcome)
{
    log_failure(c, run, outcome,
                outcome->barred ? "reconcile failed for good: not run again until its code changes"
                                : "reconcile failed for good: the next event starts anew");
}

static void run_conflicted(struct pl_controller *c, const struct pl_run_record *run,
                           const struct pl_outcome_of_run *outcome)
{
    pl_log(PL_LOG_INFO,
           outcome->gone ? "gone since it was read: trying again" : "conflict: trying again",
           pl_str("controller", c->name), pl_strn("key", run->run.key),
           pl_str("error", outcome->message));
    run_again(c, run, PL_CAUSE_RETRY, 0, true);
}

static void apply_outcome(struct pl_controller *c, const struct pl_run_record *run,
                          const struct pl_outcome_of_run *outcome)
{
    if (c->spec->task.form != PL_NO_TASK) {
        apply_task_outcome(c, run, outcome);
        return;
    }
    switch (outcome->outcome) {
    case PL_OUTCOME_DONE:
    case PL_OUTCOME_WAITING:
        run_forget(c, run);
        break;
    case PL_OUTCOME_REQUEUE_AFTER:
        if (outcome->after_ns > 0) {
            run_forget(c, run);
            run_again(c, run, PL_CAUSE_REQUEUE, outcome->after_ns, false);
            break;
        }
        run_again(c, run, PL_CAUSE_REQUEUE, 0, true);
        break;
    case PL_OUTCOME_REQUEUE:
        run_again(c, run, PL_CAUSE_REQUEUE, 0, true);
        break;
    case PL_OUTCOME_ERROR:
    case PL_OUTCOME_TIMEOUT:
        run_failed(c, run, outcome);
        break;
    case PL_OUTCOME_TERMINAL:
        run_failed_for_good(c, run, outcome);
        break;
    case PL_OUTCOME_CONFLICT:
        run_conflicted(c, run, outcome);
        break;
    case PL_OUTCOME_CANCELED:
        /* Only for a while, when the lead was lost: the next leader processes the key. */
        run_again(c, run, PL_CAUSE_RETRY, 0, false);
        break;
    }
}

/* Before the outcome changes the state of the key. */
static void tell_ran(struct pl_controller *c, const struct pl_run_record *run,
                     const struct pl_outcome_of_run *outcome)
{
    const struct pl_edition *edition = run->run.edition;
    if (edition->o.ran == NULL)
        return;
    const struct pl_failing *failing = pl_map_get(&c->failing, run->run.key);
    edition->o.ran(edition->o.ran_arg,
                   &(struct pl_ran){
                       .run = &run->run,
                       .outcome = outcome,
                       .failed_before = failing != NULL && failing->failures > 0 &&
                                        failing->since < edition->serial,
                   });
}

void pl_run_free(struct pl_run_record *run)
{
    pl_timer_stop(run->run.controller->timers, &run->timeout);
    pl_cause_list_deinit(&run->causes);
    pl_edition_unref(run->run.edition);
    pl_capture_unref(run->run.capture);
    pl_free(run);
}

/* Not before its beginning, whichever clock was used. */
static int64_t end_of(const struct pl_run_record *run, const struct pl_outcome_of_run *outcome)
{
    int64_t ended_ns = pl_controller_now(run->run.controller) - outcome->ago_ns;
    return ended_ns > run->started_ns ? ended_ns : run->started_ns;
}

static void on_run_finish(struct pl_run *finished, const struct pl_outcome_of_run *outcome)
{
    struct pl_run_record *run = PL_CONTAINER_OF(finished, struct pl_run_record, run);
    struct pl_controller *c = run->run.controller;
    struct pl_outcome_of_run result = *outcome;
    /* An error after the deadline is caused by the deadline (rule 131). */
    if (run->timed_out && result.outcome == PL_OUTCOME_ERROR)
        result.outcome = PL_OUTCOME_TIMEOUT;
    int64_t ended_ns = end_of(run, &result);
    pl_link_unlink(&run->link);
    c->in_flight--;
    pl_controller_follow_up(c, run, ended_ns);
    pl_controller_metrics_run(c, result.outcome, result.outcome == PL_OUTCOME_TIMEOUT,
                              ended_ns - run->started_ns);
    pl_controller_note_outcome(c, &run->run, &result, ended_ns - run->started_ns);
    tell_ran(c, run, &result);
    if (c->watcher != NULL)
        c->watcher->ran(c->watcher->arg, c, &run->run, &result);
    pl_controller_note_waiting(c, run->run.key, &result);
    pl_controller_run_left_shard(c, run);
    apply_outcome(c, run, &result);
    pl_workqueue_done(c->queue, run->run.key, ended_ns);
    pl_run_free(run);
    pl_controller_drive(c);
}

/* ---- starting runs ---- */

/* With a shadow: creates the capture of the run, with the current state of its object. */
static void begin_capture(struct pl_controller *c, struct pl_run_record *run)
{
    run->run.capture = pl_capture_create();
    for (size_t i = 0; i < c->spec->source_count; i++) {
        const struct pl_source_spec *source = &c->spec->sources[i];
        if (source->role != PL_SOURCE_FOR || source->options.metadata_only)
            continue;
        struct pl_doc *object = pl_controller_for_object(c, run->run.key);
        bool known = object != NULL || (source->options.labels == NULL && !source->options.fields);
        if (known)
            pl_capture_expect(run->run.capture, &source->kind, run->run.key, object);
        pl_doc_unref(object);
    }
}

void pl_run_cancel(struct pl_run_record *run, const struct pl_err *why)
{
    if (run->canceled)
        return;
    run->canceled = true;
    const struct pl_controller_options *by = &run->run.edition->o;
    by->ops->cancel(by->self, &run->run, why);
}

static void on_run_timeout(struct pl_timer *timer)
{
    struct pl_run_record *run = PL_CONTAINER_OF(timer, struct pl_run_record, timeout);
    struct pl_err why = {0};
    pl_err_set(&why, PL_ETIMEOUT, "reconcile_timeout of %g s has passed",
               (double)run->run.edition->spec.reconcile_timeout_ns / (double)PL_SECOND);
    run->timed_out = !run->canceled;
    pl_run_cancel(run, &why);
}

void pl_controller_ask_to_stop(struct pl_controller *c)
{
    PL_LIST_FOR (link, &c->runs) {
        struct pl_run_record *run = PL_CONTAINER_OF(link, struct pl_run_record, link);
        const struct pl_controller_options *by = &run->run.edition->o;
        if (by->ops->stop != NULL)
            by->ops->stop(by->self, &run->run);
    }
}

void pl_controller_cancel_all(struct pl_controller *c, const struct pl_edition *edition,
                              const struct pl_err *why)
{
    pl_controller_take_back(c);
    PL_LIST_FOR (link, &c->runs) {
        struct pl_run_record *run = PL_CONTAINER_OF(link, struct pl_run_record, link);
        if (edition == NULL || run->run.edition == edition)
            pl_run_cancel(run, why);
    }
}

size_t pl_controller_running_as_leader(const struct pl_controller *c)
{
    size_t count = 0;
    PL_LIST_FOR (link, &c->runs)
        count +=
            PL_CONTAINER_OF(link, struct pl_run_record, link)->run.edition->spec.leader_election;
    return count;
}

void pl_controller_cancel_as_leader(struct pl_controller *c, const struct pl_err *why)
{
    pl_controller_take_back(c);
    PL_LIST_FOR (link, &c->runs) {
        struct pl_run_record *run = PL_CONTAINER_OF(link, struct pl_run_record, link);
        if (run->run.edition->spec.leader_election)
            pl_run_cancel(run, why);
    }
}

void pl_controller_each_run(const struct pl_controller *c,
                            void (*visit)(void *arg, const struct pl_run *run, int64_t age_ns,
                                          bool canceled),
                            void *arg)
{
    PL_LIST_FOR (link, &c->runs) {
        const struct pl_run_record *run = PL_CONTAINER_OF(link, struct pl_run_record, link);
        visit(arg, &run->run, pl_controller_now(c) - run->started_ns, run->canceled);
    }
}

/* printf would take longer than the rest of starting a run. */
void pl_run_set_id(struct pl_run *run, uint64_t number)
{
    for (int i = 15; i >= 0; i--, number >>= 4)
        run->id[i] = "0123456789abcdef"[number & 15];
    run->id[16] = '\0';
}

static const struct pl_run_owner controller_owner = {
    .finish = on_run_finish,
    .waits = pl_controller_run_waits,
    .called = pl_controller_run_called,
    .wrote = pl_controller_run_wrote,
};

struct pl_run_record *pl_run_create(struct pl_controller *c, const struct pl_item *item)
{
    struct pl_run_record *run = pl_calloc(1, sizeof *run + item->key.len + 1);
    memcpy(run->key, item->key.ptr, item->key.len);
    run->priority = item->priority;
    run->run.owner = &controller_owner;
    run->run.controller = c;
    run->run.edition = pl_edition_ref(c->edition);
    run->run.key = pl_slice(run->key, item->key.len);
    pl_key_split(run->run.key, &run->run.ns, &run->run.name);
    run->run.shard = pl_controller_run_shard(c, run->run.key);
    pl_run_set_id(&run->run, pl_rand_u64(pl_site_rand(c->site)));
    const struct pl_failing *failing = pl_map_get(&c->failing, run->run.key);
    run->run.attempt = failing != NULL ? failing->failures : 0;
    pl_causes_take(&c->causes, run->run.key, &run->causes);
    run->run.causes = run->causes.items;
    run->run.cause_count = run->causes.count;
    run->run.causes_dropped = run->causes.dropped;
    if (c->spec->reconcile_timeout_ns > 0)
        run->run.deadline_ns = pl_controller_now(c) + c->spec->reconcile_timeout_ns;
    return run;
}

void pl_run_begun(struct pl_run_record *run, int64_t at_ns)
{
    struct pl_controller *c = run->run.controller;
    run->started_ns = at_ns;
    if (run->run.deadline_ns > 0)
        pl_timer_start(c->timers, &run->timeout, run->run.deadline_ns - pl_controller_now(c),
                       on_run_timeout);
    pl_list_push(&c->runs, &run->link);
    c->in_flight++;
    pl_controller_check_loops(&run->run);
    pl_controller_note(c, run->run.key, PL_HAPPENED_STARTED, 0, run->run.id);
}

static void start_run(struct pl_controller *c, const struct pl_item *item)
{
    struct pl_run_record *run = pl_run_create(c, item);
    if (c->watcher != NULL)
        begin_capture(c, run);
    pl_run_begun(run, pl_controller_now(c));
    pl_controller_may_follow(c, run);
    c->edition->o.ops->start(c->edition->o.self, &run->run);
}

static void on_run_due(struct pl_timer *timer)
{
    pl_controller_drive(PL_CONTAINER_OF(timer, struct pl_controller, due));
}

/* One timer for the next due key, however many keys wait (F48). */
static void arm_due(struct pl_controller *c)
{
    int64_t due_ns;
    pl_workqueue_promote(c->queue, pl_controller_due_until(c)); /* they wait for a worker */
    if (!c->running || !pl_workqueue_next_due(c->queue, &due_ns)) {
        pl_timer_stop(c->timers, &c->due);
        pl_wait_end(&c->due_wait);
        return;
    }
    due_ns += c->late_ns;
    if (!pl_timer_is_active(&c->due) || c->due.due_ns != due_ns)
        pl_timer_start(c->timers, &c->due, due_ns - pl_controller_now(c), on_run_due);
    pl_controller_wait_until(c, &c->due_wait, "queue delay", due_ns);
}

void pl_controller_set_lateness(struct pl_controller *c, int64_t ns)
{
    c->late_ns = ns;
    arm_due(c);
}

static void let_order(struct pl_controller *c)
{
    const struct pl_controller_options *by = &c->edition->o;
    if (by->order != NULL && pl_workqueue_len(c->queue, pl_controller_now(c)) > 1)
        by->order(by->order_arg, c);
}

static bool has_room(struct pl_controller *c)
{
    return c->running && c->in_flight < (size_t)pl_controller_workers(c) &&
           pl_controller_is_here(c);
}

static int take_next(struct pl_controller *c, struct pl_item *item)
{
    let_order(c);
    return pl_workqueue_take(c->queue, item, pl_controller_now(c));
}

static void drive(struct pl_task *task)
{
    struct pl_controller *c = PL_CONTAINER_OF(task, struct pl_controller, drive);
    c->drive_deferred = false;
    struct pl_item item;
    while (has_room(c) && take_next(c, &item) == 0)
        if (!pl_controller_may_begin(c, item.key))
            pl_workqueue_done(c->queue, item.key, pl_controller_now(c));
        else if (!pl_controller_park(c, &item))
            start_run(c, &item);
    pl_controller_prefetch(c);
    arm_due(c);
    pl_controller_tell_left(c);
    pl_controller_check(c);
}

void pl_controller_drive(struct pl_controller *c)
{
    if (c->drive_deferred)
        return;
    c->drive_deferred = true;
    pl_site_defer(c->site, &c->drive, drive);
}
