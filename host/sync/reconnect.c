/* The order in which reflectors return after an outage: a few try the server; the others wait for
 * their success and follow in turns. A turn is always given back, even by a reflector that is
 * stopped. */
#include "sync/reconnect.h"

#include "base/alloc.h"
#include "sync/backoff.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/log.h"

#include <string.h>

/* One request every few seconds costs a cluster nothing, so the pause stays short. */
#define AWAY_BASE  (800 * PL_MS)
#define AWAY_CAP   (5 * PL_SECOND)
#define AWAY_RESET (120 * PL_SECOND)
#define SAY_AGAIN                                                                                  \
    (60 * PL_SECOND) /* minimal time between two lines about a server that comes and goes */
#define REASONS 8    /* number of remembered reasons */
#define TRIES   3    /* concurrent attempts while the server is away */

/* Tokens: this many at once, then one in each interval, jittered. Fifty lists take ten seconds. */
#define BURST          10
#define LIST_BURST     5
#define WATCH_INTERVAL (20 * PL_MS)
#define LIST_INTERVAL  (200 * PL_MS)

struct bucket {
    int64_t interval_ns, burst;
    int64_t full_ns; /* time when it will be full */
};

/* A reason that was logged. */
struct reason {
    uint64_t hash, outage;
    int64_t said_ns;
};

struct pl_reconnects {
    struct pl_timers *timers;
    struct pl_rand *rand;
    struct pl_list waiting[PL_RECONNECT_KINDS]; /* oldest first */
    struct bucket buckets[PL_RECONNECT_KINDS];  /* of FIRST: unused */
    struct pl_list members;
    uint64_t restores; /* number of restores of the server's data that were found */
    bool away;
    int tries; /* attempts under way while the server is away */
    int64_t since_ns, heard_ns, refused_until_ns;
    bool said; /* the current absence was logged */
    struct reason reasons[REASONS];
    size_t next_reason;
    uint64_t outages;
    struct pl_backoff backoff;
    struct pl_timer timer; /* the next turn */
};

static void on_reconnect_turn(struct pl_timer *timer);

static int64_t now_ns(const struct pl_reconnects *all)
{
    return pl_clock_mono(all->timers->clock);
}

static void reset_backoff(struct pl_reconnects *all)
{
    pl_backoff_init_with(&all->backoff, AWAY_BASE, AWAY_CAP, AWAY_RESET, now_ns(all));
}

struct pl_reconnects *pl_reconnects_create(struct pl_timers *timers, struct pl_rand *rand)
{
    struct pl_reconnects *all = PL_NEW(struct pl_reconnects);
    all->timers = timers;
    all->rand = rand;
    all->heard_ns = INT64_MIN;
    for (size_t i = 0; i < PL_RECONNECT_KINDS; i++)
        pl_list_init(&all->waiting[i]);
    pl_list_init(&all->members);
    all->buckets[PL_RECONNECT_WATCH] =
        (struct bucket){.interval_ns = WATCH_INTERVAL, .burst = BURST};
    all->buckets[PL_RECONNECT_LIST] =
        (struct bucket){.interval_ns = LIST_INTERVAL, .burst = LIST_BURST};
    reset_backoff(all);
    return all;
}

void pl_reconnects_destroy(struct pl_reconnects *all)
{
    if (all == NULL)
        return;
    for (size_t i = 0; i < PL_RECONNECT_KINDS; i++)
        PL_REQUIRE(pl_list_empty(&all->waiting[i]));
    pl_timer_stop(all->timers, &all->timer);
    pl_free(all);
}

/* ---- tokens ---- */

/* The time until there is a token; 0: now. */
static int64_t until_token(const struct bucket *bucket, int64_t now)
{
    int64_t ahead = bucket->full_ns - now;
    int64_t most = (bucket->burst - 1) * bucket->interval_ns;
    return ahead > most ? ahead - most : 0;
}

static void take_token(struct pl_reconnects *all, struct bucket *bucket)
{
    int64_t now = now_ns(all);
    /* half to one and a half of the interval */
    double jitter = 0.5 + pl_rand_unit(all->rand);
    bucket->full_ns = (bucket->full_ns > now ? bucket->full_ns : now) +
                      (int64_t)(jitter * (double)bucket->interval_ns);
}

/* ---- turns ---- */

static bool anybody_waits(const struct pl_reconnects *all)
{
    for (size_t i = 0; i < PL_RECONNECT_KINDS; i++)
        if (!pl_list_empty(&all->waiting[i]))
            return true;
    return false;
}

static void plan(struct pl_reconnects *all, int64_t delay_ns)
{
    if (!pl_timer_is_active(&all->timer) && anybody_waits(all))
        pl_timer_start(all->timers, &all->timer, delay_ns, on_reconnect_turn);
}

static void plan_try(struct pl_reconnects *all)
{
    if (all->tries < TRIES && !pl_timer_is_active(&all->timer) && anybody_waits(all))
        plan(all, pl_backoff_next(&all->backoff, now_ns(all), all->rand));
}

static void end_try(struct pl_reconnects *all, struct pl_reconnect *one)
{
    all->tries -= one->trying;
    one->trying = false;
}

static void reconnect_let_go(struct pl_reconnects *all, struct pl_reconnect *one)
{
    one->went_ns = now_ns(all);
    one->trying = all->away;
    all->tries += one->trying;
    one->go(one);
}

static struct pl_reconnect *next_of(struct pl_reconnects *all, size_t kind)
{
    struct pl_link *link = pl_list_pop(&all->waiting[kind]);
    return link != NULL ? PL_CONTAINER_OF(link, struct pl_reconnect, link) : NULL;
}

static void try_one(struct pl_reconnects *all)
{
    struct pl_reconnect *one = NULL;
    for (size_t i = 0; i < PL_RECONNECT_KINDS && one == NULL; i++)
        one = next_of(all, i);
    if (one != NULL)
        reconnect_let_go(all, one);
    plan_try(all);
}

static void reconnect_follow(struct pl_reconnects *all)
{
    int64_t soonest = INT64_MAX;
    for (size_t i = 0; i < PL_RECONNECT_KINDS && !all->away; i++) {
        struct bucket *bucket = &all->buckets[i];
        int64_t wait = 0;
        while (!all->away && !pl_list_empty(&all->waiting[i]) &&
               (i == PL_RECONNECT_FIRST || (wait = until_token(bucket, now_ns(all))) == 0)) {
            take_token(all, bucket);
            reconnect_let_go(all, next_of(all, i));
        }
        if (!pl_list_empty(&all->waiting[i]) && wait < soonest)
            soonest = wait;
    }
    if (!all->away && soonest != INT64_MAX)
        plan(all, soonest);
}

static void on_reconnect_turn(struct pl_timer *timer)
{
    struct pl_reconnects *all = PL_CONTAINER_OF(timer, struct pl_reconnects, timer);
    if (all->away)
        try_one(all);
    else
        reconnect_follow(all);
}

bool pl_reconnect_ask(struct pl_reconnects *all, struct pl_reconnect *one,
                      enum pl_reconnect_kind kind, void (*go)(struct pl_reconnect *one))
{
    PL_REQUIRE(!pl_link_is_linked(&one->link));
    struct bucket *bucket = &all->buckets[kind];
    end_try(all, one); /* it must not block others for ever, whatever its result */
    one->kind = kind;
    one->go = go;
    bool free = kind == PL_RECONNECT_FIRST || until_token(bucket, now_ns(all)) == 0;
    if (!all->away && free && pl_list_empty(&all->waiting[kind])) {
        one->went_ns = now_ns(all);
        if (kind != PL_RECONNECT_FIRST)
            take_token(all, bucket);
        return true;
    }
    pl_list_push(&all->waiting[kind], &one->link);
    if (all->away)
        plan_try(all);
    else
        plan(all, until_token(bucket, now_ns(all)));
    return false;
}

void pl_reconnect_forget(struct pl_reconnects *all, struct pl_reconnect *one)
{
    end_try(all, one);
    pl_link_unlink(&one->link);
    if (all->away)
        plan_try(all);
}

/* A hash of the last part of "GET host:1: the server's certificate is not trusted (details)",
 * possibly with more context before it. */
static uint64_t reconnect_reason_of(const struct pl_err *err)
{
    const char *from = err->message, *to = strstr(from, " (");
    if (to == NULL)
        to = from + strlen(from);
    for (const char *next = strstr(from, ": "); next != NULL && next < to;
         next = strstr(from, ": "))
        from = next + 2;
    return pl_hash(from, (size_t)(to - from), 0);
}

/* Logs each reason once while the server is away, and not again soon after that. A server that
 * first refuses connections and then is not trusted has two reasons. */
static void say_away(struct pl_reconnects *all, const struct pl_err *err)
{
    uint64_t hash = reconnect_reason_of(err);
    struct reason *reason = NULL;
    for (size_t i = 0; i < REASONS && reason == NULL; i++)
        if (all->reasons[i].outage != 0 && all->reasons[i].hash == hash)
            reason = &all->reasons[i];
    if (reason != NULL &&
        (reason->outage == all->outages || now_ns(all) - reason->said_ns < SAY_AGAIN))
        return;
    if (reason == NULL)
        reason = &all->reasons[all->next_reason++ % REASONS];
    *reason = (struct reason){hash, all->outages, now_ns(all)};
    all->said = true;
    pl_log(PL_LOG_WARN, "the API server does not answer", pl_str("error", err->message));
}

bool pl_reconnect_failed(struct pl_reconnects *all, struct pl_reconnect *one,
                         const struct pl_err *err)
{
    end_try(all, one);
    if (!all->away && all->heard_ns > one->went_ns)
        return false;
    if (!all->away) {
        all->away = true;
        all->since_ns = now_ns(all);
        all->outages++;
        all->said = false;
        reset_backoff(all);
        pl_timer_stop(all->timers, &all->timer); /* a timer for tokens */
    }
    say_away(all, err);
    plan_try(all);
    return true;
}

void pl_reconnect_heard(struct pl_reconnects *all, struct pl_reconnect *one)
{
    end_try(all, one);
    all->heard_ns = now_ns(all);
    if (!all->away)
        return;
    all->away = false;
    pl_timer_stop(all->timers, &all->timer);
    plan(all, 0);
    if (all->said)
        pl_log(PL_LOG_INFO, "the API server answers again",
               pl_num("seconds", (double)(now_ns(all) - all->since_ns) / (double)PL_SECOND));
}

bool pl_reconnects_is_away(const struct pl_reconnects *all)
{
    return all->away;
}

/* ---- streams of lists ---- */

void pl_reconnects_refuse_streams(struct pl_reconnects *all)
{
    all->refused_until_ns = now_ns(all) + PL_STREAM_REFUSED_NS;
}

bool pl_reconnects_may_stream(const struct pl_reconnects *all)
{
    return now_ns(all) >= all->refused_until_ns;
}

/* ---- data that was restored ---- */

void pl_reconnect_join(struct pl_reconnects *all, struct pl_reconnect *one,
                       void (*restored)(struct pl_reconnect *one))
{
    one->restores = all->restores;
    one->restored = restored;
    pl_list_push(&all->members, &one->member);
}

void pl_reconnect_leave(struct pl_reconnect *one)
{
    pl_link_unlink(&one->member);
}

void pl_reconnect_lists(struct pl_reconnects *all, struct pl_reconnect *one)
{
    one->restores = all->restores;
}

bool pl_reconnect_is_current(const struct pl_reconnects *all, const struct pl_reconnect *one)
{
    return one->restores == all->restores;
}

void pl_reconnect_found_restored(struct pl_reconnects *all, struct pl_reconnect *one)
{
    if (!pl_reconnect_is_current(all, one))
        return;
    all->restores++;
    PL_LIST_FOR (link, &all->members) {
        struct pl_reconnect *other = PL_CONTAINER_OF(link, struct pl_reconnect, member);
        if (other != one && other->restored != NULL)
            other->restored(other);
    }
}
