/* The clusters besides the host's own: scripts name them (perilune.cluster), and each has its own
 * client, informers, gate and metrics. Its address and credentials are read later, by another
 * thread or from a Secret of the host's cluster. Until then every request to it fails with the
 * reason, so that an unreachable cluster delays no other. I/O thread. */
#pragma once

#include "cluster/cluster.h"
#include "event/remote_spec.h"
#include "kube/kubeconfig.h"

struct pl_loop;
struct pl_remotes;

/* The texts user_agent and instance are copied; all other fields are borrowed for life. */
struct pl_remotes_options {
    struct pl_cluster *home;
    struct pl_client_options client;    /* each cluster has its own config */
    struct pl_cluster_options cluster;  /* each cluster has its own client, name and home */
    struct pl_kubeconfig_options files; /* sources of kubeconfigs, when a spec names none */
    struct pl_loop *loop;
};

/* The caller owns the remotes. */
struct pl_remotes *pl_remotes_create(const struct pl_remotes_options *options);
/* Every cluster must be idle, as for pl_cluster_destroy. Accepts NULL. */
void pl_remotes_destroy(struct pl_remotes *remotes);
/* Stops reading addresses and credentials; call it before the home cluster may become idle. */
void pl_remotes_stop(struct pl_remotes *remotes);

/* The cluster of this spec; equal specs give the same cluster. Borrowed while the remotes exist. */
struct pl_cluster *pl_remotes_take(struct pl_remotes *remotes, const struct pl_remote_spec *spec);

struct pl_remote_state {
    struct pl_cluster *cluster;
    const char *name;
    const char *server;  /* NULL: unknown yet */
    const char *from;    /* the source of the configuration */
    const char *trouble; /* why it is unreachable, as far as known here; NULL: no trouble */
};
size_t pl_remotes_count(const struct pl_remotes *remotes);
void pl_remotes_state(const struct pl_remotes *remotes, size_t i, struct pl_remote_state *out);
