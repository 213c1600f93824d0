/* Three replicas on one simulated server, for ten thousand minutes of virtual time. Clocks run at
 * different rates; wall clocks are hours apart or stand still. Requests and answers are late, lost,
 * or carried out after everybody has given up. There are partitions, a failing server, frozen
 * processes, sleeping machines and restarts, and watches that end, stall or lag.
 *
 * Two replicas must never be allowed to write at the same time. may_write is asked of every
 * replica, frozen or not, after each event. It can become true only then, so no moment is missed.
 *
 * The same for a thousand replicas (F31), for a shorter time.
 *
 * PL_ELECTION_SEED and PL_ELECTION_MINUTES choose another run. */
#include "lead/election.h"

#include "simulated_world.h"

#define MINUTES 10000
/* Below the permitted ratio, lease duration / renew deadline = 1.5, between any two. */
#define SLOWEST 0.83
#define FASTEST 1.22

/* ---- replicas ---- */

static void create_election(struct replica *r);

static void on_started(void *arg)
{
    ((struct replica *)arg)->world->leads++;
}

static void on_closed(void *arg)
{
    ((struct replica *)arg)->world->closings++;
}

static void on_reopened(void *arg)
{
    ((struct replica *)arg)->world->reopenings++;
}

/* Some of them restart in the same process, as --on-lost-lease standby does. */
static void on_stopped(void *arg)
{
    struct replica *r = arg;
    r->stopping = false;
    if (r->world->ending)
        r->back_at_ns = INT64_MAX;
    else if (happens(r->world, 0.5)) {
        pl_election_campaign(r->election);
    } else {
        r->world->restarts++;
        r->back_at_ns = r->world->now_ns + some_time(r->world, 20 * S);
    }
}

static void stop(struct replica *r, bool release)
{
    r->stopping = true;
    r->world->releases += release;
    pl_election_stop(r->election, release, on_stopped, r);
}

static void on_lost(void *arg, const char *why)
{
    struct replica *r = arg;
    PL_UNUSED(why);
    r->world->losses++;
    if (happens(r->world, 0.5))
        pl_election_campaign(r->election);
    else
        stop(r, happens(r->world, 0.5));
}

static const struct pl_election_ops election_ops = {on_started, on_closed, on_reopened, on_lost,
                                                    NULL};

static void create_election(struct replica *r)
{
    pl_election_identity(&r->rand, "host", r->identity);
    struct pl_election_options options = {
        .lock = {&lock_ops, r},
        .timers = &r->timers,
        .clock = &r->clock,
        .rand = &r->rand,
        .waits = &r->waits,
        .owner = "simulated",
        .identity = r->identity,
        /* Leases have different durations: the duration in the record counts. */
        .lease_duration_ns = (15 + 5 * (r->number % 3)) * S,
        .renew_deadline_ns = (10 + 3 * (r->number % 3)) * S,
        .retry_period_ns = 2 * S,
        .release_on_exit = true,
        .health_tolerance_ns = PL_ELECTION_TOLERANCE,
        .ops = &election_ops,
        .arg = r,
    };
    REQUIRE(pl_election_check(&options, NULL) == 0);
    r->election = pl_election_create(&options);
    pl_election_campaign(r->election);
}

static void come_back(struct replica *r)
{
    r->back_at_ns = 0;
    pl_election_destroy(r->election);
    create_election(r);
}

static void init_replica(struct world *world, int number)
{
    struct replica *r = &world->replicas[number];
    r->world = world;
    r->number = number;
    r->clock = (struct pl_clock){read_mono, read_boot, read_wall, r};
    r->boot_then_ns = (int64_t)(chance(world) * 1e15);
    r->rate = SLOWEST + (FASTEST - SLOWEST) * chance(world);
    r->wall_offset_ns = (int64_t)((chance(world) - 0.5) * 7200e9);
    pl_timers_init(&r->timers, &r->clock);
    pl_waits_init(&r->waits, &r->clock);
    pl_rand_seed(&r->rand, pl_rand_u64(&world->rand));
    create_election(r);
}

/* ---- chaos ---- */

static void wake_up(struct replica *r)
{
    if (r->sleeping) {
        r->asleep_ns += boot_of(r) - r->froze_at_ns;
        r->sleeping = false;
    }
    r->frozen_until_ns = 0;
}

static void freeze(struct replica *r)
{
    if (is_frozen(r))
        return;
    r->frozen_until_ns = r->world->now_ns + some_time(r->world, 30 * S);
    r->froze_at_ns = boot_of(r);
    r->sleeping = happens(r->world, 0.5);
}

static void change_wall(struct replica *r)
{
    double u = chance(r->world);
    if (r->wall_stopped_ns != 0)
        r->wall_stopped_ns = 0;
    else if (u < 0.3)
        r->wall_stopped_ns = read_wall(r);
    else
        r->wall_offset_ns += (int64_t)((u - 0.65) * 7200e9);
}

/* With many replicas, mostly the leader. */
static struct replica *victim(struct world *world)
{
    if (world->count > 3 && world->writer >= 0 && happens(world, 0.6))
        return &world->replicas[world->writer];
    return &world->replicas[pl_rand_u64(&world->rand) % (uint64_t)world->count];
}

static struct replica *make_trouble(struct world *world)
{
    struct replica *r = victim(world);
    int64_t now = world->now_ns;
    world->chaos_at_ns = now + some_time(world, 40 * S);
    switch (pl_rand_u64(&world->rand) % 8) {
    case 0:
    case 1:
        freeze(r);
        break;
    case 2:
        r->cut_until_ns = now + some_time(world, 60 * S);
        break;
    case 3:
        world->ailing_until_ns = now + some_time(world, 30 * S);
        break;
    case 4:
        world->deaf_until_ns = now + some_time(world, 20 * S);
        break;
    case 5:
        set_rate(r, SLOWEST + (FASTEST - SLOWEST) * chance(world));
        break;
    case 6:
        change_wall(r);
        break;
    default:
        if (!r->stopping && r->back_at_ns == 0 && !is_frozen(r))
            stop(r, happens(world, 0.7));
    }
    return r;
}

/* ---- the run ---- */

/* The time of the replica's next timer, on our clock; the timers of a frozen replica wait. */
static void plan(struct replica *r)
{
    int64_t due, next = INT64_MAX;
    if (r->frozen_until_ns != 0)
        next = r->frozen_until_ns;
    else if (r->back_at_ns != 0)
        next = r->back_at_ns;
    if (!is_frozen(r) && pl_timers_next(&r->timers, &due)) {
        int64_t left = due - read_mono(r);
        int64_t at = r->world->now_ns + (left > 0 ? (int64_t)((double)left / r->rate) + 1 : 0);
        next = at < next ? at : next;
    }
    r->next_ns = next;
}

/* Only the replica that has just acted may have become allowed to write. */
static void check(struct world *world, const struct replica *actor)
{
    if (!pl_election_may_write(actor->election)) {
        if (world->writer == actor->number)
            world->writer = -1;
        return;
    }
    int writers = 0;
    for (int i = 0; i < world->count; i++)
        writers += pl_election_may_write(world->replicas[i].election);
    if (writers > 1 && world->violations++ < 3)
        TEST_FAIL("seed %" PRIu64 ": %d may write at once, %.6f s into the run", world->seed,
                  writers, (double)world->now_ns / 1e9);
    world->writer = actor->number;
}

/* A frozen replica receives nothing: messages wait for it. */
static bool postpone(struct message *message)
{
    const struct replica *r = message->replica;
    if (message->type == REQUEST || !is_frozen(r))
        return false;
    message->at_ns = r->frozen_until_ns;
    message->order = r->world->order++;
    pl_heap_push(&r->world->messages, &message->node);
    return true;
}

static struct replica *act(struct world *world, struct replica *r)
{
    if (r->frozen_until_ns != 0 && r->frozen_until_ns <= world->now_ns)
        wake_up(r);
    else if (r->back_at_ns != 0 && r->back_at_ns <= world->now_ns)
        come_back(r);
    else
        pl_timers_run(&r->timers);
    return r;
}

static struct replica *receive(struct world *world, struct message *message)
{
    struct replica *r = message->replica;
    pl_heap_pop(&world->messages);
    if (!postpone(message)) {
        arrive(world, message);
        pl_free(message);
    }
    return r;
}

static void move_to(struct world *world, int64_t at_ns)
{
    if (at_ns <= world->now_ns)
        return;
    if (world->writer >= 0)
        world->written_ns += at_ns - world->now_ns; /* at most */
    world->now_ns = at_ns;
}

/* True while there is something before the end. */
static bool step(struct world *world, int64_t end_ns)
{
    struct replica *first = &world->replicas[0];
    for (int i = 1; i < world->count; i++)
        if (world->replicas[i].next_ns < first->next_ns)
            first = &world->replicas[i];
    struct pl_heap_node *node = pl_heap_peek(&world->messages);
    struct message *message = node != NULL ? PL_CONTAINER_OF(node, struct message, node) : NULL;
    bool chaos = world->chaos_at_ns < first->next_ns;
    int64_t best = chaos ? world->chaos_at_ns : first->next_ns;
    bool arrives = message != NULL && message->at_ns <= best;
    if (arrives)
        best = message->at_ns;
    if (best >= end_ns)
        return false;
    move_to(world, best);
    struct replica *actor = arrives ? receive(world, message)
                            : chaos ? make_trouble(world)
                                    : act(world, first);
    plan(actor);
    check(world, actor);
    return true;
}

static bool stop_all(struct world *world)
{
    bool busy = false;
    for (int i = 0; i < world->count; i++) {
        struct replica *r = &world->replicas[i];
        if (r->back_at_ns == 0 && !r->stopping)
            stop(r, false);
        else if (r->back_at_ns != 0)
            r->back_at_ns = INT64_MAX;
        plan(r);
        busy |= r->stopping;
    }
    return busy;
}

static void end_world(struct world *world)
{
    struct pl_heap_node *node;
    world->chaos_at_ns = INT64_MAX;
    for (int i = 0; i < world->count; i++)
        wake_up(&world->replicas[i]);
    world->ending = true;
    while (stop_all(world) && step(world, INT64_MAX))
        ;
    while ((node = pl_heap_pop(&world->messages)) != NULL)
        pl_free(PL_CONTAINER_OF(node, struct message, node));
    pl_heap_deinit(&world->messages);
    for (int i = 0; i < world->count; i++) {
        struct replica *r = &world->replicas[i];
        pl_election_destroy(r->election);
        CHECK_INT(r->waits.count, 0);
        CHECK_INT(r->timers.heap.count, 0);
        pl_waits_deinit(&r->waits);
        pl_timers_deinit(&r->timers);
    }
    pl_free(world->replicas);
}

static int64_t number_of(const char *variable, int64_t otherwise)
{
    const char *text = getenv(variable);
    return text != NULL ? strtoll(text, NULL, 10) : otherwise;
}

static void begin_world(struct world *world, int count)
{
    struct pl_rand rand;
    *world = (struct world){.writer = -1, .count = count};
    if (getenv("TEST_LOG") == NULL)
        pl_log_configure(PL_LOG_ERROR + 1, false, 2);
    pl_rand_init(&rand);
    world->seed = (uint64_t)number_of("PL_ELECTION_SEED", (int64_t)(pl_rand_u64(&rand) >> 24));
    printf("%d replicas, seed %" PRIu64 " (PL_ELECTION_SEED)\n", count, world->seed);
    fflush(stdout);
    pl_rand_seed(&world->rand, world->seed);
    pl_heap_init(&world->messages, comes_before);
    world->replicas = pl_calloc((size_t)count, sizeof(struct replica));
    for (int i = 0; i < world->count; i++)
        init_replica(world, i);
    for (int i = 0; i < world->count; i++)
        plan(&world->replicas[i]);
}

static void run_world(struct world *world, int64_t minutes)
{
    int64_t end = minutes * 60 * S, events = 0;
    while (step(world, end))
        events++;
    printf("%" PRId64 " minutes, %" PRId64 " events, %" PRId64 " leads, %" PRId64 " lost, %" PRId64
           " closed, %" PRId64 " reopened, %" PRId64 " stops with release, %" PRId64
           " restarts; somebody led for %.1f %% of the time\n",
           minutes, events, world->leads, world->losses, world->closings, world->reopenings,
           world->releases, world->restarts, 100.0 * (double)world->written_ns / (double)end);
    CHECK_INT(world->violations, 0);
}

TEST(never_may_two_write_at_once)
{
    struct world world;
    int64_t minutes = number_of("PL_ELECTION_MINUTES", MINUTES);
    begin_world(&world, 3);
    run_world(&world, minutes);
    /* The run must have had several leads. */
    CHECK(world.leads > minutes / 20 && world.losses > minutes / 100);
    CHECK(world.closings > minutes / 100 && world.reopenings >= minutes / 1000);
    CHECK(world.written_ns > minutes * 60 * S / 4);
    end_world(&world);
}

TEST(nor_may_two_of_a_thousand)
{
    struct world world;
    begin_world(&world, 1000);
    /* In ten minutes one replica may have led all the time, or there may have been no leader for
     * most of it. */
    for (int64_t minutes = 10; minutes <= 200 && world.leads < 3; minutes += 10)
        run_world(&world, minutes);
    CHECK(world.leads >= 3);
    end_world(&world);
}

TEST_MAIN()
