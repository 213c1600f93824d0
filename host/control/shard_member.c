/* Turns the membership's calls into requests for Leases, and its reports into log lines, metrics
 * and exit codes. It decides nothing about shards: the state machine in shard/membership.c does. A
 * failure that ends the process is reported once. */
#include "control/shard_member.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/text.h"
#include "lead/election.h"
#include "lead/shard_leases.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define EXIT_MISTAKE    1
#define EXIT_NOT_SYNCED 4

struct pl_shard_member {
    struct pl_shard_member_options o;
    char *lease, *hostname; /* owned */
    struct pl_membership *m;
    struct pl_shards_follower follower;
    struct pl_series *owned[PL_SHARDS_MAX]; /* NULL: no metrics */
    struct pl_series *moves;
    bool watching, failed;
};

/* ---- callbacks of the membership ---- */

static void member_start(void *self, enum pl_shard_verb verb, const struct pl_shard_lease *lease,
                         pl_shard_answer_fn on_answer, void *arg)
{
    struct pl_shard_member *s = self;
    pl_shard_leases_start(s->o.leases, verb, lease, on_answer, arg);
}

static void on_lost(void *self, const char *why)
{
    struct pl_shard_member *s = self;
    pl_log(PL_LOG_ERROR, "the member's Lease is lost, and with it all its shards",
           pl_str("lease", s->lease), pl_str("identity", pl_membership_id(s->m)),
           pl_str("why", why));
    s->o.ops->on_lost(s->o.arg, why);
}

static void member_fail(struct pl_shard_member *s, int exit_code)
{
    if (s->failed)
        return;
    s->failed = true;
    s->o.ops->on_failed(s->o.arg, exit_code);
}

static const char *name_of(enum pl_shard_by by)
{
    return by == PL_SHARD_BY_UID ? "uid" : "namespace";
}

static void on_refused(void *self, const struct pl_membership_refusal *refusal)
{
    struct pl_shard_member *s = self;
    if (!s->failed && refusal->count != pl_shards_count(s->o.shards))
        pl_log(PL_LOG_ERROR,
               "a live replica of this name has another number of shards: changing it needs "
               "strategy Recreate",
               pl_str("lease", s->lease), pl_int("shards", pl_shards_count(s->o.shards)),
               pl_int("other_shards", refusal->count), pl_str("member", refusal->who));
    else if (!s->failed)
        pl_log(PL_LOG_ERROR,
               "a live replica of this name has another --shard-by: changing it needs strategy "
               "Recreate",
               pl_str("lease", s->lease), pl_str("shard_by", name_of(pl_shards_by(s->o.shards))),
               pl_str("other_shard_by", name_of(refusal->by)), pl_str("member", refusal->who));
    member_fail(s, EXIT_MISTAKE);
}

static void on_late(void *self)
{
    struct pl_shard_member *s = self;
    if (!s->failed)
        pl_log(PL_LOG_ERROR,
               "new shards did not sync within cache_sync_timeout: they are given back",
               pl_str("lease", s->lease));
    member_fail(s, EXIT_NOT_SYNCED);
}

static const struct pl_membership_ops membership_ops = {member_start, on_lost, on_refused, on_late};

/* ---- news ---- */

static void log_shards(enum pl_log_level level, const char *message,
                       const struct pl_shard_set *which)
{
    struct pl_buf text = PL_BUF_INIT;
    for (unsigned i = 0; i < PL_SHARDS_MAX; i++)
        if (pl_shard_set_has(which, i))
            pl_buf_add_f(&text, "%s%u", text.len > 0 ? "," : "", i);
    if (text.len > 0)
        pl_log(level, message, pl_strn("shards", pl_buf_slice(&text)));
    pl_buf_deinit(&text);
}

/* A shard that is given away still has our name in its Lease: the request that changes it comes
 * last. */
static void log_gone(const struct pl_shard_member *s, const struct pl_shard_set *which)
{
    struct pl_shard_set given = {{0}}, changed = {{0}};
    int64_t for_ns;
    if (!pl_membership_is_member(s->m)) {
        log_shards(PL_LOG_INFO, "shards lost", which);
        return;
    }
    for (unsigned i = 0; i < pl_shards_count(s->o.shards); i++) {
        const char *holder = pl_membership_holder(s->m, i, &for_ns);
        if (pl_shard_set_has(which, i))
            pl_shard_set_add(strcmp(holder, pl_membership_id(s->m)) == 0 ? &given : &changed, i);
    }
    log_shards(PL_LOG_INFO, "shards given away", &given);
    log_shards(PL_LOG_WARN, "shards lost: another client has changed or deleted their Leases",
               &changed);
}

static void log_change(const struct pl_shard_member *s, const struct pl_shard_set *which,
                       enum pl_shard_state state)
{
    if (state == PL_SHARD_ELSEWHERE)
        log_gone(s, which);
    else if (state == PL_SHARD_COMING)
        log_shards(PL_LOG_INFO, "shards arrive: their objects are listed", which);
    else
        log_shards(PL_LOG_INFO,
                   state == PL_SHARD_OURS ? "shards acquired" : "shards leave: their runs end",
                   which);
}

static void on_sharer_change(void *arg, const struct pl_shard_set *which, enum pl_shard_state state)
{
    struct pl_shard_member *s = arg;
    log_change(s, which, state);
    if (s->moves == NULL)
        return;
    for (unsigned i = 0; i < pl_shards_count(s->o.shards); i++)
        if (pl_shard_set_has(which, i))
            pl_series_set(s->owned[i], state != PL_SHARD_ELSEWHERE);
    if (state == PL_SHARD_COMING)
        pl_series_add(s->moves, pl_shard_set_count(which));
}

static const struct pl_shards_follower_ops follower_ops = {on_sharer_change, NULL};

static void member_add_metrics(struct pl_shard_member *s)
{
    struct pl_metric_spec owned = {.name = "perilune_shard_owned",
                                   .help = "1 for each shard that this replica holds, else 0.",
                                   .type = PL_METRIC_GAUGE,
                                   .labels = {"shard"}};
    struct pl_metric_spec moves = {.name = "perilune_shard_moves_total",
                                   .help = "Shards that came to this replica.",
                                   .type = PL_METRIC_COUNTER};
    struct pl_metric *metric = pl_metrics_add(s->o.metrics, &owned);
    for (unsigned i = 0; i < pl_shards_count(s->o.shards); i++) {
        char text[12];
        snprintf(text, sizeof text, "%u", i);
        const char *const values[] = {text};
        s->owned[i] = pl_metric_series(metric, values);
        pl_series_set(s->owned[i], 0);
    }
    s->moves = pl_metric_series(pl_metrics_add(s->o.metrics, &moves), NULL);
    pl_series_add(s->moves, 0);
}

/* ---- lifetime ---- */

struct pl_shard_member *pl_shard_member_create(const struct pl_shard_member_options *options)
{
    struct pl_shard_member *s = PL_NEW(struct pl_shard_member);
    s->o = *options;
    s->lease = pl_strdup(options->lease);
    s->hostname = pl_strdup(options->hostname);
    const struct pl_membership_options membership = {
        .ops = &membership_ops,
        .self = s,
        .shards = options->shards,
        .timers = options->timers,
        .clock = options->timers->clock,
        .rand = options->rand,
        .lease_duration_ns = options->lease_duration_ns,
        .renew_deadline_ns = options->renew_deadline_ns,
        .retry_period_ns = options->retry_period_ns,
        .settle_ns = options->settle_ns,
    };
    s->m = pl_membership_create(&membership);
    if (options->metrics != NULL)
        member_add_metrics(s);
    pl_shards_follow(options->shards, &s->follower, &follower_ops, s);
    return s;
}

void pl_shard_member_destroy(struct pl_shard_member *s)
{
    if (s == NULL)
        return;
    pl_shards_unfollow(s->o.shards, &s->follower);
    pl_membership_destroy(s->m);
    pl_free(s->lease);
    pl_free(s->hostname);
    pl_free(s);
}

/* Only characters that the name of a Lease may contain. */
static void make_id(const struct pl_shard_member *s, char id[PL_LEASE_HOLDER])
{
    pl_election_identity(s->o.rand, s->hostname, id);
    size_t len = strlen(id), over = len > 180 ? len - 180 : 0;
    memmove(id, id + over, len - over + 1);
    for (char *c = id; *c != '\0'; c++)
        *c = pl_is_alnum(*c) ? (char)tolower((unsigned char)*c) : '-';
    if (id[0] == '-')
        id[0] = 'x';
}

void pl_shard_member_join(struct pl_shard_member *s)
{
    char id[PL_LEASE_HOLDER];
    make_id(s, id);
    pl_membership_join(s->m, id);
    pl_log(PL_LOG_INFO, "joining the replicas that share the shards", pl_str("lease", s->lease),
           pl_str("identity", id), pl_int("shards", pl_shards_count(s->o.shards)));
    if (!s->watching)
        pl_shard_leases_watch(s->o.leases, s->m);
    s->watching = true;
}

void pl_shard_member_leave(struct pl_shard_member *s)
{
    pl_membership_leave(s->m);
}

void pl_shard_member_end(struct pl_shard_member *s, bool release, void (*ended)(void *arg),
                         void *arg)
{
    pl_membership_end(s->m, release, ended, arg);
}

const struct pl_membership *pl_shard_member_membership(const struct pl_shard_member *s)
{
    return s->m;
}

struct pl_shards *pl_shard_member_shards(const struct pl_shard_member *s)
{
    return s->o.shards;
}

void pl_shard_member_describe(const struct pl_shard_member *s, struct pl_buf *out)
{
    struct pl_shard_set held = pl_shards_held(s->o.shards);
    unsigned count = pl_shards_count(s->o.shards);
    const char *stranger = pl_membership_stranger(s->m);
    if (!pl_membership_is_member(s->m))
        pl_buf_add_f(out, "not yet a member of lease %s, which has %u shards", s->lease, count);
    else
        pl_buf_add_f(out, "member %s of lease %s has %u of %u shards%s", pl_membership_id(s->m),
                     s->lease, pl_shard_set_count(&held), count,
                     pl_membership_may_write(s->m) ? "" : ", writes stopped: not renewed");
    const char *trouble = pl_shard_leases_trouble(s->o.leases);
    if (trouble != NULL)
        pl_buf_add_f(out, "%s%s", pl_membership_is_member(s->m) ? "; last failure: " : ": ",
                     trouble);
    if (stranger != NULL)
        pl_buf_add_f(out, "; no shard is taken while %s holds the lease, without shards", stranger);
}
