/* The parts that all users of one API server share, and a counter of work under way. A site knows
 * none of its users: informers, reads and writes hold and release it. */
#include "sync/site.h"

#include "base/alloc.h"
#include "base/check.h"

struct pl_site {
    struct pl_site_options o;
    struct pl_discovery *discovery;   /* owned */
    struct pl_reconnects *reconnects; /* owned */
    bool filters_uids;
    size_t held; /* informers, reads and writes that have not ended */
    void (*on_idle)(void *arg);
    void *on_idle_arg;
    struct pl_timer idle;
};

struct pl_site *pl_site_create(const struct pl_site_options *options)
{
    struct pl_site *site = PL_NEW(struct pl_site);
    site->o = *options;
    site->discovery = pl_discovery_create(options->client);
    site->reconnects = pl_reconnects_create(options->timers, options->rand);
    return site;
}

void pl_site_destroy(struct pl_site *site)
{
    if (site == NULL)
        return;
    PL_REQUIRE(site->held == 0);
    pl_timer_stop(site->o.timers, &site->idle);
    pl_reconnects_destroy(site->reconnects);
    pl_discovery_destroy(site->discovery);
    pl_free(site);
}

/* ---- idle ---- */

bool pl_site_is_idle(const struct pl_site *site)
{
    return site->held == 0;
}

static void tell_idle(struct pl_timer *timer)
{
    struct pl_site *site = PL_CONTAINER_OF(timer, struct pl_site, idle);
    void (*call)(void *arg) = site->on_idle;
    if (site->held > 0 || call == NULL)
        return;
    site->on_idle = NULL;
    call(site->on_idle_arg);
}

static void check_idle(struct pl_site *site)
{
    if (site->held == 0 && site->on_idle != NULL)
        pl_timer_start(site->o.timers, &site->idle, 0, tell_idle);
}

void pl_site_on_idle(struct pl_site *site, void (*call)(void *arg), void *arg)
{
    PL_REQUIRE(call == NULL || site->on_idle == NULL);
    site->on_idle = call;
    site->on_idle_arg = arg;
    check_idle(site);
}

void pl_site_hold(struct pl_site *site)
{
    site->held++;
    if (site->o.parent != NULL)
        pl_site_hold(site->o.parent);
}

void pl_site_release(struct pl_site *site)
{
    PL_REQUIRE(site->held > 0);
    site->held--;
    check_idle(site);
    if (site->o.parent != NULL)
        pl_site_release(site->o.parent);
}

const char *pl_site_name(const struct pl_site *site)
{
    return site->o.name;
}

/* ---- its parts ---- */

struct pl_client *pl_site_client(const struct pl_site *site)
{
    return site->o.client;
}

struct pl_discovery *pl_site_discovery(const struct pl_site *site)
{
    return site->discovery;
}

struct pl_timers *pl_site_timers(const struct pl_site *site)
{
    return site->o.timers;
}

struct pl_rand *pl_site_rand(const struct pl_site *site)
{
    return site->o.rand;
}

struct pl_waits *pl_site_waits(const struct pl_site *site)
{
    return site->o.waits;
}

struct pl_pool *pl_site_pool(const struct pl_site *site)
{
    return site->o.pool;
}

struct pl_metrics *pl_site_metrics(const struct pl_site *site)
{
    return site->o.metrics;
}

struct pl_reconnects *pl_site_reconnects(const struct pl_site *site)
{
    return site->reconnects;
}

bool pl_site_streams_lists(const struct pl_site *site)
{
    return site->o.stream_lists;
}

struct pl_shards *pl_site_shards(const struct pl_site *site)
{
    return site->o.shards;
}

bool pl_site_filters_uids(const struct pl_site *site)
{
    return site->filters_uids;
}

void pl_site_set_filters_uids(struct pl_site *site, bool filters)
{
    site->filters_uids = filters;
}

void pl_site_defer(struct pl_site *site, struct pl_task *task, void (*run)(struct pl_task *task))
{
    site->o.defer(site->o.defer_arg, task, run);
}

int pl_site_time_left(const struct pl_site *site, int64_t deadline_ns, int64_t *left_ns,
                      struct pl_err *err)
{
    *left_ns = 0;
    if (deadline_ns == 0)
        return 0;
    *left_ns = deadline_ns - pl_clock_mono(pl_site_timers(site)->clock);
    if (*left_ns <= 0)
        return pl_err_set(err, PL_ETIMEOUT, "the deadline has passed");
    return 0;
}

void pl_site_say(struct pl_site *site, const char *reason, const char *note)
{
    if (site->o.say != NULL)
        site->o.say(site->o.say_arg, reason, note);
}
