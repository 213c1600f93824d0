/* All parts of one API server's connection: the site (client, discovery), the informers, the write
 * gate, the recorder of Events, the history of keys. I/O thread. */
#pragma once

#include "cluster/history.h"
#include "sync/informers.h"
#include "sync/site.h"
#include "write/gate.h"

struct pl_cluster;
struct pl_object_ref;
struct pl_recorder;

struct pl_cluster_options {
    struct pl_site_options site; /* the cluster sets its `say` */
    char **namespaces;           /* --namespace; NULL: all. Copied. */
    bool dry_run;
    /* For a cluster other than the host's own: its name, copied, and the host's own cluster, whose
     * stop, fence and idleness apply to both. NULL: this is the host's own. */
    const char *name;
    struct pl_cluster *home;
    const char *instance;             /* who reports Events; NULL: "perilune". Copied. */
    const struct pl_object_ref *self; /* our own pod (recorder.h); NULL: none. Copied. */
};

/* The caller owns it. */
struct pl_cluster *pl_cluster_create(const struct pl_cluster_options *options);
/* The site must be idle, and all informers must have been released. Accepts NULL. */
void pl_cluster_destroy(struct pl_cluster *cluster);
/* Also stops the clusters whose home it is. Stops every informer, even if there are references to
 * it; pending Events are sent. */
void pl_cluster_stop(struct pl_cluster *cluster);

/* The results are borrowed, and live as long as the cluster. */
struct pl_site *pl_cluster_site(struct pl_cluster *cluster);
struct pl_informers *pl_cluster_informers(struct pl_cluster *cluster);
struct pl_gate *pl_cluster_gate(struct pl_cluster *cluster);
struct pl_recorder *pl_cluster_recorder(struct pl_cluster *cluster);
/* The other clusters that scripts name (cluster/remotes.h); NULL: none. Borrowed. */
struct pl_remotes;
void pl_cluster_set_remotes(struct pl_cluster *home, struct pl_remotes *remotes);
struct pl_remotes *pl_cluster_remotes(const struct pl_cluster *home);
/* The tracer for runs of its controllers (cluster/tracer.h); NULL: none. Borrowed. */
struct pl_tracer;
void pl_cluster_set_tracer(struct pl_cluster *cluster, struct pl_tracer *tracer);
struct pl_tracer *pl_cluster_tracer(const struct pl_cluster *cluster);
/* The history of its controllers' keys. Part of the cluster. */
struct pl_history *pl_cluster_history(struct pl_cluster *cluster);
