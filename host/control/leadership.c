/* Stands between the election and the manager. When the lead is lost, calls that could still do
 * harm are cut first, then controllers stop. Whether a write may leave is decided by the election's
 * own clock at that moment, not by a flag that a late timer would have to clear. */
#include "control/leadership.h"

#include "base/alloc.h"
#include "base/log.h"
#include "cluster/cluster.h"
#include "control/shard_member.h"

struct pl_leadership {
    struct pl_leadership_options o;
    struct pl_election *election;   /* owned; NULL: with shards */
    struct pl_shard_member *member; /* owned; NULL: without */
    const struct pl_led_ops *led;   /* borrowed; NULL before it is bound */
    void *led_arg;
    struct pl_fence fence;
    struct pl_series *status; /* NULL: no metrics */
    char *name, *lease;       /* owned; lease is "namespace/name" */
    int64_t since_ns;         /* mono: when this lead began or this holder was first seen */
    bool campaigning, stopping;
    void (*ended)(void *arg);
    void *ended_arg;
};

static bool may_write(void *arg)
{
    const struct pl_leadership *l = arg;
    return l->member != NULL ? pl_membership_may_write(pl_shard_member_membership(l->member))
                             : pl_election_may_write(l->election);
}

static int64_t leadership_now(const struct pl_leadership *l)
{
    return pl_clock_mono(l->o.election.clock);
}

char *pl_lead_note(enum pl_lead_change change, const char *identity, const char *why)
{
    const char *what = change == PL_LEAD_GAINED ? "became leader" : "stopped leading";
    return pl_format("%s %s%s%s", identity, what, why[0] != '\0' ? ": " : "", why);
}

static void leadership_tell(struct pl_leadership *l, enum pl_lead_change change, const char *text)
{
    if (l->status != NULL)
        pl_series_set(l->status, change == PL_LEAD_GAINED);
    if (l->o.changed != NULL)
        l->o.changed(l->o.arg, change, text);
}

/* ---- callbacks of the election ---- */

static void on_started(void *arg)
{
    struct pl_leadership *l = arg;
    l->since_ns = leadership_now(l);
    leadership_tell(l, PL_LEAD_GAINED, "");
    l->led->set_leading(l->led_arg, true);
}

/* This is not the end of the lead: runs continue, and their writes are refused until it is renewed.
 */
static void on_leadership_closed(void *arg)
{
    struct pl_leadership *l = arg;
    pl_gate_cut(pl_cluster_gate(l->o.cluster));
}

static void on_reopened(void *arg)
{
    PL_UNUSED(arg); /* the fence asks the election itself */
}

static void on_lost(void *arg, const char *why)
{
    struct pl_leadership *l = arg;
    l->campaigning = false;
    l->since_ns = leadership_now(l);
    /* First the requests that could still do harm, whatever hangs elsewhere (F34). */
    pl_gate_cut(pl_cluster_gate(l->o.cluster));
    l->led->set_leading(l->led_arg, false);
    leadership_tell(l, PL_LEAD_LOST, why);
    if (!l->o.standby_on_loss)
        l->led->lose(l->led_arg);
    else
        pl_leadership_check(l);
}

static void on_leader(void *arg, const char *identity)
{
    struct pl_leadership *l = arg;
    PL_UNUSED(identity);
    l->since_ns = leadership_now(l);
}

static const struct pl_election_ops election_ops = {on_started, on_leadership_closed, on_reopened,
                                                    on_lost, on_leader};

int pl_leadership_check_times(int64_t lease_duration_ns, int64_t renew_deadline_ns,
                              int64_t retry_period_ns, struct pl_err *err)
{
    const struct pl_election_options options = {
        .identity = "some",
        .lease_duration_ns = lease_duration_ns,
        .renew_deadline_ns = renew_deadline_ns,
        .retry_period_ns = retry_period_ns,
        .ops = &election_ops,
    };
    return pl_election_check(&options, err);
}

/* ---- lifetime ---- */

static void create_election(struct pl_leadership *l)
{
    struct pl_election_options election = l->o.election;
    election.ops = &election_ops;
    election.arg = l;
    l->election = pl_election_create(&election);
}

static void on_failed(void *arg, int exit_code)
{
    struct pl_leadership *l = arg;
    l->led->fail(l->led_arg, exit_code);
}

static const struct pl_shard_member_ops member_ops = {on_lost, on_failed};

static void create_sharer(struct pl_leadership *l)
{
    const struct pl_election_options *election = &l->o.election;
    struct pl_site *site = pl_cluster_site(l->o.cluster);
    const struct pl_shard_member_options options = {
        .shards = pl_site_shards(site),
        .leases = l->o.leases,
        .timers = election->timers,
        .rand = election->rand,
        .metrics = pl_site_metrics(site),
        .lease = election->owner,
        .hostname = l->o.hostname,
        .lease_duration_ns = election->lease_duration_ns,
        .renew_deadline_ns = election->renew_deadline_ns,
        .retry_period_ns = election->retry_period_ns,
        .settle_ns = l->o.settle_ns,
        .ops = &member_ops,
        .arg = l,
    };
    l->member = pl_shard_member_create(&options);
}

struct pl_leadership *pl_leadership_create(const struct pl_leadership_options *options)
{
    struct pl_leadership *l = PL_NEW(struct pl_leadership);
    l->o = *options;
    l->name = pl_strdup(options->name);
    l->lease = pl_strdup(options->election.owner);
    l->fence = (struct pl_fence){may_write, l};
    if (options->leases != NULL)
        create_sharer(l);
    else
        create_election(l);
    l->since_ns = leadership_now(l);
    struct pl_metrics *metrics = pl_site_metrics(pl_cluster_site(options->cluster));
    if (metrics != NULL) {
        struct pl_metric_spec spec = {.name = "leader_election_master_status",
                                      .help = "1 on the replica that leads, 0 on a standby.",
                                      .type = PL_METRIC_GAUGE,
                                      .labels = {"name"}};
        const char *const values[] = {l->name};
        l->status = pl_metric_series(pl_metrics_add(metrics, &spec), values);
        pl_series_set(l->status, 0);
    }
    pl_gate_fence(pl_cluster_gate(options->cluster), &l->fence);
    return l;
}

void pl_leadership_destroy(struct pl_leadership *l)
{
    if (l == NULL)
        return;
    pl_election_destroy(l->election);
    pl_shard_member_destroy(l->member);
    pl_free(l->name);
    pl_free(l->lease);
    pl_free(l);
}

/* ---- questions ---- */

const struct pl_shard_member *pl_leadership_member(const struct pl_leadership *l)
{
    return l->member;
}

bool pl_leadership_is_leading(const struct pl_leadership *l)
{
    return l->member != NULL ? l->campaigning : pl_election_is_leading(l->election);
}

bool pl_leadership_is_healthy(const struct pl_leadership *l)
{
    return l->member != NULL || pl_election_is_healthy(l->election);
}

void pl_leadership_describe(const struct pl_leadership *l, struct pl_buf *out)
{
    if (l->member != NULL) {
        pl_shard_member_describe(l->member, out);
        return;
    }
    const char *holder = pl_election_holder(l->election);
    double seconds = (double)(leadership_now(l) - l->since_ns) / (double)PL_SECOND;
    if (pl_election_is_leading(l->election))
        pl_buf_add_f(out, "leader of lease %s as %s for %.1f s%s", l->lease,
                     pl_election_identity_of(l->election), seconds,
                     pl_election_may_write(l->election) ? "" : ", writes stopped: not renewed");
    else if (!l->campaigning)
        pl_buf_add_f(out, "standby: does not campaign for lease %s %s", l->lease,
                     l->stopping ? "any more" : "before a leader-only controller could run");
    else if (holder[0] == '\0')
        pl_buf_add_f(out, "standby: campaigns for lease %s, which no replica seems to hold",
                     l->lease);
    else
        pl_buf_add_f(out, "standby because %s holds lease %s, seen for %.1f s", holder, l->lease,
                     seconds);
}

/* ---- for the manager ---- */

void pl_leadership_bind(struct pl_leadership *l, const struct pl_led_ops *ops, void *arg)
{
    l->led = ops;
    l->led_arg = arg;
}

void pl_leadership_check(struct pl_leadership *l)
{
    if (l->campaigning || l->stopping || !l->led->may_campaign(l->led_arg))
        return;
    l->campaigning = true;
    if (l->member == NULL) {
        pl_election_campaign(l->election);
        return;
    }
    /* Controllers may run from now on: keys are ours as soon as their shards are. */
    pl_shard_member_join(l->member);
    on_started(l);
}

static void on_let_go(void *arg)
{
    PL_UNUSED(arg);
}

void pl_leadership_stopping(struct pl_leadership *l)
{
    l->stopping = true;
    if (l->member != NULL) {
        pl_shard_member_leave(l->member);
        return;
    }
    if (pl_election_is_leading(l->election))
        return;
    l->campaigning = false;
    pl_election_stop(l->election, false, on_let_go, l);
}

static void on_leadership_stopped(void *arg)
{
    struct pl_leadership *l = arg;
    l->ended(l->ended_arg);
}

void pl_leadership_end(struct pl_leadership *l, bool release, void (*ended)(void *arg), void *arg)
{
    bool leading = pl_leadership_is_leading(l);
    l->stopping = true;
    l->campaigning = false;
    l->ended = ended;
    l->ended_arg = arg;
    if (l->member != NULL)
        pl_shard_member_end(l->member, release && l->o.election.release_on_exit,
                            on_leadership_stopped, l);
    else
        pl_election_stop(l->election, release, on_leadership_stopped, l);
    if (leading)
        leadership_tell(l, PL_LEAD_RELEASED, "");
}
