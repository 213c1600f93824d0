/* Checks all controllers periodically, and ends when several checks in a row found no work. It asks
 * queues, runs and sources and has no counters of its own, so it cannot disagree with them. */
#include "control/once.h"

#include "control/controller_impl.h"
#include "control/leadership.h"
#include "control/shard_member.h"

#include "base/alloc.h"
#include "base/log.h"

#define LOOK_EVERY      (50 * PL_MS)
#define QUIET_LOOKS     3 /* in a row: the effects of a write take a moment */
#define EXIT_FAILED     1
#define EXIT_NOT_SYNCED 4

struct pl_once {
    struct pl_once_options o;
    struct pl_timers *timers;
    struct pl_timer look, limit;
    struct pl_wait wait;
    int quiet; /* checks in a row that found no work */
};

/* ---- one controller ---- */

static void see_retry(void *arg, const struct pl_queued *queued)
{
    bool *tries = arg;
    *tries |= queued->delayed && queued->requeues > 0 && queued->requeues <= PL_ONCE_TRIES;
}

static bool tries_again(struct pl_controller *c)
{
    bool tries = false;
    if (pl_workqueue_waiting(c->queue) > 0)
        pl_workqueue_each(c->queue, pl_controller_now(c), SIZE_MAX, see_retry, &tries);
    return tries;
}

static bool sources_are_settled(const struct pl_controller *c)
{
    for (size_t i = 0; i < c->spec->source_count; i++)
        if (!pl_source_is_family(&c->spec->sources[i]) &&
            !pl_informer_is_settled(pl_controller_informer(c, i)))
            return false;
    return pl_members_are_settled(c);
}

/* With shards, the keys of those that have not come yet are missing. */
static bool awaits_shards(struct pl_manager *manager, const struct pl_controller *c)
{
    const struct pl_leadership *leadership = pl_manager_leadership(manager);
    const struct pl_shard_member *member =
        leadership != NULL && c->spec->leader_election ? pl_leadership_member(leadership) : NULL;
    return member != NULL && !pl_membership_has_share(pl_shard_member_membership(member));
}

/* The work that is left; NULL: none. */
static const char *held_by(struct pl_manager *manager, struct pl_controller *c)
{
    bool is_task = c->spec->task.form != PL_NO_TASK;
    if (c->may_run && awaits_shards(manager, c))
        return "it waits for its shards";
    if (!c->running)
        return c->may_run ? "it waits for its sources" : "it waits for the lead";
    if (pl_controller_is_elsewhere(c))
        return NULL; /* it is another replica's work */
    if (!pl_controller_has_synced(c) || c->asked > 0)
        return "predicates and map functions of its sources still run";
    if (c->in_flight > 0 || c->drive_deferred || pl_workqueue_len(c->queue, pl_controller_now(c)))
        return is_task ? "it runs" : "keys are reconciled";
    if (tries_again(c) || pl_subscriptions_try_again(c, PL_ONCE_MAP_TRIES))
        return "failed keys are retried";
    if (is_task && !c->task_ran)
        return "it has not run";
    if (!sources_are_settled(c))
        return "its watches have not yet delivered what was written";
    return NULL;
}

static size_t failed_keys(const struct pl_controller *c)
{
    return c->failing.count + c->gave_up;
}

static void say_failures(const struct pl_controller *c)
{
    if (failed_keys(c) > 0)
        pl_log(PL_LOG_ERROR, "once: keys failed", pl_str("controller", c->name),
               pl_int("failed", (int64_t)failed_keys(c)),
               pl_str("last_error", c->last_error.message != NULL ? c->last_error.message : ""),
               pl_str("last_key", c->last_error.key != NULL ? c->last_error.key : ""));
    for (size_t i = 0; i < c->spec->source_count; i++)
        if (c->retry_keys.count > 0 && c->subscriptions[i].failing.message != NULL)
            pl_log(PL_LOG_ERROR, "once: a map function failed", pl_str("controller", c->name),
                   pl_str("kind", c->subscriptions[i].kind),
                   pl_str("last_error", c->subscriptions[i].failing.message));
}

/* ---- all of them ---- */

static void once_end(struct pl_once *once, int exit_code)
{
    pl_once_stop(once);
    once->o.over(once->o.arg, exit_code);
}

static void conclude(struct pl_once *once)
{
    size_t failed = 0, waiting = 0, later = 0;
    for (size_t i = 0; i < pl_manager_count(once->o.manager); i++) {
        const struct pl_controller *c = pl_manager_at(once->o.manager, i);
        failed += failed_keys(c) + c->retry_keys.count;
        waiting += c->waiting.count;
        later += pl_workqueue_waiting(c->queue);
        say_failures(c);
    }
    pl_log(failed > 0 ? PL_LOG_ERROR : PL_LOG_INFO, "once: everything has run",
           pl_int("failed", (int64_t)failed), pl_int("waiting", (int64_t)waiting),
           pl_int("later", (int64_t)later));
    once_end(once, failed > 0 ? EXIT_FAILED : 0);
}

/* A controller that cannot start is not waited for beyond its own timeout. */
static bool any_timed_out(struct pl_manager *manager)
{
    for (size_t i = 0; i < pl_manager_count(manager); i++)
        if (pl_controller_sync_timed_out(pl_manager_at(manager, i)))
            return true;
    return false;
}

static bool any_is_held(struct pl_manager *manager)
{
    for (size_t i = 0; i < pl_manager_count(manager); i++)
        if (held_by(manager, pl_manager_at(manager, i)) != NULL)
            return true;
    return false;
}

static void on_look(struct pl_timer *timer)
{
    struct pl_once *once = PL_CONTAINER_OF(timer, struct pl_once, look);
    if (any_timed_out(once->o.manager)) {
        once_end(once, EXIT_NOT_SYNCED);
        return;
    }
    once->quiet = any_is_held(once->o.manager) ? 0 : once->quiet + 1;
    if (once->quiet >= QUIET_LOOKS)
        conclude(once);
    else
        pl_timer_start(once->timers, timer, LOOK_EVERY, on_look);
}

static void say_held(struct pl_manager *manager, const struct pl_controller *c, const char *held)
{
    struct pl_buf because = PL_BUF_INIT;
    pl_buf_add_f(&because, "%s", held);
    if (c->may_run && awaits_shards(manager, c)) {
        pl_buf_add_f(&because, ": ");
        pl_leadership_describe(pl_manager_leadership(manager), &because);
    }
    pl_log(PL_LOG_ERROR, "once: not finished within --once-timeout", pl_str("controller", c->name),
           pl_strn("because", pl_buf_slice(&because)));
    pl_buf_deinit(&because);
}

static void on_once_limit(struct pl_timer *timer)
{
    struct pl_once *once = PL_CONTAINER_OF(timer, struct pl_once, limit);
    for (size_t i = 0; i < pl_manager_count(once->o.manager); i++) {
        struct pl_controller *c = pl_manager_at(once->o.manager, i);
        const char *held = held_by(once->o.manager, c);
        if (held != NULL)
            say_held(once->o.manager, c, held);
    }
    once_end(once, EXIT_FAILED);
}

struct pl_once *pl_once_create(const struct pl_once_options *options)
{
    struct pl_once *once = PL_NEW(struct pl_once);
    struct pl_cluster *cluster = pl_manager_cluster(options->manager);
    once->o = *options;
    once->timers = pl_site_timers(pl_cluster_site(cluster));
    pl_timer_start(once->timers, &once->look, LOOK_EVERY, on_look);
    if (options->timeout_ns > 0)
        pl_timer_start(once->timers, &once->limit, options->timeout_ns, on_once_limit);
    if (pl_site_waits(pl_cluster_site(cluster)) != NULL && options->timeout_ns > 0)
        pl_wait_begin(pl_site_waits(pl_cluster_site(cluster)), &once->wait,
                      "everything to have run", "--once", options->timeout_ns);
    else if (pl_site_waits(pl_cluster_site(cluster)) != NULL)
        pl_wait_begin_open(pl_site_waits(pl_cluster_site(cluster)), &once->wait,
                           "everything to have run", "--once", "--once-timeout is 0");
    return once;
}

void pl_once_stop(struct pl_once *once)
{
    pl_timer_stop(once->timers, &once->look);
    pl_timer_stop(once->timers, &once->limit);
    pl_wait_end(&once->wait);
}

void pl_once_destroy(struct pl_once *once)
{
    if (once == NULL)
        return;
    pl_once_stop(once);
    pl_free(once);
}
