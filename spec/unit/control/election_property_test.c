/* Three replicas on one simulated server, for ten thousand minutes of virtual time: clocks that
 * run at different rates, wall clocks hours apart or standing still, requests and answers that
 * are late, lost or carried out after everybody has given up, partitions, an ailing server,
 * frozen processes and sleeping machines, restarts, watches that end, lie still or come late.
 *
 * Never may two write at once: may_write is asked of everybody after each thing that happened,
 * frozen or not. It can become true only then, so that no instant is missed.
 *
 * PL_ELECTION_SEED and PL_ELECTION_MINUTES choose another run. */
#include "base/alloc.h"
#include "base/log.h"
#include "control/election.h"
#include "fake_lock.h"

#include <inttypes.h>

#define S        PL_SECOND
#define REPLICAS 3
#define MINUTES  10000
/* Below the permitted ratio, lease duration / renew deadline = 1.5, between any two. */
#define SLOWEST 0.83
#define FASTEST 1.22

struct world;

struct replica {
    struct world *world;
    int number;
    struct pl_clock clock;
    double rate; /* its seconds in one of ours */
    int64_t rate_since_ns, boot_then_ns;
    int64_t asleep_ns;                       /* of its boot time: not in mono */
    int64_t wall_offset_ns, wall_stopped_ns; /* wall_stopped 0: it runs */
    int64_t frozen_until_ns;
    bool sleeping;        /* while frozen, mono stands still */
    int64_t froze_at_ns;  /* its boot */
    int64_t cut_until_ns; /* no packet gets through */
    struct pl_timers timers;
    struct pl_rand rand;
    struct pl_waits waits;
    struct pl_election *election;
    bool stopping;
    char identity[PL_LEASE_HOLDER];
    int64_t back_at_ns; /* stopped until then; 0: runs */
    /* Its lock. */
    bool busy, watching, watch_open;
    uint64_t request; /* the number of the one under way, so that late answers are told apart */
    uint64_t stream;
    pl_lease_answer_fn on_answer;
    void *answer_arg;
    const struct pl_lease_watch_ops *watch_ops;
    void *watch_arg;
    int64_t known;
};

enum message_type {
    REQUEST, /* arrives at the server */
    ANSWER,  /* arrives at the replica */
    GIVE_UP, /* its request has timed out */
    OPENED,  /* the watch */
    CHANGED, /* the watch */
    ENDED,   /* the watch */
};

struct message {
    struct pl_heap_node node;
    int64_t at_ns;
    uint64_t order;
    enum message_type type;
    struct replica *replica;
    uint64_t number; /* request or stream */
    enum pl_lease_verb verb;
    struct pl_lease_record record;
    bool exists;
    int64_t known;
    int code, status; /* of an answer */
};

struct world {
    struct pl_rand rand;
    uint64_t seed;
    int64_t now_ns;
    struct pl_heap messages;
    uint64_t order, numbers;
    struct lease_server server;
    struct replica replicas[REPLICAS];
    int64_t chaos_at_ns;
    int64_t ailing_until_ns; /* the server answers 500, or nothing */
    int64_t deaf_until_ns;
    /* What was seen. */
    int64_t leads, losses, closings, reopenings, renewals, restarts, releases;
    int64_t written_ns; /* for how long somebody may have written */
    int writer;         /* the replica that may, or -1 */
    int violations;
};

/* ---- chance ---- */

static double chance(struct world *world)
{
    return pl_rand_unit(&world->rand);
}

static bool happens(struct world *world, double probability)
{
    return chance(world) < probability;
}

/* Mostly short, sometimes very long. */
static int64_t some_time(struct world *world, int64_t scale_ns)
{
    double u = chance(world), tail = happens(world, 0.05) ? 20 : 1;
    return (int64_t)((double)scale_ns * u * u * tail) + 1;
}

/* ---- clocks ---- */

static int64_t boot_of(const struct replica *r)
{
    int64_t passed = r->world->now_ns - r->rate_since_ns;
    return r->boot_then_ns + (int64_t)((double)passed * r->rate);
}

static int64_t read_boot(void *arg)
{
    return boot_of(arg);
}

static int64_t read_mono(void *arg)
{
    const struct replica *r = arg;
    return (r->sleeping ? r->froze_at_ns : boot_of(r)) - r->asleep_ns;
}

static int64_t read_wall(void *arg)
{
    const struct replica *r = arg;
    if (r->wall_stopped_ns != 0)
        return r->wall_stopped_ns;
    return boot_of(r) + r->wall_offset_ns;
}

static void set_rate(struct replica *r, double rate)
{
    r->boot_then_ns = boot_of(r);
    r->rate_since_ns = r->world->now_ns;
    r->rate = rate;
}

static bool is_frozen(const struct replica *r)
{
    return r->frozen_until_ns > r->world->now_ns;
}

/* ---- messages ---- */

static bool comes_before(const struct pl_heap_node *a, const struct pl_heap_node *b)
{
    const struct message *x = PL_CONTAINER_OF(a, struct message, node);
    const struct message *y = PL_CONTAINER_OF(b, struct message, node);
    return x->at_ns != y->at_ns ? x->at_ns < y->at_ns : x->order < y->order;
}

static struct message *post(struct replica *r, enum message_type type, int64_t delay_ns)
{
    struct world *world = r->world;
    struct message *message = PL_NEW(struct message);
    message->type = type;
    message->replica = r;
    message->at_ns = world->now_ns + delay_ns;
    message->order = world->order++;
    pl_heap_push(&world->messages, &message->node);
    return message;
}

static int64_t network_delay(struct world *world)
{
    return happens(world, 0.9) ? some_time(world, 20 * PL_MS) : some_time(world, 4 * S);
}

static bool is_lost(struct replica *r)
{
    return r->cut_until_ns > r->world->now_ns || happens(r->world, 0.01);
}

/* ---- the lock of a replica ---- */

static void lock_start(void *self, enum pl_lease_verb verb, const struct pl_lease_record *record,
                       pl_lease_answer_fn on_answer, void *arg)
{
    struct replica *r = self;
    struct world *world = r->world;
    REQUIRE(!r->busy);
    r->busy = true;
    r->request = ++world->numbers;
    r->on_answer = on_answer;
    r->answer_arg = arg;
    /* A quarter of the renew deadline, as the Lease has it, by its own clock. */
    post(r, GIVE_UP, (int64_t)(2500.0 * (double)PL_MS / r->rate))->number = r->request;
    if (is_lost(r))
        return;
    struct message *message = post(r, REQUEST, network_delay(world));
    message->number = r->request;
    message->verb = verb;
    message->known = r->known;
    if (record != NULL)
        message->record = *record;
}

static void lock_cancel(void *self)
{
    struct replica *r = self;
    struct message *message = post(r, GIVE_UP, 0);
    message->number = r->request;
    message->code = PL_ECANCELED;
}

static void lock_watch(void *self, const struct pl_lease_watch_ops *ops, void *arg)
{
    struct replica *r = self;
    REQUIRE(!r->watching);
    r->watching = true;
    r->watch_open = false;
    r->stream = ++r->world->numbers;
    r->watch_ops = ops;
    r->watch_arg = arg;
    bool fails = happens(r->world, 0.1) || is_lost(r);
    struct message *message = post(r, fails ? ENDED : OPENED, network_delay(r->world));
    message->number = r->stream;
    message->code = PL_ENETWORK;
}

static void lock_unwatch(void *self)
{
    struct replica *r = self;
    r->watch_open = false;
    struct message *message = post(r, ENDED, 0);
    message->number = r->stream;
    message->code = PL_ECANCELED;
}

static const struct pl_lease_lock_ops lock_ops = {lock_start, lock_cancel, lock_watch,
                                                  lock_unwatch};

/* ---- the server ---- */

static void tell_watchers(struct world *world)
{
    for (int i = 0; i < REPLICAS; i++) {
        struct replica *r = &world->replicas[i];
        if (!r->watch_open || is_lost(r)) /* a stream may also lie still without ending */
            continue;
        struct message *message = post(r, CHANGED, network_delay(world));
        message->number = r->stream;
        message->exists = world->server.exists;
        message->record = world->server.record;
    }
}

static void answer(struct world *world, const struct message *request, int code, int status)
{
    if (is_lost(request->replica))
        return;
    struct message *message = post(request->replica, ANSWER, network_delay(world));
    message->number = request->number;
    message->verb = request->verb;
    message->record = world->server.record;
    message->known = world->server.version;
    message->code = code;
    message->status = status;
}

static void serve(struct world *world, const struct message *request)
{
    if (world->deaf_until_ns > world->now_ns)
        return;
    bool ails = world->ailing_until_ns > world->now_ns;
    if (ails && happens(world, 0.5)) {
        answer(world, request, PL_EAPI, 500);
        return;
    }
    int64_t known = request->known;
    int64_t version = world->server.version;
    int status = lease_server_apply(&world->server, request->verb, &request->record, &known);
    if (world->server.version != version)
        tell_watchers(world);
    if (ails && happens(world, 0.5))
        answer(world, request, PL_EAPI, 500); /* carried out nevertheless */
    else
        answer(world, request, status != 0 ? PL_EAPI : 0, status);
}

/* ---- arrivals ---- */

static void get_answer(struct replica *r, const struct message *message)
{
    struct pl_err err;
    if (!r->busy || message->number != r->request)
        return; /* too late */
    r->busy = false;
    if (message->code == 0) {
        r->known = message->known;
        r->on_answer(r->answer_arg, NULL, &message->record);
        return;
    }
    pl_err_set(&err, message->code, "simulated");
    if (message->status != 0)
        lease_server_error(message->status, message->verb == PL_LEASE_CREATE, &err);
    r->on_answer(r->answer_arg, &err, NULL);
}

static void give_up(struct replica *r, struct message *message)
{
    if (message->code == 0)
        message->code = PL_ETIMEOUT;
    get_answer(r, message);
}

static void tell_watch(struct replica *r, const struct message *message)
{
    struct pl_err err;
    struct world *world = r->world;
    if (!r->watching || message->number != r->stream)
        return;
    if (message->type == ENDED) {
        r->watching = r->watch_open = false;
        pl_err_set(&err, message->code, "simulated");
        r->watch_ops->on_end(r->watch_arg, message->code != 0 ? &err : NULL);
    } else if (message->type == OPENED) {
        r->watch_open = true;
        post(r, ENDED, some_time(world, 300 * S))->number = r->stream;
        struct pl_lease_record record = world->server.record;
        r->watch_ops->on_open(r->watch_arg);
        if (world->server.exists && r->watch_open)
            r->watch_ops->on_change(r->watch_arg, &record);
    } else if (r->watch_open) {
        r->watch_ops->on_change(r->watch_arg, message->exists ? &message->record : NULL);
    }
}

static void arrive(struct world *world, struct message *message)
{
    struct replica *r = message->replica;
    if (message->type == REQUEST)
        serve(world, message);
    else if (message->type == ANSWER)
        get_answer(r, message);
    else if (message->type == GIVE_UP)
        give_up(r, message);
    else
        tell_watch(r, message);
}

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
    if (happens(r->world, 0.5)) {
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
        /* Leases differ in length: the record's own counts. */
        .lease_duration_ns = (15 + 5 * r->number) * S,
        .renew_deadline_ns = (10 + 3 * r->number) * S,
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

static void make_trouble(struct world *world)
{
    struct replica *r = &world->replicas[pl_rand_u64(&world->rand) % REPLICAS];
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
}

/* ---- the run ---- */

/* In our time; a timer of who is frozen waits until it wakes up. */
static bool next_timer(const struct replica *r, int64_t *at_ns)
{
    int64_t due;
    if (is_frozen(r) || !pl_timers_next(&r->timers, &due))
        return false;
    int64_t left = due - read_mono((void *)r);
    *at_ns = r->world->now_ns + (left > 0 ? (int64_t)((double)left / r->rate) + 1 : 0);
    return true;
}

static void check(struct world *world)
{
    int writers = 0, writer = -1;
    for (int i = 0; i < REPLICAS; i++) {
        if (!pl_election_may_write(world->replicas[i].election))
            continue;
        writers++;
        writer = i;
    }
    if (writers > 1 && world->violations++ < 3)
        TEST_FAIL("seed %" PRIu64 ": %d may write at once, %.6f s into the run", world->seed,
                  writers, (double)world->now_ns / 1e9);
    world->writer = writer;
}

static void earliest(int64_t at_ns, struct replica *r, int64_t *best_ns, struct replica **who)
{
    if (at_ns >= *best_ns)
        return;
    *best_ns = at_ns;
    *who = r;
}

/* What is frozen hears nothing: a message waits with its receiver. */
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

/* True while there is something before the end. */
static bool step(struct world *world, int64_t end_ns)
{
    int64_t best = end_ns, at;
    struct replica *who = NULL;
    for (int i = 0; i < REPLICAS; i++) {
        struct replica *r = &world->replicas[i];
        if (r->frozen_until_ns != 0)
            earliest(r->frozen_until_ns, r, &best, &who);
        else if (r->back_at_ns != 0)
            earliest(r->back_at_ns, r, &best, &who);
        if (next_timer(r, &at))
            earliest(at, r, &best, &who);
    }
    struct pl_heap_node *node = pl_heap_peek(&world->messages);
    struct message *message = node != NULL ? PL_CONTAINER_OF(node, struct message, node) : NULL;
    bool chaos = world->chaos_at_ns < best;
    if (chaos)
        best = world->chaos_at_ns;
    bool arrives = message != NULL && message->at_ns <= best;
    if (arrives)
        best = message->at_ns;
    if (best >= end_ns)
        return false;
    if (best > world->now_ns) {
        if (world->writer >= 0)
            world->written_ns += best - world->now_ns; /* at most */
        world->now_ns = best;
    }
    if (arrives) {
        pl_heap_pop(&world->messages);
        if (!postpone(message)) {
            arrive(world, message);
            pl_free(message);
        }
    } else if (chaos) {
        make_trouble(world);
    } else if (who->frozen_until_ns != 0 && who->frozen_until_ns <= world->now_ns) {
        wake_up(who);
    } else if (who->back_at_ns != 0 && who->back_at_ns <= world->now_ns) {
        come_back(who);
    } else {
        pl_timers_run(&who->timers);
    }
    return true;
}

static void end_world(struct world *world)
{
    struct pl_heap_node *node;
    for (int i = 0; i < REPLICAS; i++) {
        struct replica *r = &world->replicas[i];
        wake_up(r);
        if (r->back_at_ns == 0 && !r->stopping)
            stop(r, false);
    }
    world->chaos_at_ns = INT64_MAX;
    while (step(world, INT64_MAX)) {
        int busy = 0;
        for (int i = 0; i < REPLICAS; i++) {
            struct replica *r = &world->replicas[i];
            if (r->back_at_ns != 0)
                r->back_at_ns = INT64_MAX - 1;
            else if (!r->stopping)
                stop(r, false);
            busy += r->stopping;
        }
        if (busy == 0)
            break;
    }
    while ((node = pl_heap_pop(&world->messages)) != NULL)
        pl_free(PL_CONTAINER_OF(node, struct message, node));
    pl_heap_deinit(&world->messages);
    for (int i = 0; i < REPLICAS; i++) {
        struct replica *r = &world->replicas[i];
        pl_election_destroy(r->election);
        CHECK_INT(r->waits.count, 0);
        CHECK_INT(r->timers.heap.count, 0);
        pl_waits_deinit(&r->waits);
        pl_timers_deinit(&r->timers);
    }
}

static int64_t number_of(const char *variable, int64_t otherwise)
{
    const char *text = getenv(variable);
    return text != NULL ? strtoll(text, NULL, 10) : otherwise;
}

TEST(never_may_two_write_at_once)
{
    static struct world world;
    struct pl_rand rand;
    world = (struct world){.writer = -1};
    if (getenv("TEST_LOG") == NULL)
        pl_log_configure(PL_LOG_ERROR + 1, false, 2);
    pl_rand_init(&rand);
    world.seed = (uint64_t)number_of("PL_ELECTION_SEED", (int64_t)(pl_rand_u64(&rand) >> 24));
    int64_t minutes = number_of("PL_ELECTION_MINUTES", MINUTES);
    printf("seed %" PRIu64 " (PL_ELECTION_SEED), %" PRId64 " minutes\n", world.seed, minutes);
    fflush(stdout);
    pl_rand_seed(&world.rand, world.seed);
    pl_heap_init(&world.messages, comes_before);
    for (int i = 0; i < REPLICAS; i++)
        init_replica(&world, i);
    int64_t end = minutes * 60 * S, events = 0;
    while (step(&world, end)) {
        events++;
        check(&world);
    }
    printf("%" PRId64 " events, %" PRId64 " leads, %" PRId64 " lost, %" PRId64 " closed, %" PRId64
           " reopened, %" PRId64 " stops with release, %" PRId64
           " restarts; somebody led for %.1f %% of the time\n",
           events, world.leads, world.losses, world.closings, world.reopenings, world.releases,
           world.restarts, 100.0 * (double)world.written_ns / (double)end);
    CHECK_INT(world.violations, 0);
    /* The run was one: leads came and went, and there was somebody most of the time. */
    CHECK(world.leads > minutes / 20 && world.losses > minutes / 100);
    CHECK(world.closings > minutes / 100 && world.reopenings > 0);
    CHECK(world.written_ns > end / 4);
    end_world(&world);
}

TEST_MAIN()
