/* Starts, switches and stops the declared controllers. The order matters: sources sync before runs
 * begin; at a switch new subscriptions take over before old ones stop; at the end no new run begins
 * while others finish. */
#include "control/manager.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/log.h"
#include "control/key_shards.h"
#include "control/leadership.h"

#include <string.h>

#define CANCEL_BEFORE_END (5 * PL_SECOND)
#define EXIT_MISTAKE      1
#define EXIT_LEAD_LOST    3
#define EXIT_NOT_SYNCED   4

struct pl_manager {
    struct pl_manager_options o;
    struct pl_timers *timers;
    struct pl_controller **controllers; /* owned array of owned controllers */
    size_t count;
    size_t held;    /* holds of other work, which a stop waits for */
    size_t to_stop; /* while stopping: what the end waits for, see pl_manager_stop */
    bool started, stopping, ended;
    int exit_code;
    struct pl_timer cancel, grace;
};

void pl_manager_destroy(struct pl_manager *manager)
{
    if (manager == NULL)
        return;
    pl_timer_stop(manager->timers, &manager->cancel);
    pl_timer_stop(manager->timers, &manager->grace);
    pl_site_on_idle(pl_cluster_site(manager->o.cluster), NULL, NULL);
    for (size_t i = 0; i < manager->count; i++)
        pl_controller_destroy(manager->controllers[i]);
    pl_free(manager->controllers);
    pl_free(manager);
}

struct pl_cluster *pl_manager_cluster(const struct pl_manager *manager)
{
    return manager->o.cluster;
}

size_t pl_manager_count(const struct pl_manager *manager)
{
    return manager->count;
}

struct pl_controller *pl_manager_at(const struct pl_manager *manager, size_t i)
{
    return manager->controllers[i];
}

struct pl_controller *pl_manager_find(struct pl_manager *manager, struct pl_slice name)
{
    for (size_t i = 0; i < manager->count; i++)
        if (pl_slice_eqz(name, pl_controller_spec(manager->controllers[i])->name))
            return manager->controllers[i];
    return NULL;
}

/* ---- starting ---- */

/* No controller could start within its cache_sync_timeout: exit code 4. */
static void on_controller_change(void *arg, struct pl_controller *controller)
{
    struct pl_manager *manager = arg;
    PL_UNUSED(controller);
    if (manager->o.leadership != NULL)
        pl_leadership_check(manager->o.leadership);
    for (size_t i = 0; i < manager->count; i++)
        if (!pl_controller_sync_timed_out(manager->controllers[i]))
            return;
    if (manager->stopping)
        return;
    pl_log(PL_LOG_ERROR, "no controller could start within its cache_sync_timeout");
    manager->exit_code = EXIT_NOT_SYNCED;
    pl_manager_stop(manager);
}

/* Without leader election every replica leads. */
static void follow_lead(struct pl_manager *manager, struct pl_controller *controller)
{
    const struct pl_leadership *leadership = manager->o.leadership;
    pl_controller_set_may_run(controller, leadership == NULL ||
                                              !pl_controller_spec(controller)->leader_election ||
                                              pl_leadership_is_leading(leadership));
}

void pl_manager_add(struct pl_manager *manager, struct pl_controller *controller)
{
    PL_REQUIRE(!manager->stopping);
    manager->controllers =
        pl_reallocarray(manager->controllers, manager->count + 1, sizeof(struct pl_controller *));
    manager->controllers[manager->count++] = controller;
    pl_controller_on_change(controller, on_controller_change, manager);
    pl_controller_set_grace(controller, manager->o.grace_ns);
    follow_lead(manager, controller);
    if (manager->started)
        pl_controller_start(controller);
}

void pl_manager_start(struct pl_manager *manager)
{
    PL_REQUIRE(!manager->started);
    manager->started = true;
    for (size_t i = 0; i < manager->count; i++)
        pl_controller_start(manager->controllers[i]);
}

/* ---- another generation ---- */

static void on_manager_gone(void *arg, struct pl_controller *controller)
{
    struct pl_manager *manager = arg;
    size_t kept = 0;
    for (size_t i = 0; i < manager->count; i++)
        if (manager->controllers[i] != controller)
            manager->controllers[kept++] = manager->controllers[i];
    manager->count = kept;
    if (manager->o.gone != NULL)
        manager->o.gone(manager->o.arg, controller);
    pl_controller_destroy(controller);
    if (manager->o.leadership != NULL)
        /* a new campaign may have waited for the controller's last run */
        pl_leadership_check(manager->o.leadership);
}

static bool is_among(const struct pl_controller *controller, const struct pl_takeover *all,
                     size_t count)
{
    const char *name = pl_controller_spec(controller)->name;
    for (size_t i = 0; i < count; i++)
        if (strcmp(pl_edition_spec(all[i].edition)->name, name) == 0)
            return true;
    return false;
}

void pl_manager_switch(struct pl_manager *manager, const struct pl_takeover *all, size_t count)
{
    if (manager->stopping)
        return;
    for (size_t i = 0; i < manager->count; i++)
        if (!is_among(manager->controllers[i], all, count))
            pl_controller_retire(manager->controllers[i], on_manager_gone, manager);
    for (size_t i = 0; i < count; i++) {
        const char *name = pl_edition_spec(all[i].edition)->name;
        struct pl_controller *known = pl_manager_find(manager, pl_slice_z(name));
        if (known != NULL) {
            pl_controller_adopt(known, all[i].edition, all[i].changed);
            follow_lead(manager, known); /* the new edition may need the lead, or need it no more */
        } else {
            pl_manager_add(manager, pl_controller_create_with(all[i].edition));
        }
    }
}

bool pl_manager_is_stopping(const struct pl_manager *manager)
{
    return manager->stopping;
}

/* ---- stopping: controllers drain, informers end, then we are done ---- */

static void manager_tell_stopped(void *arg)
{
    struct pl_manager *manager = arg;
    manager->o.stopped(manager->o.arg, manager->exit_code);
}

/* The Lease is released last: another replica may write as soon as it has the Lease. */
static void manager_end(struct pl_manager *manager, bool release)
{
    if (manager->ended)
        return;
    manager->ended = true;
    pl_timer_stop(manager->timers, &manager->cancel);
    pl_timer_stop(manager->timers, &manager->grace);
    if (manager->o.leadership != NULL)
        pl_leadership_end(manager->o.leadership, release, manager_tell_stopped, manager);
    else
        manager_tell_stopped(manager);
}

static void on_manager_idle(void *arg)
{
    manager_end(arg, true);
}

/* Sources are released after the last run of all controllers, as any run may read them. */
static void on_controller_stopped(void *arg)
{
    struct pl_manager *manager = arg;
    if (--manager->to_stop > 0 || manager->ended)
        return;
    for (size_t i = 0; i < manager->count; i++)
        pl_controller_release_sources(manager->controllers[i]);
    /* Readers may hold references to informers. */
    pl_cluster_stop(manager->o.cluster);
    pl_site_on_idle(pl_cluster_site(manager->o.cluster), on_manager_idle, manager);
}

static void on_cancel(struct pl_timer *timer)
{
    struct pl_manager *manager = PL_CONTAINER_OF(timer, struct pl_manager, cancel);
    for (size_t i = 0; i < manager->count; i++)
        pl_controller_cancel_runs(manager->controllers[i]);
}

static void tell_unfinished(struct pl_manager *manager)
{
    size_t running = 0;
    for (size_t i = 0; i < manager->count; i++)
        running += pl_controller_in_flight(manager->controllers[i]);
    pl_log(PL_LOG_ERROR, "the grace period ran out", pl_int("running", (int64_t)running));
    manager->exit_code = manager->exit_code != 0 ? manager->exit_code : EXIT_MISTAKE;
}

/* The stop is clean when only informers have not ended: they lose nothing. */
static void on_grace_over(struct pl_timer *timer)
{
    struct pl_manager *manager = PL_CONTAINER_OF(timer, struct pl_manager, grace);
    pl_gate_close(pl_cluster_gate(manager->o.cluster), "stopping",
                  "the host is stopping and its grace period is over");
    if (manager->to_stop > 0)
        tell_unfinished(manager);
    manager_end(manager, true); /* the gate is closed for good, so all work has ended (rule 125) */
}

void pl_manager_hold(struct pl_manager *manager)
{
    PL_REQUIRE(!manager->stopping);
    manager->held++;
}

void pl_manager_release(struct pl_manager *manager)
{
    if (manager->stopping)
        on_controller_stopped(manager);
    else
        manager->held--;
}

/* A standby is kept from becoming leader before anything else. The timers run before the first
 * controller is told, since the end stops them. `to_stop` counts the controllers, the holds and
 * this call: so the end does not begin before every controller was told, although `stopping` may
 * release holds at once, and it begins also when there is neither a controller nor a hold. */
void pl_manager_stop(struct pl_manager *manager)
{
    if (manager->stopping)
        return;
    manager->stopping = true;
    if (manager->o.leadership != NULL)
        pl_leadership_stopping(manager->o.leadership);
    int64_t grace = manager->o.grace_ns;
    /* Half of a short grace is for runs, too. */
    int64_t left = grace > 2 * CANCEL_BEFORE_END ? CANCEL_BEFORE_END : grace / 2;
    pl_timer_start(manager->timers, &manager->cancel, grace - left, on_cancel);
    pl_timer_start(manager->timers, &manager->grace, grace, on_grace_over);
    manager->to_stop = manager->count + manager->held + 1;
    for (size_t i = 0; i < manager->count; i++)
        pl_controller_stop(manager->controllers[i], on_controller_stopped, manager);
    if (manager->o.stopping != NULL)
        manager->o.stopping(manager->o.arg);
    on_controller_stopped(manager);
}

/* ---- the lead ---- */

static bool may_campaign(void *arg)
{
    const struct pl_manager *manager = arg;
    bool ready = false;
    for (size_t i = 0; i < manager->count; i++) {
        const struct pl_controller *controller = manager->controllers[i];
        if (pl_controller_running_as_leader(controller) > 0)
            return false; /* runs of the lost lead have not ended, and may still write */
        ready = ready || (pl_controller_spec(controller)->leader_election &&
                          pl_controller_is_standing_by(controller));
    }
    return ready;
}

static void set_leading(void *arg, bool leading)
{
    struct pl_manager *manager = arg;
    for (size_t i = 0; i < manager->count; i++) {
        struct pl_controller *controller = manager->controllers[i];
        if (pl_controller_spec(controller)->leader_election)
            pl_controller_set_may_run(controller, leading);
        else if (!leading)
            pl_controller_lead_lost(controller);
    }
}

static void manager_lose(void *arg)
{
    struct pl_manager *manager = arg;
    if (manager->ended)
        return;
    pl_log(PL_LOG_ERROR, "ending at once: leader-only work must not continue");
    pl_gate_close(pl_cluster_gate(manager->o.cluster), "leader", "the lead was lost");
    manager->stopping = true;
    manager->exit_code = EXIT_LEAD_LOST;
    manager_end(manager, false);
}

static void manager_fail(void *arg, int exit_code)
{
    struct pl_manager *manager = arg;
    if (manager->stopping)
        return;
    manager->exit_code = exit_code;
    pl_manager_stop(manager);
}

static const struct pl_led_ops led_ops = {may_campaign, set_leading, manager_lose, manager_fail};

struct pl_manager *pl_manager_create(const struct pl_manager_options *options)
{
    struct pl_manager *manager = PL_NEW(struct pl_manager);
    manager->o = *options;
    manager->timers = pl_site_timers(pl_cluster_site(options->cluster));
    if (options->leadership != NULL)
        pl_leadership_bind(options->leadership, &led_ops, manager);
    return manager;
}

bool pl_manager_is_clean(const struct pl_manager *manager)
{
    for (size_t i = 0; i < manager->count; i++)
        if (!pl_controller_is_quiet(manager->controllers[i]))
            return false;
    return pl_site_is_idle(pl_cluster_site(manager->o.cluster));
}

struct pl_leadership *pl_manager_leadership(const struct pl_manager *manager)
{
    return manager->o.leadership;
}
