/* The clusters besides the host's own: scripts name them (perilune.cluster), and each is a cluster
 * like the own one, with a client, informers, a gate and metrics of its own. How it is reached is
 * read later, by another thread or from a Secret of the own cluster; until then every request to it
 * fails with the reason, so that one that is away stops nobody else. I/O thread. */
#pragma once

#include "cluster/cluster.h"
#include "event/remote_spec.h"
#include "kube/kubeconfig.h"

struct pl_loop;
struct pl_remotes;

#define PL_REMOTES_MAX 64

/* The texts user_agent and instance are copied; all else is borrowed for life. */
struct pl_remotes_options {
    struct pl_cluster *home;
    struct pl_client_options client;    /* its config is each cluster's own */
    struct pl_cluster_options cluster;  /* its client, name and home are each cluster's own */
    struct pl_kubeconfig_options files; /* where kubeconfigs are, when a spec names none */
    struct pl_loop *loop;
};

struct pl_remotes *pl_remotes_create(const struct pl_remotes_options *options);
/* Every cluster must be idle, as pl_cluster_destroy says. Accepts NULL. */
void pl_remotes_destroy(struct pl_remotes *remotes);
/* No more tries to find out how they are reached: before the home cluster may become idle. */
void pl_remotes_stop(struct pl_remotes *remotes);

/* The cluster of this spec; one that equals an earlier one is that one. Borrowed for as long as the
 * remotes live. */
struct pl_cluster *pl_remotes_take(struct pl_remotes *remotes, const struct pl_remote_spec *spec);

struct pl_remote_state {
    struct pl_cluster *cluster;
    const char *name;
    const char *server;  /* NULL: not known yet */
    const char *from;    /* where it is read from */
    const char *trouble; /* why it cannot be reached, as far as that is known here; NULL: nothing */
};
size_t pl_remotes_count(const struct pl_remotes *remotes);
void pl_remotes_state(const struct pl_remotes *remotes, size_t i, struct pl_remote_state *out);
