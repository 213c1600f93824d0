/* An election on a lock and clocks that the test controls. */
#pragma once

#include "base/log.h"
#include "lead/election.h"
#include "fake_lock.h"

#define S     PL_SECOND
#define OTHER "other"

/* Three separate clocks: only the boot clock counts suspended time. */
struct clocks {
    struct pl_clock clock;
    int64_t mono_ns, boot_ns, wall_ns;
};

struct bed {
    struct clocks clocks;
    struct pl_timers timers;
    struct pl_rand rand;
    struct pl_waits waits;
    struct lease_server server;
    struct fake_lock lock;
    struct pl_election *election;
    bool serving; /* requests are answered at once */
    /* The callbacks so far. */
    int started, closed, reopened, lost, stopped, leaders;
    char why[400], leader[PL_LEASE_HOLDER];
    bool campaign_when_lost;
};

static inline int64_t read_mono(void *arg)
{
    return ((struct clocks *)arg)->mono_ns;
}

static inline int64_t read_boot(void *arg)
{
    return ((struct clocks *)arg)->boot_ns;
}

static inline int64_t read_wall(void *arg)
{
    return ((struct clocks *)arg)->wall_ns;
}

static inline void on_started(void *arg)
{
    struct bed *bed = arg;
    bed->started++;
    CHECK(pl_election_may_write(bed->election));
}

static inline void on_closed(void *arg)
{
    struct bed *bed = arg;
    bed->closed++;
    CHECK(!pl_election_may_write(bed->election));
    CHECK(pl_election_is_leading(bed->election));
}

static inline void on_reopened(void *arg)
{
    struct bed *bed = arg;
    bed->reopened++;
    CHECK(pl_election_may_write(bed->election));
}

static inline void on_lost(void *arg, const char *why)
{
    struct bed *bed = arg;
    bed->lost++;
    snprintf(bed->why, sizeof bed->why, "%s", why);
    CHECK(!pl_election_may_write(bed->election));
    CHECK(!pl_election_is_leading(bed->election));
    if (bed->campaign_when_lost)
        pl_election_campaign(bed->election);
}

static inline void on_leader(void *arg, const char *identity)
{
    struct bed *bed = arg;
    bed->leaders++;
    snprintf(bed->leader, sizeof bed->leader, "%s", identity);
}

static inline void on_stopped(void *arg)
{
    ((struct bed *)arg)->stopped++;
}

static const struct pl_election_ops ops = {on_started, on_closed, on_reopened, on_lost, on_leader};

static inline struct pl_election_options options_of(struct bed *bed)
{
    return (struct pl_election_options){
        .lock = fake_lock(&bed->lock),
        .timers = &bed->timers,
        .clock = &bed->clocks.clock,
        .rand = &bed->rand,
        .waits = &bed->waits,
        .owner = "kube-system/perilune-test",
        .identity = "me",
        .lease_duration_ns = 15 * S,
        .renew_deadline_ns = 10 * S,
        .retry_period_ns = 2 * S,
        .release_on_exit = true,
        .health_tolerance_ns = PL_ELECTION_TOLERANCE,
        .ops = &ops,
        .arg = bed,
    };
}

static inline void bed_init(struct bed *bed, bool watches)
{
    *bed = (struct bed){0};
    if (getenv("TEST_LOG") == NULL)
        pl_log_configure(PL_LOG_ERROR + 1, false, 2);
    bed->clocks = (struct clocks){
        {read_mono, read_boot, read_wall, &bed->clocks}, 1000 * S, 5000 * S, 1700000000 * S};
    pl_timers_init(&bed->timers, &bed->clocks.clock);
    pl_rand_seed(&bed->rand, 11);
    pl_waits_init(&bed->waits, &bed->clocks.clock);
    bed->lock =
        (struct fake_lock){.server = &bed->server, .timers = &bed->timers, .no_watch = !watches};
    struct pl_election_options options = options_of(bed);
    bed->election = pl_election_create(&options);
}

static inline void run(struct bed *bed)
{
    int64_t due;
    for (int turns = 0;; turns++) {
        REQUIRE(turns < 1000); /* a loop that never rests */
        if (pl_timers_next(&bed->timers, &due) && due <= bed->clocks.mono_ns)
            pl_timers_run(&bed->timers);
        else if (bed->serving && bed->lock.waiting)
            fake_lock_answer(&bed->lock);
        else
            return;
    }
}

static inline void move(struct bed *bed, int64_t ns)
{
    bed->clocks.mono_ns += ns;
    bed->clocks.boot_ns += ns;
    bed->clocks.wall_ns += ns;
}

static inline void pass(struct bed *bed, int64_t ns)
{
    int64_t until = bed->clocks.mono_ns + ns, due;
    run(bed);
    while (pl_timers_next(&bed->timers, &due) && due <= until) {
        move(bed, due - bed->clocks.mono_ns);
        run(bed);
    }
    move(bed, until - bed->clocks.mono_ns);
    run(bed);
}

/* The machine sleeps, or the process is frozen: no timer runs. */
static inline void suspend(struct bed *bed, int64_t ns)
{
    bed->clocks.boot_ns += ns;
    bed->clocks.wall_ns += ns;
}

static inline void bed_deinit(struct bed *bed)
{
    bed->serving = true;
    int before = bed->stopped;
    pl_election_stop(bed->election, false, on_stopped, bed);
    run(bed);
    CHECK_INT(bed->stopped, before + 1);
    CHECK(!bed->lock.waiting && !bed->lock.watching);
    pl_election_destroy(bed->election);
    CHECK_INT(bed->waits.count, 0);
    CHECK_INT(bed->timers.heap.count, 0);
    pl_waits_deinit(&bed->waits);
    pl_timers_deinit(&bed->timers);
}

static inline void step(struct bed *bed, enum pl_lease_verb verb)
{
    run(bed);
    fake_lock_expect(&bed->lock, verb);
    fake_lock_answer(&bed->lock);
}

/* Leads since now, the first renewal made. */
static inline void become_leader(struct bed *bed)
{
    bool serving = bed->serving;
    bed->serving = true;
    pl_election_campaign(bed->election);
    run(bed);
    REQUIRE(pl_election_is_leading(bed->election));
    bed->serving = serving;
}

static inline struct pl_lease_record held_by(const struct bed *bed, const char *holder)
{
    struct pl_lease_record record = {
        .duration_s = 15,
        .acquire_us = bed->clocks.wall_ns / 1000,
        .renew_us = bed->clocks.wall_ns / 1000,
        .transitions = 4,
    };
    snprintf(record.holder, sizeof record.holder, "%s", holder);
    return record;
}

static inline void others_hold(struct bed *bed, const char *holder)
{
    struct pl_lease_record record = held_by(bed, holder);
    fake_lock_others_write(&bed->lock, &record);
}
