/* A controller: sources queue its keys, and runs reconcile them. I/O thread. */
#pragma once

#include "base/buf.h"
#include "event/controller_spec.h"
#include "control/reconciler.h"
#include "store/workqueue.h"

struct pl_cluster;
struct pl_informer;
struct pl_writer;

/* The end of a run, for the guard of a reload. */
struct pl_ran {
    const struct pl_run *run;
    const struct pl_outcome_of_run *outcome;
    bool failed_before; /* the key has been failing since an earlier edition */
};

struct pl_controller_options {
    struct pl_cluster *cluster;          /* borrowed for life */
    const struct pl_reconciler_ops *ops; /* borrowed for life */
    void *self;                          /* of ops */
    /* Called at the end of a run. May be NULL. */
    void (*ran)(void *arg, const struct pl_ran *ran);
    void *ran_arg;
    /* Called before one of several ready keys is taken. It may give one a higher priority. No key
     * is prefetched then. NULL: the queue's order. */
    void (*order)(void *arg, struct pl_controller *controller);
    void *order_arg;
    size_t map_retries_max; /* limit of objects that wait for their map function; 0: 100,000 */
    bool unmeasured;        /* not a controller of scripts: it has no metrics */
};

/* Takes the spec's content. Does not start it. The caller owns the controller, until a manager
 * takes it. */
struct pl_controller *pl_controller_create(const struct pl_controller_options *options,
                                           struct pl_controller_spec *spec);
/* After it has stopped. */
void pl_controller_destroy(struct pl_controller *controller);

/* Subscribes to its informers. Workers start when all have synced (rule 132) and may_run is set. If
 * a key may have several events of first lists, they start only when all these were delivered. */
void pl_controller_start(struct pl_controller *controller);
/* For leader-only controllers: the lead was gained or lost. Losing it cancels runs. */
void pl_controller_set_may_run(struct pl_controller *controller, bool may_run);
/* For other controllers: cancels runs that began under a leader-only spec. */
void pl_controller_lead_lost(struct pl_controller *controller);
/* Starts no new runs; stopped is called when running ones have ended. Idempotent. */
void pl_controller_stop(struct pl_controller *controller, void (*stopped)(void *arg), void *arg);
/* After it has stopped: releases its informers. */
void pl_controller_release_sources(struct pl_controller *controller);
/* True when there is no run, no question and no deferred work: it may be destroyed. */
bool pl_controller_is_quiet(const struct pl_controller *controller);
/* Cancels every run (at the end of the grace period). */
void pl_controller_cancel_runs(struct pl_controller *controller);

/* The current edition as a writer; lives as long as the controller. */
const struct pl_writer *pl_controller_writer(const struct pl_controller *controller);
/* The spec of the current edition; borrowed until the controller adopts another. */
const struct pl_controller_spec *pl_controller_spec(const struct pl_controller *controller);
/* The informer of source i of the current edition; NULL before start. The edition holds the
 * reference. */
struct pl_informer *pl_controller_informer(const struct pl_controller *controller, size_t source);
bool pl_controller_has_synced(const struct pl_controller *controller);
/* True if it has not synced, and all sources that it waits for are in other clusters. */
bool pl_controller_waits_elsewhere(const struct pl_controller *controller);
bool pl_controller_is_running(const struct pl_controller *controller); /* workers started */
/* True when it could run, but may not, and none of its earlier runs is left. */
bool pl_controller_is_standing_by(const struct pl_controller *controller);
size_t pl_controller_in_flight(const struct pl_controller *controller);
/* Runs that were handed to the reconciler ahead and have not begun go back to their places in the
 * queue. */
void pl_controller_take_back(struct pl_controller *controller);
/* The number of runs that began under a leader-only spec, whatever the current spec says. */
size_t pl_controller_running_as_leader(const struct pl_controller *controller);
/* Delayed keys run so much later than they are due, unless others wake the controller. 0: in time.
 */
void pl_controller_set_lateness(struct pl_controller *controller, int64_t ns);
/* cache_sync_timeout, or its default. */
int64_t pl_controller_sync_timeout(const struct pl_controller_spec *spec);
/* True when it has waited for its sources for longer than cache_sync_timeout. */
bool pl_controller_sync_timed_out(const struct pl_controller *controller);
/* Lives as long as the controller. */
struct pl_workqueue *pl_controller_queue(struct pl_controller *controller);
/* Queues a key on request (enqueue, reload). */
void pl_controller_enqueue(struct pl_controller *controller, struct pl_slice key,
                           const struct pl_add *how, enum pl_cause_type cause);

/* A message was sent into a channel that it watches. */
void pl_controller_send(struct pl_controller *controller, const char *channel, struct pl_slice key);
bool pl_controller_watches_channel(const struct pl_controller *controller, struct pl_slice name);

/* Follows every run of a controller. Borrowed until another one, or NULL, is set. */
struct pl_run_watcher {
    /* A run has ended. Its capture has its effects; NULL: it had begun before. */
    void (*ran)(void *arg, struct pl_controller *controller, const struct pl_run *run,
                const struct pl_outcome_of_run *outcome);
    void *arg;
};
void pl_controller_watch_runs(struct pl_controller *controller,
                              const struct pl_run_watcher *watcher);
/* True when no generation declares it any more; it is destroyed after its last run. */
bool pl_controller_is_retired(const struct pl_controller *controller);

/* For the manager: calls changed whenever it has begun to run or to stand by, or its time to sync
 * is over. */
void pl_controller_on_change(struct pl_controller *controller,
                             void (*changed)(void *arg, struct pl_controller *controller),
                             void *arg);
/* If it has not synced: appends each source that keeps it from running, with its trouble and its
 * wait. */
void pl_controller_explain(const struct pl_controller *controller, struct pl_buf *out);
