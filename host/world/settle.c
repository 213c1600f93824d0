/* A world is settled when no work continues by itself and nothing is due within the limit. Keys
 * that always request another run, and tasks that sleep in a loop, are settled when they were
 * waited for once and have changed nothing: `keys` has the cluster's version at the last wait of
 * each key, and of each place where a task sleeps. Retries after a failure are always waited for,
 * unless their number is limited. When a disturbance has killed the last host, others still have
 * work to do: it is for the caller to start a host meanwhile. */
#include "world/world_impl.h"

#include "base/alloc.h"

#define STEPS 20000000 /* limit of steps in one call */

/* Does all work that is possible without moving the clock. Fails at the second reconcile of a key
 * that has reached its limit, not at the first: of two keys that take turns, both have reached it
 * then, so the error always names both in the same order. */
static int drain(struct pl_world *world, struct pl_err *err)
{
    for (int i = 0; i < STEPS; i++) {
        if (world->refused)
            return pl_world_refusal(world, err);
        if (pl_world_exhausted(world, err) != 0)
            return err->code;
        if (world->reconciles >= world->most || world->too_many > 1)
            return pl_rounds_fail(&world->keys, world->reconciles, err);
        if (!pl_world_step_now(world))
            return 0;
    }
    return pl_err_set(
        err, PL_ELIMIT,
        "it does not settle: work goes on without end while no time passes, and no reconcile ends");
}

static const char *busy_with(struct pl_world *world)
{
    bool led = false, waits = false;
    PL_LIST_FOR (link, &world->hosts) {
        struct pl_replica *replica = PL_CONTAINER_OF(link, struct host, link)->replica;
        const char *what = pl_replica_busy_with(replica);
        if (what != NULL)
            return what;
        led = led || pl_replica_leads(replica);
        waits = waits || pl_replica_stands_by(replica);
    }
    return waits && !led ? "the election of a leader" : NULL;
}

/* The first thing to wait for. */
struct wanted {
    struct pl_world *world;
    const char *host;
    int64_t due_ns; /* INT64_MAX: nothing */
    int64_t delay_ns;
    char *what; /* owned */
    bool fails; /* it is a retry, which is not a round of waiting */
};

static bool need_not_wait(struct pl_world *world, const char *what,
                          const struct pl_replica_due *due)
{
    const struct pl_round *round = pl_rounds_of(&world->keys, what);
    uint64_t version = pl_world_changes(world);
    if (due->fails)
        return world->most_retries > 0 &&
               pl_round_only_retries(round, version, world->most_retries);
    return pl_round_is_over(round, version, due->delay_ns);
}

static void see_due(void *arg, const struct pl_replica_due *due)
{
    struct wanted *wanted = arg;
    struct pl_world *world = wanted->world;
    if (due->due_ns >= wanted->due_ns)
        return;
    char *what = pl_format("%s %s", wanted->host, due->what);
    if (need_not_wait(world, what, due)) {
        pl_free(what);
        return;
    }
    pl_free(wanted->what);
    wanted->what = what;
    wanted->due_ns = due->due_ns;
    wanted->delay_ns = due->delay_ns;
    wanted->fails = due->fails;
}

static void see_earlier(struct wanted *wanted, const char *what, int64_t due_ns)
{
    if (due_ns >= wanted->due_ns)
        return;
    pl_free(wanted->what);
    wanted->what = pl_strdup(what);
    wanted->due_ns = due_ns;
    wanted->delay_ns = 0;
    wanted->fails = false;
}

static struct wanted next_wanted(struct pl_world *world)
{
    struct wanted wanted = {.world = world, .due_ns = INT64_MAX};
    PL_LIST_FOR (link, &world->hosts) {
        struct pl_replica *replica = PL_CONTAINER_OF(link, struct host, link)->replica;
        wanted.host = pl_replica_name(replica);
        pl_replica_each_due(replica, see_due, &wanted);
    }
    see_earlier(&wanted, "an alarm", pl_alarms_next(&world->alarms));
    see_earlier(&wanted, "the API server", pl_api_due(world->api));
    return wanted;
}

int pl_world_settle(struct pl_world *world, int64_t limit_ns, struct pl_err *err)
{
    int64_t end = limit_ns > INT64_MAX - world->now_ns ? INT64_MAX : world->now_ns + limit_ns;
    unsigned crashes = world->crashes;
    pl_world_forget_runs(world);
    for (;;) {
        int rc = drain(world, err);
        if (rc != 0)
            return rc;
        if (world->crashes != crashes && pl_list_empty(&world->hosts))
            return 0;
        int64_t timer;
        bool some = pl_world_next_timer(world, &timer);
        const char *busy = busy_with(world);
        if (busy != NULL) {
            if (!some || timer > end)
                return pl_err_set(err, PL_ETIMEOUT, "it has not settled within %g s: %s",
                                  (double)limit_ns / 1e9, busy);
            pl_world_move_to(world, timer);
            continue;
        }
        struct wanted wanted = next_wanted(world);
        if (wanted.what == NULL || wanted.due_ns > end) {
            pl_free(wanted.what);
            return 0;
        }
        if (timer >= wanted.due_ns && !wanted.fails)
            pl_round_wait(pl_rounds_of(&world->keys, wanted.what), pl_world_changes(world),
                          wanted.delay_ns);
        pl_world_move_to(world, timer < wanted.due_ns ? timer : wanted.due_ns);
        pl_free(wanted.what);
    }
}

int pl_world_advance(struct pl_world *world, int64_t ns, bool until_crash, struct pl_err *err)
{
    int64_t end = ns > INT64_MAX - world->now_ns ? INT64_MAX : world->now_ns + ns, timer;
    unsigned crashes = world->crashes;
    for (;;) {
        pl_world_forget_runs(world);
        int rc = drain(world, err);
        if (rc != 0)
            return rc;
        if (until_crash && world->crashes != crashes)
            return 0;
        if (!pl_world_next_timer(world, &timer) || timer > end)
            break;
        pl_world_move_to(world, timer);
    }
    pl_world_move_to(world, end);
    return 0;
}

static void see_failing(void *arg, const struct pl_replica_due *due)
{
    struct pl_buf *why = arg;
    if (due->fails)
        pl_buf_add_f(why, "%s%s is tried again", why->len > 0 ? "; " : "", due->what);
}

bool pl_world_is_settled(struct pl_world *world, struct pl_buf *why)
{
    size_t before = why->len;
    const char *busy = busy_with(world);
    if (busy != NULL)
        pl_buf_add_z(why, busy);
    PL_LIST_FOR (link, &world->hosts) {
        pl_replica_each_due(PL_CONTAINER_OF(link, struct host, link)->replica, see_failing, why);
    }
    return why->len == before;
}
