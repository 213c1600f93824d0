/* Everything that hangs on one API server: the site (connection, discovery), the informers, the
 * write gate, the recorder of Events, the history of keys. I/O thread. */
#pragma once

#include "cluster/history.h"
#include "sync/informers.h"
#include "sync/site.h"
#include "write/gate.h"

struct pl_cluster;
struct pl_object_ref;
struct pl_recorder;

struct pl_cluster_options {
    struct pl_site_options site; /* its `say` is the cluster's to set */
    char **namespaces;           /* --namespace; NULL: all. Copied. */
    bool dry_run;
    /* Of a cluster that is not the host's own: its name, copied, and the host's own, whose stop,
     * fence and idleness count for both. NULL: it is the host's own. */
    const char *name;
    struct pl_cluster *home;
    const char *instance;             /* who reports Events; NULL: "perilune". Copied. */
    const struct pl_object_ref *self; /* the pod that we are (recorder.h); NULL: none. Copied. */
};

/* The caller owns it. */
struct pl_cluster *pl_cluster_create(const struct pl_cluster_options *options);
/* The site must be idle, and every informer have been given back. Accepts NULL. */
void pl_cluster_destroy(struct pl_cluster *cluster);
/* And those of the clusters whose home it is. Stops every informer, whoever holds references to it;
 * Events are sent off. */
void pl_cluster_stop(struct pl_cluster *cluster);

/* What is returned is borrowed, and lives as long as the cluster. */
struct pl_site *pl_cluster_site(struct pl_cluster *cluster);
struct pl_informers *pl_cluster_informers(struct pl_cluster *cluster);
struct pl_gate *pl_cluster_gate(struct pl_cluster *cluster);
struct pl_recorder *pl_cluster_recorder(struct pl_cluster *cluster);
/* NULL: the host's own. */
const char *pl_cluster_name(const struct pl_cluster *cluster);
/* The others, which scripts name (cluster/remotes.h); NULL: there are none. Borrowed. */
struct pl_remotes;
void pl_cluster_set_remotes(struct pl_cluster *home, struct pl_remotes *remotes);
struct pl_remotes *pl_cluster_remotes(const struct pl_cluster *home);
/* Where runs of its controllers are told to (cluster/tracer.h); NULL: nowhere. Borrowed. */
struct pl_tracer;
void pl_cluster_set_tracer(struct pl_cluster *cluster, struct pl_tracer *tracer);
struct pl_tracer *pl_cluster_tracer(const struct pl_cluster *cluster);
/* What happened to the keys of its controllers. */
struct pl_history *pl_cluster_history(struct pl_cluster *cluster);
