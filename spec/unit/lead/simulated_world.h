/* A server with one Lease, replicas with their own clocks, and a network between them on which
 * requests, answers and events of watches are late or lost. */
#pragma once

#include "base/alloc.h"
#include "base/log.h"
#include "lead/election.h"
#include "fake_lock.h"

#include <inttypes.h>

#define S PL_SECOND
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
    int64_t next_ns;    /* the time of the next timer */
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
    struct replica *replicas; /* owned */
    int count;
    int64_t chaos_at_ns;
    int64_t ailing_until_ns; /* the server answers 500, or nothing */
    int64_t deaf_until_ns;
    /* What was seen. */
    int64_t leads, losses, closings, reopenings, restarts, releases;
    int64_t written_ns; /* how long a replica was allowed to write */
    int writer;         /* the replica that is allowed to write, or -1 */
    int violations;
    bool ending;
};

/* ---- chance ---- */

static inline double chance(struct world *world)
{
    return pl_rand_unit(&world->rand);
}

static inline bool happens(struct world *world, double probability)
{
    return chance(world) < probability;
}

/* Mostly short, sometimes very long. */
static inline int64_t some_time(struct world *world, int64_t scale_ns)
{
    double u = chance(world), tail = happens(world, 0.05) ? 20 : 1;
    return (int64_t)((double)scale_ns * u * u * tail) + 1;
}

/* ---- clocks ---- */

static inline int64_t boot_of(const struct replica *r)
{
    int64_t passed = r->world->now_ns - r->rate_since_ns;
    return r->boot_then_ns + (int64_t)((double)passed * r->rate);
}

static inline int64_t read_boot(void *arg)
{
    return boot_of(arg);
}

static inline int64_t read_mono(void *arg)
{
    const struct replica *r = arg;
    return (r->sleeping ? r->froze_at_ns : boot_of(r)) - r->asleep_ns;
}

static inline int64_t read_wall(void *arg)
{
    const struct replica *r = arg;
    if (r->wall_stopped_ns != 0)
        return r->wall_stopped_ns;
    return boot_of(r) + r->wall_offset_ns;
}

static inline void set_rate(struct replica *r, double rate)
{
    r->boot_then_ns = boot_of(r);
    r->rate_since_ns = r->world->now_ns;
    r->rate = rate;
}

static inline bool is_frozen(const struct replica *r)
{
    return r->frozen_until_ns > r->world->now_ns;
}

/* ---- messages ---- */

static inline bool comes_before(const struct pl_heap_node *a, const struct pl_heap_node *b)
{
    const struct message *x = PL_CONTAINER_OF(a, struct message, node);
    const struct message *y = PL_CONTAINER_OF(b, struct message, node);
    return x->at_ns != y->at_ns ? x->at_ns < y->at_ns : x->order < y->order;
}

static inline struct message *post(struct replica *r, enum message_type type, int64_t delay_ns)
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

static inline int64_t network_delay(struct world *world)
{
    return happens(world, 0.9) ? some_time(world, 20 * PL_MS) : some_time(world, 4 * S);
}

static inline bool is_lost(struct replica *r)
{
    return r->cut_until_ns > r->world->now_ns || happens(r->world, 0.01);
}

/* ---- the lock of a replica ---- */

static inline void lock_start(void *self, enum pl_lease_verb verb,
                              const struct pl_lease_record *record, pl_lease_answer_fn on_answer,
                              void *arg)
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

static inline void lock_cancel(void *self)
{
    struct replica *r = self;
    struct message *message = post(r, GIVE_UP, 0);
    message->number = r->request;
    message->code = PL_ECANCELED;
}

static inline void lock_watch(void *self, const struct pl_lease_watch_ops *ops, void *arg)
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

static inline void lock_unwatch(void *self)
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

static inline void tell_watchers(struct world *world)
{
    for (int i = 0; i < world->count; i++) {
        struct replica *r = &world->replicas[i];
        if (!r->watch_open || is_lost(r)) /* a stream may also lie still without ending */
            continue;
        struct message *message = post(r, CHANGED, network_delay(world));
        message->number = r->stream;
        message->exists = world->server.exists;
        message->record = world->server.record;
    }
}

static inline void answer(struct world *world, const struct message *request, int code, int status)
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

static inline void serve(struct world *world, const struct message *request)
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

static inline void get_answer(struct replica *r, const struct message *message)
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

static inline void give_up(struct replica *r, struct message *message)
{
    if (message->code == 0)
        message->code = PL_ETIMEOUT;
    get_answer(r, message);
}

static inline void tell_watch(struct replica *r, const struct message *message)
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

static inline void arrive(struct world *world, struct message *message)
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
