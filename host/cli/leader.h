/* Leader election of the host: its flags, and its objects. */
#pragma once

#include "cluster/cluster.h"
#include "command/flags.h"
#include "control/leadership.h"
#include "kube/kubeconfig.h"
#include "serve/health.h"
#include "shard/shards.h"

struct pl_leader_options {
    bool elect, release_on_exit, standby_on_loss;
    const char *name, *ns; /* of the Lease; borrowed from the flags; NULL: the default */
    int64_t lease_duration_ns, renew_deadline_ns, retry_period_ns;
    unsigned shards; /* 0: one replica leads */
    enum pl_shard_by shard_by;
};

/* EINVAL, naming the flags, when the times are inconsistent (rule 112). */
PL_MUST_USE int pl_leader_read(const struct pl_flags *flags, struct pl_leader_options *out,
                               struct pl_err *err);

struct pl_leader;

/* All borrowed for life. */
struct pl_leader_setup {
    const struct pl_leader_options *options;
    const struct pl_kubeconfig *config; /* the pod's namespace */
    struct pl_cluster *cluster;
    const char *first_controller; /* copied */
    int64_t settle_ns;            /* time limit for new shards to settle */
    struct pl_health *health;     /* gets the check "leader-election" (rule 121); NULL: none */
};

/* NULL and err when the Lease's namespace is unknown. Campaigns when the manager says so. Call it
 * on the thread that sends requests. The caller owns the result. */
struct pl_leader *pl_leader_create(const struct pl_leader_setup *setup, struct pl_err *err);
/* After the manager has stopped and the HTTP client was destroyed. Accepts NULL. */
void pl_leader_destroy(struct pl_leader *leader);
/* For the manager; NULL for NULL. Lives as long as the leader. */
struct pl_leadership *pl_leader_leadership(struct pl_leader *leader);
