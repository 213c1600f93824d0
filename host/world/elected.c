/* The election of a host without the parts that belong to a process: flags, probes, Events about
 * the Lease, and the guard against a machine that slept. */
#include "world/elected.h"

#include "base/alloc.h"
#include "cluster/cluster.h"
#include "lead/lease.h"

#define LEASE_NAMESPACE "default"
#define LEASE_DURATION  (15 * PL_SECOND)
#define RENEW_DEADLINE  (10 * PL_SECOND)
#define RETRY_PERIOD    (2 * PL_SECOND)

struct pl_elected {
    char *name, *lease_name; /* owned; lease_name is "ns/name" */
    char identity[PL_LEASE_HOLDER];
    struct pl_lease *lease;
    struct pl_leadership *leadership;
};

struct pl_elected *pl_elected_create(struct pl_cluster *cluster, const char *host,
                                     const char *controller)
{
    struct pl_elected *elected = PL_NEW(struct pl_elected);
    struct pl_site *site = pl_cluster_site(cluster);
    elected->name = pl_format("perilune-%s", controller);
    elected->lease_name = pl_format("%s/%s", LEASE_NAMESPACE, elected->name);
    pl_election_identity(pl_site_rand(site), host, elected->identity);
    const struct pl_lease_options lease = {
        .client = pl_site_client(site),
        .ns = LEASE_NAMESPACE,
        .name = elected->name,
        .request_timeout_ns = pl_lease_request_timeout(RENEW_DEADLINE),
        .silence_ns = LEASE_DURATION,
    };
    elected->lease = pl_lease_create(&lease);
    const struct pl_leadership_options leadership = {
        .cluster = cluster,
        .hostname = host,
        .election = {.lock = pl_lease_lock(elected->lease),
                     .timers = pl_site_timers(site),
                     .clock = pl_site_timers(site)->clock,
                     .rand = pl_site_rand(site),
                     .waits = pl_site_waits(site),
                     .owner = elected->lease_name,
                     .identity = elected->identity,
                     .lease_duration_ns = LEASE_DURATION,
                     .renew_deadline_ns = RENEW_DEADLINE,
                     .retry_period_ns = RETRY_PERIOD,
                     .release_on_exit = true,
                     .health_tolerance_ns = PL_ELECTION_TOLERANCE},
        .name = elected->name,
        .standby_on_loss = true,
    };
    elected->leadership = pl_leadership_create(&leadership);
    return elected;
}

void pl_elected_destroy(struct pl_elected *elected)
{
    if (elected == NULL)
        return;
    pl_leadership_destroy(elected->leadership);
    pl_lease_destroy(elected->lease);
    pl_free(elected->name);
    pl_free(elected->lease_name);
    pl_free(elected);
}

struct pl_leadership *pl_elected_leadership(const struct pl_elected *elected)
{
    return elected != NULL ? elected->leadership : NULL;
}
