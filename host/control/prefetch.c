/* Runs that are handed over before there is room for them. A reconcile that only computes takes
 * less time than the way to another thread and back. So if the last runs have not waited, the next
 * keys follow the running one and begin by themselves as soon as it has ended, never beside it.
 * Their keys are claimed: they count as queued until it is known that they have begun. They go back
 * to their places when the running one waits or takes long, and before new code, another leader or
 * the end takes over. With only one worker, a run that waits is still followed by one: no other
 * worker could begin it sooner. */
#include "control/controller_impl.h"

#include "base/check.h"

#define MOST_PREFETCHED 64
/* Maximal time of a claim. */
#define CLAIM_NS            (10 * PL_MS)
#define SHORTEST_TIMEOUT_NS PL_SECOND

static const struct pl_reconciler_ops *ops_of(const struct pl_run_record *run)
{
    return run->run.edition->o.ops;
}

static void begun(struct pl_controller *c, struct pl_run_record *run, int64_t at_ns)
{
    c->prefetch.count--;
    c->prefetch.moved = true;
    pl_workqueue_begin(c->queue, run->run.key, at_ns);
    pl_run_begun(run, at_ns);
}

static void give_back(struct pl_controller *c, struct pl_run_record *run)
{
    c->prefetch.count--;
    pl_causes_give_back(&c->causes, run->run.key, &run->causes);
    pl_workqueue_unclaim(c->queue, run->run.key);
    pl_run_free(run);
}

/* Settles the runs that follow this one, the last one first, since an ended run cannot be followed.
 */
static void settle_after(struct pl_controller *c, struct pl_run_record *run, int64_t at_ns)
{
    struct pl_run_record *next = run->next;
    if (next == NULL)
        return;
    settle_after(c, next, at_ns);
    run->next = NULL;
    if (ops_of(run)->unfollow(run->run.edition->o.self, &run->run, &next->run))
        give_back(c, next);
    else
        begun(c, next, at_ns);
}

void pl_controller_take_back(struct pl_controller *c)
{
    struct pl_run_record *head = c->prefetch.head;
    c->prefetch.head = c->prefetch.tail = NULL;
    c->prefetch.most = 0;
    pl_timer_stop(c->timers, &c->prefetch.limit);
    if (head == NULL || head->next == NULL)
        return;
    settle_after(c, head, pl_controller_now(c));
    pl_controller_drive(c);
}

/* Even if they make progress, so that a key with a higher priority does not wait longer. */
static void on_prefetch_limit(struct pl_timer *timer)
{
    struct pl_controller *c = PL_CONTAINER_OF(timer, struct pl_controller, prefetch.limit);
    size_t most = c->prefetch.moved ? c->prefetch.most : 0;
    pl_controller_take_back(c);
    c->prefetch.most = most;
}

void pl_controller_may_follow(struct pl_controller *c, struct pl_run_record *run)
{
    /* Lanes of different editions do not know each other's runs. */
    if (c->prefetch.count == 0 && run->run.edition == c->edition)
        c->prefetch.head = c->prefetch.tail = run;
}

/* Not for tasks, which have no keys; not for runs with a capture, which begin with reading the
 * object; and the time of a run counts from its claim. */
static bool may_prefetch(const struct pl_controller *c)
{
    const struct pl_run_record *tail = c->prefetch.tail;
    int64_t timeout_ns = c->spec->reconcile_timeout_ns;
    return c->running && tail != NULL && pl_controller_is_here((struct pl_controller *)c) &&
           ops_of(tail)->follow != NULL && c->watcher == NULL && c->edition->o.order == NULL &&
           c->spec->task.form == PL_NO_TASK &&
           (timeout_ns == 0 || timeout_ns >= SHORTEST_TIMEOUT_NS);
}

/* False when there is no key, or the next one must not be handed ahead. */
static bool hand_next(struct pl_controller *c)
{
    struct pl_item item;
    if (pl_workqueue_claim(c->queue, &item, pl_controller_now(c)) != 0)
        return false;
    c->prefetch.count++;
    struct pl_run_record *tail = c->prefetch.tail, *run = pl_run_create(c, &item);
    if (pl_controller_is_paused(c, item.key) || !pl_controller_may_begin(c, item.key) ||
        !ops_of(tail)->follow(tail->run.edition->o.self, &tail->run, &run->run)) {
        give_back(c, run);
        return false;
    }
    c->prefetch.tail = tail->next = run;
    return true;
}

void pl_controller_prefetch(struct pl_controller *c)
{
    bool has_room = c->in_flight < (size_t)pl_controller_workers(c);
    if (has_room && c->prefetch.count > 0)
        pl_controller_take_back(c); /* it has to begin at once */
    if (has_room || !may_prefetch(c))
        return;
    while (c->prefetch.count < c->prefetch.most && hand_next(c))
        continue;
    if (c->prefetch.count == 0 || pl_timer_is_active(&c->prefetch.limit))
        return;
    c->prefetch.moved = false;
    pl_timer_start(c->timers, &c->prefetch.limit, CLAIM_NS, on_prefetch_limit);
}

void pl_controller_follow_up(struct pl_controller *c, struct pl_run_record *run, int64_t ended_ns)
{
    if (!run->waited && c->prefetch.most < MOST_PREFETCHED)
        c->prefetch.most = c->prefetch.most == 0 ? 1 : 2 * c->prefetch.most;
    if (c->prefetch.head != run)
        return;
    struct pl_run_record *next = run->next;
    c->prefetch.head = next;
    if (c->prefetch.tail == run)
        c->prefetch.tail = NULL;
    if (next == NULL)
        return;
    PL_REQUIRE(!ops_of(run)->unfollow(run->run.edition->o.self, &run->run, &next->run));
    begun(c, next, ended_ns);
}

/* Only one key follows, and not before the request of the waiting run has been sent. */
static void follow_alone(struct pl_controller *c, struct pl_run_record *run)
{
    c->prefetch.most = 1;
    pl_controller_may_follow(c, run);
    pl_controller_drive(c);
}

void pl_controller_run_waits(struct pl_run *waiting)
{
    struct pl_run_record *run = PL_CONTAINER_OF(waiting, struct pl_run_record, run);
    if (run->waited)
        return;
    run->waited = true;
    struct pl_controller *c = run->run.controller;
    bool one_worker = pl_controller_workers(c) == 1;
    if (!one_worker || c->prefetch.count > 1)
        pl_controller_take_back(c);
    if (one_worker)
        follow_alone(c, run);
}
