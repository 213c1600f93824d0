/* Everything that hangs on one API server: connection, discovery, informers, gate. Never on
 * the process, so that a second cluster can be added. I/O thread. */
#pragma once

#include "base/metrics.h"
#include "base/rand.h"
#include "base/task.h"
#include "base/timer.h"
#include "base/wait.h"
#include "control/gate.h"
#include "control/history.h"
#include "control/informer.h"
#include "control/reconnect.h"
#include "kube/client.h"
#include "kube/discovery.h"
#include "value/pool.h"

struct pl_cluster;
struct pl_object_ref;
struct pl_recorder;

struct pl_cluster_options {
    struct pl_client *client; /* borrowed for life, as is everything below */
    struct pl_timers *timers;
    struct pl_rand *rand;
    struct pl_waits *waits;
    struct pl_pool *pool;
    struct pl_metrics *metrics; /* NULL: none */
    /* Runs task->run later in this turn (pl_loop_defer behind it; tests have their own). */
    void (*defer)(void *arg, struct pl_task *task, void (*run)(struct pl_task *task));
    void *defer_arg;
    char **namespaces; /* --namespace; NULL: all. Copied. */
    bool dry_run;
    const char *instance;             /* who reports Events; NULL: "perilune". Copied. */
    const struct pl_object_ref *self; /* the pod that we are (recorder.h); NULL: none. Copied. */
    bool stream_lists; /* lists come as the beginning of watches where the server does that */
};

struct pl_cluster *pl_cluster_create(const struct pl_cluster_options *options);
/* The cluster must be idle, and every informer have been released. */
void pl_cluster_destroy(struct pl_cluster *cluster);
/* Stops every informer, whoever holds references to it; Events are sent off. */
void pl_cluster_stop_informers(struct pl_cluster *cluster);
/* Every informer has ended, and no read or write is under way. */
bool pl_cluster_is_idle(const struct pl_cluster *cluster);
/* Calls back once, later, when it is idle; one caller at a time; NULL forgets it. */
void pl_cluster_on_idle(struct pl_cluster *cluster, void (*on_idle)(void *arg), void *arg);

struct pl_client *pl_cluster_client(struct pl_cluster *cluster);
struct pl_discovery *pl_cluster_discovery(struct pl_cluster *cluster);
struct pl_gate *pl_cluster_gate(struct pl_cluster *cluster);
struct pl_recorder *pl_cluster_recorder(struct pl_cluster *cluster); /* control/recorder.h */
struct pl_timers *pl_cluster_timers(struct pl_cluster *cluster);
struct pl_rand *pl_cluster_rand(struct pl_cluster *cluster);
struct pl_waits *pl_cluster_waits(struct pl_cluster *cluster);
struct pl_pool *pl_cluster_pool(struct pl_cluster *cluster);
struct pl_metrics *pl_cluster_metrics(struct pl_cluster *cluster);
/* What happened to the keys of its controllers. */
struct pl_history *pl_cluster_history(struct pl_cluster *cluster);
struct pl_reconnects *pl_cluster_reconnects(struct pl_cluster *cluster);
bool pl_cluster_streams_lists(const struct pl_cluster *cluster);
void pl_cluster_defer(struct pl_cluster *cluster, struct pl_task *task,
                      void (*run)(struct pl_task *task));

/* The informer for these options (those of the host's --namespace applied), with a reference for
 * the caller; a new one starts by itself. */
struct pl_informer *pl_cluster_informer(struct pl_cluster *cluster, const struct pl_kind *kind,
                                        const struct pl_source_options *options);
/* Calls visit for each informer of the kind (gate: write through; metrics). */
void pl_cluster_each_informer(struct pl_cluster *cluster, const struct pl_kind *kind,
                              void (*visit)(void *arg, struct pl_informer *informer), void *arg);

/* For the parts of a cluster: something began or ended that keeps it from being idle; an
 * informer came or went. */
void pl_cluster_hold(struct pl_cluster *cluster);
void pl_cluster_release(struct pl_cluster *cluster);
void pl_cluster_forget_informer(struct pl_cluster *cluster, const struct pl_informer *informer);
size_t pl_cluster_informer_count(const struct pl_cluster *cluster);
struct pl_informer *pl_cluster_informer_at(const struct pl_cluster *cluster, size_t i);

/* ---- live reads: discovery, scope check, request ---- */

struct pl_read {
    enum pl_verb verb; /* GET or LIST */
    struct pl_kind kind;
    /* Copied. */
    struct pl_slice ns, name, subresource, labels, fields, continue_token;
    int64_t limit;
    bool metadata_only, keep_managed_fields;
    int64_t deadline_ns; /* monotonic; 0: the client's own limit */
};
struct pl_read_op;
struct pl_read_op *pl_cluster_read(struct pl_cluster *cluster, const struct pl_read *read,
                                   pl_answer_fn on_answer, void *arg);
void pl_read_op_cancel(struct pl_read_op *op);

/* EINVAL "v1/Pod is namespaced: ..." when ns and scope do not fit. */
int pl_scope_check(const struct pl_resource *resource, struct pl_slice ns, struct pl_slice name,
                   struct pl_err *err);
