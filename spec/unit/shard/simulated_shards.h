/* Members that share shards on a virtual clock: a server with Leases, processes with clocks of
 * their own that run up to 10 % apart, a network on which requests, answers and news are late or
 * lost. Time advances in ticks; after each tick the promises are checked. */
#pragma once

#include "base/alloc.h"
#include "base/base.h"
#include "base/heap.h"
#include "base/log.h"
#include "shard/membership.h"
#include "support/test.h"

#define S      PL_SECOND
#define TICK   (20 * PL_MS)
#define NEWS   65536 /* changes that the server remembers, a power of two */
#define LEASES (4096 + PL_SHARDS_MAX + 1)

struct world;

struct lease {
    bool exists;
    struct pl_shard_lease is;
    char id[64], holder[64];
};

struct process {
    struct world *world;
    int number, lives;
    double rate; /* its seconds in one of ours */
    int64_t offset_ns, frozen_until_ns, cut_until_ns, lag_ns, back_at_ns;
    struct pl_clock clock;
    struct pl_timers timers;
    struct pl_rand rand;
    struct pl_shards *shards;
    struct pl_shards_follower follower;
    struct pl_membership *m; /* NULL: does not run */
    char id[64];
    uint64_t heard; /* the number of changes that have reached it */
    uint64_t
        known[LEASES]; /* by lease: the version that it got last, by the watch or in an answer */
    int64_t settles_ns[PL_SHARDS_MAX]; /* ours: when the shard settles */
    bool leaving, has_joined, refused;
    int64_t stopped_ns; /* when it was told to leave */
    unsigned messages;  /* messages under way that point here */
};

enum phase { ARRIVES, ANSWERS, GIVES_UP };

struct message {
    struct pl_heap_node node;
    int64_t at_ns;
    uint64_t order;
    enum phase phase;
    struct request *request;
};

struct request {
    struct process *p;
    int life, refs;
    enum pl_shard_verb verb;
    int lease; /* its place */
    struct lease wants, got;
    uint64_t known;
    int status; /* of the answer */
    pl_shard_answer_fn on_answer;
    void *arg;
    bool done;
};

struct world {
    struct pl_rand rand;
    int64_t now_ns, ailing_until_ns, ailed_ns;
    struct pl_heap messages;
    uint64_t order, version, changes;
    struct lease *leases; /* owned: NAME, shards, members */
    int members;          /* ids given so far */
    int *news;            /* owned ring: which lease changed, */
    struct lease *was;    /* owned ring: and to what */
    struct process *processes;
    int count;
    unsigned shards;
    enum pl_shard_by by; /* of those that begin from now on */
    bool rough;
    int64_t settle_ns; /* how long shards may take; 0: for ever */
    bool never_lists, never_drains, drains_at_once;
    bool no_namespace; /* nothing can be created */
    int refuses[4];    /* by verb: the status that answers it, for everybody; 0: none, */
    int refuses_from;  /* for Leases from this place on */
    /* The observations. */
    uint64_t left;
    int64_t leaving_ns, longest_leaving_ns; /* from a stop until everything was given away */
    uint64_t writes, reads, moves, promised, joins, stops, deaths, freezes, losses, refusals, late;
    char last_holder[PL_SHARDS_MAX][64];
    int64_t free_since[PL_SHARDS_MAX], worst_gap_ns, limit_ns, ailed_at[PL_SHARDS_MAX],
        named_at[PL_SHARDS_MAX];
    int two_actors, too_long;
};

static inline double chance(struct world *w)
{
    return pl_rand_unit(&w->rand);
}

/* ---- clocks ---- */

static inline int64_t clock_of(void *arg)
{
    const struct process *p = arg;
    return (int64_t)((double)p->world->now_ns * p->rate) + p->offset_ns;
}

/* ---- the server ---- */

static inline int place_of(const struct world *w, const struct pl_shard_lease *lease)
{
    PL_UNUSED(w);
    if (lease->kind == PL_LEASE_OF_NAME)
        return 0;
    if (lease->kind == PL_LEASE_OF_SHARD)
        return 1 + (int)lease->index;
    return 1 + PL_SHARDS_MAX + atoi(lease->id.ptr + 1);
}

static inline const struct pl_shard_lease *shown(struct lease *lease)
{
    lease->is.id = pl_slice_z(lease->id);
    lease->is.holder = pl_slice_z(lease->holder);
    return &lease->is;
}

static inline void copy_lease(struct lease *to, const struct pl_shard_lease *from)
{
    to->is = *from;
    snprintf(to->id, sizeof to->id, "%.*s", PL_FMT(from->id));
    snprintf(to->holder, sizeof to->holder, "%.*s", PL_FMT(from->holder));
}

static inline void note_holder(struct world *w, const struct lease *lease)
{
    unsigned i = lease->is.index;
    if (lease->is.kind != PL_LEASE_OF_SHARD || lease->holder[0] == '\0')
        return;
    if (strcmp(w->last_holder[i], lease->holder) != 0 && w->last_holder[i][0] != '\0')
        w->moves++;
    if (strcmp(w->last_holder[i], lease->holder) != 0)
        w->named_at[i] = w->now_ns;
    snprintf(w->last_holder[i], sizeof w->last_holder[i], "%s", lease->holder);
}

static inline void publish(struct world *w, int place)
{
    w->leases[place].is.version = ++w->version;
    w->news[w->changes % NEWS] = place;
    w->was[w->changes % NEWS] = w->leases[place];
    w->changes++;
}

static inline int carry_out(struct world *w, struct request *r)
{
    struct lease *lease = &w->leases[r->lease];
    if (r->verb == PL_SHARD_GET)
        w->reads++;
    else
        w->writes++;
    if (w->ailing_until_ns > w->now_ns || (w->rough && chance(w) < 0.01))
        return 500;
    if (w->no_namespace && r->verb == PL_SHARD_CREATE)
        return 404;
    if (w->refuses[r->verb] != 0 && r->lease >= w->refuses_from)
        return w->refuses[r->verb];
    if (r->verb == PL_SHARD_CREATE ? lease->exists : !lease->exists)
        return r->verb == PL_SHARD_CREATE ? 409 : 404;
    if (r->verb != PL_SHARD_CREATE && r->verb != PL_SHARD_GET && r->known != lease->is.version)
        return 409;
    if (r->verb == PL_SHARD_GET)
        return 200;
    lease->exists = r->verb != PL_SHARD_DELETE;
    if (lease->exists) {
        copy_lease(lease, &r->wants.is);
        lease->is.stamp = (int64_t)w->version + 1;
        note_holder(w, lease);
    }
    publish(w, r->lease);
    return 200;
}

/* ---- the network ---- */

static inline bool comes_before(const struct pl_heap_node *a, const struct pl_heap_node *b)
{
    const struct message *x = PL_CONTAINER_OF(a, struct message, node);
    const struct message *y = PL_CONTAINER_OF(b, struct message, node);
    return x->at_ns != y->at_ns ? x->at_ns < y->at_ns : x->order < y->order;
}

static inline void post(struct world *w, struct request *r, enum phase phase, int64_t delay_ns)
{
    struct message *message = PL_NEW(struct message);
    *message = (struct message){
        .phase = phase, .request = r, .at_ns = w->now_ns + delay_ns, .order = w->order++};
    r->refs++;
    pl_heap_push(&w->messages, &message->node);
}

static inline int64_t delay(struct world *w)
{
    double u = chance(w);
    if (w->rough && chance(w) < 0.02)
        return (int64_t)(u * 4 * (double)S);
    return (int64_t)(u * u * 60 * (double)PL_MS) + PL_MS;
}

static inline bool is_lost(const struct process *p)
{
    return p->cut_until_ns > p->world->now_ns || (p->world->rough && chance(p->world) < 0.003);
}

static inline void start(void *self, enum pl_shard_verb verb, const struct pl_shard_lease *lease,
                         pl_shard_answer_fn on_answer, void *arg)
{
    struct process *p = self;
    struct request *r = PL_NEW(struct request);
    for (size_t i = 0; i < lease->id.len; i++) /* it is a part of a Lease's name */
        CHECK(strchr("abcdefghijklmnopqrstuvwxyz0123456789-", lease->id.ptr[i]) != NULL);
    r->p = p;
    r->life = p->lives;
    r->verb = verb;
    r->lease = place_of(p->world, lease);
    copy_lease(&r->wants, lease);
    shown(&r->wants);
    r->known = p->known[r->lease];
    r->on_answer = on_answer;
    r->arg = arg;
    post(p->world, r, GIVES_UP, (int64_t)(2.5 * (double)S / p->rate));
    if (!is_lost(p))
        post(p->world, r, ARRIVES, delay(p->world));
}

static inline void finish(struct request *r, int status)
{
    struct process *p = r->p;
    struct pl_err err = {0};
    if (r->done)
        return;
    r->done = true;
    if (r->life != p->lives || p->m == NULL)
        return; /* that process is no more */
    if (status == 200) {
        if (r->got.is.version > p->known[r->lease])
            p->known[r->lease] = r->got.is.version;
        r->on_answer(r->arg, NULL, r->verb != PL_SHARD_DELETE ? shown(&r->got) : NULL);
        return;
    }
    pl_err_set(&err, status != 0 ? PL_EAPI : PL_ETIMEOUT, "status %d", status);
    err.status = status;
    r->on_answer(r->arg, &err, NULL);
}

static inline void deliver(struct world *w, struct message *message)
{
    struct request *r = message->request;
    struct process *p = r->p;
    if (message->phase == ARRIVES) {
        r->status = carry_out(w, r);
        r->got = w->leases[r->lease];
        if (!is_lost(p))
            post(w, r, ANSWERS, delay(w));
    } else if (p->frozen_until_ns > w->now_ns && r->life == p->lives) {
        post(w, r, message->phase, p->frozen_until_ns - w->now_ns);
    } else {
        finish(r, message->phase == ANSWERS ? r->status : 0);
    }
    if (--r->refs == 0)
        pl_free(r);
    pl_free(message);
}

/* ---- processes ---- */

static inline void on_lost(void *self, const char *why)
{
    struct process *p = self;
    PL_UNUSED(why);
    p->world->losses++;
    p->has_joined = false;
}

static inline void on_refused(void *self, const struct pl_membership_refusal *refusal)
{
    struct process *p = self;
    PL_UNUSED(refusal);
    p->world->refusals++;
    p->refused = true;
}

static inline void on_late(void *self)
{
    ((struct process *)self)->world->late++;
}

static const struct pl_membership_ops ops = {start, on_lost, on_refused, on_late};

/* Some time later caches are filled, and runs have ended. */
static inline void on_change(void *arg, const struct pl_shard_set *which, enum pl_shard_state state)
{
    struct process *p = arg;
    for (unsigned i = 0; i < p->world->shards; i++) {
        if (!pl_shard_set_has(which, i))
            continue;
        double most = state == PL_SHARD_COMING   ? 0.5
                      : p->world->drains_at_once ? 0
                      : chance(p->world) < 0.1   ? 20
                                                 : 1;
        p->settles_ns[i] = p->world->now_ns + (int64_t)(chance(p->world) * most * (double)S);
    }
}

static inline bool is_settled(void *arg, unsigned i)
{
    const struct process *p = arg;
    enum pl_shard_state state = pl_shards_state(p->shards, i);
    if ((p->world->never_lists && state == PL_SHARD_COMING) ||
        (p->world->never_drains && state == PL_SHARD_GOING))
        return false;
    return p->world->now_ns >= p->settles_ns[i];
}

static const struct pl_shards_follower_ops follower_ops = {on_change, is_settled};

static inline void join(struct process *p)
{
    struct world *w = p->world;
    snprintf(p->id, sizeof p->id, "m%04d", w->members++);
    REQUIRE(w->members < 4096);
    pl_membership_join(p->m, p->id);
    p->has_joined = true;
    int others = 0;
    for (int i = 0; i < w->count; i++)
        others += w->processes[i].m != NULL && w->processes[i].has_joined;
    w->promised += (w->shards + (unsigned)others - 1) / (unsigned)others;
    w->joins++;
}

/* Existing Leases are listed; later changes are watched. */
static inline void list(struct process *p)
{
    struct world *w = p->world;
    for (int i = 0; i < 1 + PL_SHARDS_MAX + w->members; i++) {
        struct lease *lease = &w->leases[i];
        if (!lease->exists)
            continue;
        p->known[i] = lease->is.version;
        pl_membership_see(p->m, shown(lease));
    }
    p->heard = w->changes;
    w->reads += 2;
    pl_membership_synced(p->m);
}

static inline void begin(struct process *p)
{
    struct world *w = p->world;
    p->lives++;
    p->rate = 0.9535 + 0.093 * chance(w); /* at most 10 % apart */
    p->offset_ns = (int64_t)(chance(w) * 1e15);
    p->lag_ns = (int64_t)(chance(w) * 100 * (double)PL_MS);
    p->clock = (struct pl_clock){clock_of, clock_of, clock_of, p};
    p->frozen_until_ns = p->cut_until_ns = 0;
    p->leaving = p->refused = false;
    memset(p->known, 0, sizeof p->known);
    pl_timers_init(&p->timers, &p->clock);
    pl_rand_seed(&p->rand, pl_rand_u64(&w->rand));
    p->shards = pl_shards_create(w->shards, w->by);
    pl_shards_follow(p->shards, &p->follower, &follower_ops, p);
    const struct pl_membership_options options = {.ops = &ops,
                                                  .self = p,
                                                  .shards = p->shards,
                                                  .timers = &p->timers,
                                                  .clock = &p->clock,
                                                  .rand = &p->rand,
                                                  .lease_duration_ns = 15 * S,
                                                  .renew_deadline_ns = 10 * S,
                                                  .retry_period_ns = 2 * S,
                                                  .settle_ns = w->settle_ns};
    p->m = pl_membership_create(&options);
    list(p);
    join(p);
}

static inline unsigned held_by(const struct process *p)
{
    struct pl_shard_set held = pl_shards_held(p->shards);
    return pl_shard_set_count(&held);
}

static inline void cancel_requests(struct process *p)
{
    struct pl_err err = {0};
    pl_err_set(&err, PL_ECANCELED, "canceled");
    for (size_t i = 0; i < p->world->messages.count; i++) {
        struct message *message =
            PL_CONTAINER_OF(p->world->messages.nodes[i], struct message, node);
        struct request *r = message->request;
        if (r->p != p || r->done)
            continue;
        r->done = true;
        r->on_answer(r->arg, &err, NULL);
    }
}

/* Ends at once; messages under way are dropped. */
static inline void end(struct process *p, int64_t back_after_ns)
{
    p->back_at_ns = back_after_ns < INT64_MAX ? p->world->now_ns + back_after_ns : INT64_MAX;
    pl_shards_unfollow(p->shards, &p->follower);
    cancel_requests(p);
    pl_membership_destroy(p->m);
    pl_shards_destroy(p->shards);
    pl_timers_deinit(&p->timers);
    p->m = NULL;
    p->has_joined = p->leaving = false;
}

static inline void on_left(void *arg)
{
    ((struct process *)arg)->back_at_ns = 1; /* for the end of the tick */
}

static inline void stop(struct process *p)
{
    p->leaving = true;
    p->has_joined = false;
    p->stopped_ns = p->world->now_ns;
    p->world->stops++;
    p->world->promised += held_by(p);
    p->back_at_ns = 0;
    pl_membership_leave(p->m);
}

static inline void kill_it(struct process *p)
{
    p->world->deaths++;
    p->world->promised += held_by(p);
    end(p, INT64_MAX);
}

static inline void hear(struct process *p)
{
    struct world *w = p->world;
    /* With a lag: the changes up to a while ago, in order. */
    int64_t until = (int64_t)w->changes;
    if (p->lag_ns > 0 && chance(w) < (double)p->lag_ns / (double)(125 * PL_MS))
        return;
    REQUIRE(w->changes - p->heard < NEWS);
    for (; (int64_t)p->heard < until; p->heard++) {
        int place = w->news[p->heard % NEWS];
        struct lease *lease = &w->was[p->heard % NEWS];
        if (lease->is.version > p->known[place])
            p->known[place] = lease->is.version;
        if (lease->exists)
            pl_membership_see(p->m, shown(lease));
        else if (lease->is.version >= p->known[place])
            pl_membership_gone(p->m, shown(lease));
    }
}

static inline void live(struct process *p)
{
    struct world *w = p->world;
    if (p->m == NULL) {
        if (p->back_at_ns <= w->now_ns && p->back_at_ns > 0)
            begin(p);
        return;
    }
    if (p->frozen_until_ns > w->now_ns)
        return;
    if (p->cut_until_ns <= w->now_ns)
        hear(p);
    pl_shards_settled(p->shards);
    pl_timers_run(&p->timers);
    if (p->leaving && p->back_at_ns == 0 && held_by(p) == 0) {
        p->back_at_ns = 2;
        pl_membership_end(p->m, true, on_left, p);
    } else if (p->leaving && p->back_at_ns == 1) {
        int64_t took_ns = w->now_ns - p->stopped_ns;
        w->left++;
        w->leaving_ns += took_ns;
        w->longest_leaving_ns = took_ns > w->longest_leaving_ns ? took_ns : w->longest_leaving_ns;
        end(p, INT64_MAX);
    } else if (!p->leaving && !p->has_joined && chance(w) < 0.1) {
        join(p); /* it was lost; its runs have ended */
    }
}

/* ---- the promises ---- */

static inline void check_gap(struct world *w, unsigned i, int actors)
{
    if (actors > 0) {
        w->free_since[i] = 0;
        return;
    }
    /* A named member that vanished before it acted must be waited for again. */
    if (w->free_since[i] == 0 || w->named_at[i] > w->free_since[i]) {
        w->free_since[i] = w->now_ns;
        w->ailed_at[i] = w->ailed_ns;
    }
    int64_t gap = w->now_ns - w->free_since[i];
    int64_t ailed = w->ailed_ns - w->ailed_at[i];
    if (gap - ailed > w->worst_gap_ns)
        w->worst_gap_ns = gap - ailed;
    if (gap - ailed == w->limit_ns / TICK * TICK + TICK)
        w->too_long++;
}

static inline void check(struct world *w)
{
    static struct pl_shard_set held[4096];
    int members = 0;
    for (int k = 0; k < w->count; k++) {
        const struct process *p = &w->processes[k];
        held[k] = (struct pl_shard_set){{0}};
        if (p->m == NULL || !pl_membership_may_write(p->m))
            continue;
        members += p->has_joined; /* a leaving member takes none */
        held[k] = pl_shards_held(p->shards);
    }
    int actors[PL_SHARDS_MAX] = {0};
    for (int k = 0; k < w->count; k++)
        for (unsigned word = 0; word < PL_ARRAY_LEN(held[k].bits); word++)
            for (uint64_t bits = held[k].bits[word]; bits != 0; bits &= bits - 1)
                actors[word * 64 + (unsigned)__builtin_ctzll(bits)]++;
    for (unsigned i = 0; i < w->shards; i++) {
        w->two_actors += actors[i] > 1;
        check_gap(w, i, members > 0 ? actors[i] : 1); /* without members nobody waits */
    }
}

static inline void tick(struct world *w)
{
    w->now_ns += TICK;
    w->ailed_ns += w->ailing_until_ns > w->now_ns ? TICK : 0;
    for (struct pl_heap_node *node; (node = pl_heap_peek(&w->messages)) != NULL;) {
        struct message *message = PL_CONTAINER_OF(node, struct message, node);
        if (message->at_ns > w->now_ns)
            break;
        pl_heap_pop(&w->messages);
        deliver(w, message);
    }
    for (int k = 0; k < w->count; k++)
        live(&w->processes[k]);
    check(w);
}

static inline void pass(struct world *w, int64_t ns)
{
    for (int64_t until = w->now_ns + ns; w->now_ns < until;)
        tick(w);
}

/* ---- making a simulation ---- */

static inline void world_init(struct world *w, uint64_t seed, int count, unsigned shards)
{
    *w = (struct world){.count = count, .shards = shards, .now_ns = S};
    pl_rand_seed(&w->rand, seed);
    pl_heap_init(&w->messages, comes_before);
    w->leases = pl_calloc(LEASES, sizeof *w->leases);
    w->news = pl_calloc(NEWS, sizeof *w->news);
    w->was = pl_calloc(NEWS, sizeof *w->was);
    w->processes = pl_calloc((size_t)count, sizeof *w->processes);
    for (int k = 0; k < count; k++)
        w->processes[k] = (struct process){.world = w, .number = k};
    /* The duration of a Lease and a retry period by the slowest clock. If the member that saw the
     * last renewal is gone, too, a new one counts again; requests are repeated. */
    w->limit_ns = (int64_t)(1.055 * (2 * 15 + 2) * (double)S + 7.5 * (double)S);
    pl_log_configure(PL_LOG_ERROR, false, 2);
}

static inline void world_deinit(struct world *w)
{
    for (int k = 0; k < w->count; k++)
        if (w->processes[k].m != NULL)
            end(&w->processes[k], INT64_MAX);
    for (struct pl_heap_node *node; (node = pl_heap_peek(&w->messages)) != NULL;) {
        pl_heap_pop(&w->messages);
        struct message *message = PL_CONTAINER_OF(node, struct message, node);
        if (--message->request->refs == 0)
            pl_free(message->request);
        pl_free(message);
    }
    pl_heap_deinit(&w->messages);
    pl_free(w->leases);
    pl_free(w->news);
    pl_free(w->was);
    pl_free(w->processes);
}
