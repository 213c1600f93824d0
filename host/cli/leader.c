/* Builds leader election from its flags: the Lease's name and namespace, the identity, a check for
 * /healthz, Events. The election itself is in control. Inconsistent times, and a Lease without a
 * known namespace, are refused before anything starts. A release makes no Event: the next leader
 * makes one. */
#include "cli/leader.h"

#include "base/alloc.h"
#include "base/log.h"
#include "lead/lease.h"
#include "control/shard_member.h"
#include "lead/shard_leases.h"
#include "write/recorder.h"

#include <string.h>
#include <unistd.h>

struct pl_leader {
    struct pl_leader_setup o;
    char *ns, *name, *lease_name; /* owned; lease_name is "ns/name" */
    char identity[PL_LEASE_HOLDER];
    struct pl_lease *lease;         /* owned, as is what follows; NULL with shards */
    struct pl_shard_leases *leases; /* NULL without shards */
    struct pl_leadership *leadership;
};

static int read_shards(const struct pl_flags *flags, struct pl_leader_options *out,
                       struct pl_err *err)
{
    if (pl_flags_text(flags, "shards") == NULL)
        return 0;
    if (pl_flags_text(flags, "leader-elect") != NULL && !out->elect)
        return pl_err_set(err, PL_EINVAL,
                          "--shards elects leaders: leave out --no-leader-elect, or --shards");
    if (out->name != NULL && strlen(out->name) > PL_SHARDS_NAME_MAX)
        return pl_err_set(
            err, PL_EINVAL,
            "--leader-elect-resource-name: with --shards at most %d characters, as it "
            "is a label's value",
            PL_SHARDS_NAME_MAX);
    out->elect = true;
    out->shards = (unsigned)pl_flags_integer(flags, "shards");
    out->shard_by = strcmp(pl_flags_text(flags, "shard-by"), "uid") == 0 ? PL_SHARD_BY_UID
                                                                         : PL_SHARD_BY_NAMESPACE;
    return 0;
}

int pl_leader_read(const struct pl_flags *flags, struct pl_leader_options *out, struct pl_err *err)
{
    *out = (struct pl_leader_options){
        .elect = pl_flags_switch(flags, "leader-elect"),
        .release_on_exit = pl_flags_switch(flags, "leader-elect-release-on-exit"),
        .standby_on_loss = strcmp(pl_flags_text(flags, "on-lost-lease"), "standby") == 0,
        .name = pl_flags_text(flags, "leader-elect-resource-name"),
        .ns = pl_flags_text(flags, "leader-elect-resource-namespace"),
        .lease_duration_ns = pl_flags_duration(flags, "leader-elect-lease-duration"),
        .renew_deadline_ns = pl_flags_duration(flags, "leader-elect-renew-deadline"),
        .retry_period_ns = pl_flags_duration(flags, "leader-elect-retry-period"),
    };
    if (read_shards(flags, out, err) != 0)
        return err->code;
    if (!out->elect)
        return 0;
    int code = pl_leadership_check_times(out->lease_duration_ns, out->renew_deadline_ns,
                                         out->retry_period_ns, err);
    if (code != 0)
        pl_err_prefix(err, "--leader-elect-lease-duration, --leader-elect-renew-deadline and "
                           "--leader-elect-retry-period");
    return code;
}

/* ---- Events ---- */

static void on_changed(void *arg, enum pl_lead_change change, const char *text)
{
    struct pl_leader *leader = arg;
    struct pl_recorder *recorder = pl_cluster_recorder(leader->o.cluster);
    if (recorder == NULL || change == PL_LEAD_RELEASED || leader->leases != NULL)
        return; /* the next leader makes one; nothing waits for an Event at the end */
    char *note = pl_lead_note(change, leader->identity, text);
    struct pl_report report = {
        .regarding = {.api_version = pl_slice_z("coordination.k8s.io/v1"),
                      .kind = pl_slice_z("Lease"),
                      .ns = pl_slice_z(leader->ns),
                      .name = pl_slice_z(leader->name)},
        .reason = pl_slice_z(PL_LEAD_REASON),
        .note = pl_slice_z(note),
        .action = pl_slice_z(PL_LEAD_REASON),
    };
    pl_recorder_event(recorder, &report);
    pl_free(note);
}

/* ---- making it ---- */

static int choose_namespace(struct pl_leader *leader, struct pl_err *err)
{
    const struct pl_kubeconfig *config = leader->o.config;
    const char *ns = leader->o.options->ns;
    bool shards = leader->o.options->shards > 0; /* implies --leader-elect */
    const char *flag = shards ? "--shards" : "--leader-elect";
    bool in_cluster = strcmp(config->source, "in-cluster") == 0;
    if (ns == NULL && in_cluster)
        ns = config->ns;
    if (ns == NULL || ns[0] == '\0')
        return pl_err_set(err, PL_EINVAL,
                          "%s needs --leader-elect-resource-namespace outside a cluster: the "
                          "namespace of the Lease%s",
                          flag, shards ? "s" : "");
    if (leader->o.options->name == NULL && leader->o.first_controller == NULL)
        return pl_err_set(err, PL_EINVAL,
                          "%s needs --leader-elect-resource-name when the scripts declare no "
                          "controller: the Lease has the name of the first one",
                          flag);
    leader->ns = pl_strdup(ns);
    return 0;
}

static bool is_healthy(void *arg, struct pl_buf *why)
{
    const struct pl_leader *leader = arg;
    if (pl_leadership_is_healthy(leader->leadership))
        return true;
    pl_leadership_describe(leader->leadership, why);
    return false;
}

/* A replica that cannot become a member is not ready. One without shards is, and one with shards
 * when they have synced. */
static bool leader_is_ready(void *arg, struct pl_buf *why)
{
    const struct pl_leader *leader = arg;
    const struct pl_shards *shards = pl_site_shards(pl_cluster_site(leader->o.cluster));
    const struct pl_shard_member *member = pl_leadership_member(leader->leadership);
    if (pl_membership_is_newcomer(pl_shard_member_membership(member))) {
        pl_leadership_describe(leader->leadership, why);
        return false;
    }
    struct pl_shard_set coming = pl_shards_in(shards, PL_SHARD_COMING);
    if (pl_shard_set_count(&coming) == 0)
        return true;
    pl_buf_add_f(why, "%u new shards have not synced yet", pl_shard_set_count(&coming));
    return false;
}

static void make_lease(struct pl_leader *leader)
{
    const struct pl_leader_options *o = leader->o.options;
    struct pl_lease_options lease = {
        .client = pl_site_client(pl_cluster_site(leader->o.cluster)),
        .ns = leader->ns,
        .name = leader->name,
        .request_timeout_ns = pl_lease_request_timeout(o->renew_deadline_ns),
        .silence_ns = o->lease_duration_ns,
    };
    leader->lease = pl_lease_create(&lease);
}

static void on_filters(void *arg, bool filters)
{
    struct pl_leader *leader = arg;
    pl_site_set_filters_uids(pl_cluster_site(leader->o.cluster), filters);
    pl_log(PL_LOG_INFO, filters ? "the server filters by ranges of uids"
                                : "the server does not filter by ranges of uids");
}

static void make_leases(struct pl_leader *leader)
{
    const struct pl_leader_options *o = leader->o.options;
    struct pl_site *site = pl_cluster_site(leader->o.cluster);
    struct pl_shard_leases_options leases = {
        .client = pl_site_client(site),
        .timers = pl_site_timers(site),
        .clock = pl_site_timers(site)->clock,
        .ns = leader->ns,
        .name = leader->name,
        .request_timeout_ns = pl_lease_request_timeout(o->renew_deadline_ns),
        .silence_ns = o->lease_duration_ns,
        .retry_period_ns = o->retry_period_ns,
        .filters = on_filters,
        .arg = leader,
    };
    leader->leases = pl_shard_leases_create(&leases);
}

static void make_leadership(struct pl_leader *leader, const char *hostname)
{
    const struct pl_leader_options *o = leader->o.options;
    struct pl_cluster *cluster = leader->o.cluster;
    struct pl_leadership_options leadership = {
        .cluster = cluster,
        .leases = leader->leases,
        .hostname = hostname,
        .settle_ns = leader->o.settle_ns,
        .election = {.lock = leader->lease != NULL ? pl_lease_lock(leader->lease)
                                                   : (struct pl_lease_lock){0},
                     .timers = pl_site_timers(pl_cluster_site(cluster)),
                     .clock = pl_site_timers(pl_cluster_site(cluster))->clock,
                     .rand = pl_site_rand(pl_cluster_site(cluster)),
                     .waits = pl_site_waits(pl_cluster_site(cluster)),
                     .owner = leader->lease_name,
                     .identity = leader->identity,
                     .lease_duration_ns = o->lease_duration_ns,
                     .renew_deadline_ns = o->renew_deadline_ns,
                     .retry_period_ns = o->retry_period_ns,
                     .release_on_exit = o->release_on_exit,
                     .health_tolerance_ns = PL_ELECTION_TOLERANCE},
        .name = leader->name,
        .standby_on_loss = o->standby_on_loss,
        .changed = on_changed,
        .arg = leader,
    };
    leader->leadership = pl_leadership_create(&leadership);
}

struct pl_leader *pl_leader_create(const struct pl_leader_setup *setup, struct pl_err *err)
{
    struct pl_leader *leader = PL_NEW(struct pl_leader);
    leader->o = *setup;
    if (choose_namespace(leader, err) != 0) {
        pl_free(leader);
        return NULL;
    }
    leader->name = setup->options->name != NULL ? pl_strdup(setup->options->name)
                                                : pl_format("perilune-%s", setup->first_controller);
    if (setup->options->shards > 0 && strlen(leader->name) > PL_SHARDS_NAME_MAX) {
        pl_err_set(err, PL_EINVAL,
                   "--shards: the Lease's name %s is longer than %d characters; "
                   "--leader-elect-resource-name gives it another",
                   leader->name, PL_SHARDS_NAME_MAX);
        pl_free(leader->ns);
        pl_free(leader->name);
        pl_free(leader);
        return NULL;
    }
    leader->lease_name = pl_format("%s/%s", leader->ns, leader->name);
    char hostname[256] = "";
    if (gethostname(hostname, sizeof(hostname) - 1) != 0 || hostname[0] == '\0')
        strcpy(hostname, "perilune");
    pl_election_identity(pl_site_rand(pl_cluster_site(setup->cluster)), hostname, leader->identity);
    if (setup->options->shards > 0)
        make_leases(leader);
    else
        make_lease(leader);
    make_leadership(leader, hostname);
    pl_fence_guard();
    if (setup->health != NULL)
        pl_health_add(setup->health, PL_PROBE_LIVE, "leader-election", is_healthy, leader);
    if (setup->health != NULL && setup->options->shards > 0)
        pl_health_add(setup->health, PL_PROBE_READY, "shards", leader_is_ready, leader);
    if (setup->options->shards == 0)
        pl_log(PL_LOG_INFO, "leader election", pl_str("lease", leader->lease_name),
               pl_str("identity", leader->identity));
    return leader;
}

void pl_leader_destroy(struct pl_leader *leader)
{
    if (leader == NULL)
        return;
    pl_fence_unguard();
    if (leader->o.health != NULL)
        pl_health_remove(leader->o.health, leader);
    pl_leadership_destroy(leader->leadership);
    pl_lease_destroy(leader->lease);
    pl_shard_leases_destroy(leader->leases);
    pl_free(leader->ns);
    pl_free(leader->name);
    pl_free(leader->lease_name);
    pl_free(leader);
}

struct pl_leadership *pl_leader_leadership(struct pl_leader *leader)
{
    return leader != NULL ? leader->leadership : NULL;
}
