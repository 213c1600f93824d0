/* A controller: sources that queue keys, and runs that reconcile them. I/O thread. */
#pragma once

#include "base/buf.h"
#include "event/controller_spec.h"
#include "control/reconciler.h"
#include "store/workqueue.h"

struct pl_cluster;
struct pl_informer;
struct pl_writer;

/* How a run ended, for whoever judges a reload. */
struct pl_ran {
    const struct pl_run *run;
    const struct pl_outcome_of_run *outcome;
    bool failed_before; /* the key's failing began under an earlier edition */
};

struct pl_controller_options {
    struct pl_cluster *cluster;          /* borrowed for life */
    const struct pl_reconciler_ops *ops; /* borrowed for life */
    void *self;                          /* of ops */
    /* A run ended. NULL: nobody wants to know. */
    void (*ran)(void *arg, const struct pl_ran *ran);
    void *ran_arg;
    size_t map_retries_max; /* objects that wait for their map function; 0: 100,000 */
    bool unmeasured;        /* none of the scripts' own: it has no metrics */
};

/* Takes the spec's content. Starts nothing. */
struct pl_controller *pl_controller_create(const struct pl_controller_options *options,
                                           struct pl_controller_spec *spec);
/* After it has stopped. */
void pl_controller_destroy(struct pl_controller *controller);

/* Subscribes to its informers; workers start when all have synced (rule 132) and may_run is set.
 * Where a key may have several events of first lists, they start when all of these were told. */
void pl_controller_start(struct pl_controller *controller);
/* Leader-only controllers: gained or lost the lead. Losing cancels runs. */
void pl_controller_set_may_run(struct pl_controller *controller, bool may_run);
/* Of others: cancels the runs that began when their spec was one for leaders only. */
void pl_controller_lead_lost(struct pl_controller *controller);
/* No new runs; stopped is called once running ones have ended. Idempotent. */
void pl_controller_stop(struct pl_controller *controller, void (*stopped)(void *arg), void *arg);
/* Of a controller that has stopped: gives its informers back. */
void pl_controller_release_sources(struct pl_controller *controller);
/* No run, no question and nothing deferred: it may be destroyed. */
bool pl_controller_is_quiet(const struct pl_controller *controller);
/* Cancels every run (the grace period is over). */
void pl_controller_cancel_runs(struct pl_controller *controller);

/* The current edition, as its writes see it; lives as long as the controller. */
const struct pl_writer *pl_controller_writer(const struct pl_controller *controller);
const struct pl_controller_spec *pl_controller_spec(const struct pl_controller *controller);
/* The informer behind source i of the current edition; NULL before start. */
struct pl_informer *pl_controller_informer(const struct pl_controller *controller, size_t source);
bool pl_controller_has_synced(const struct pl_controller *controller);
bool pl_controller_is_running(const struct pl_controller *controller); /* workers started */
/* It could run, but may not, and none of its runs is left from when it might. */
bool pl_controller_is_standing_by(const struct pl_controller *controller);
size_t pl_controller_in_flight(const struct pl_controller *controller);
/* What was handed to the reconciler to follow another run, and has not begun, goes back to its
 * place in the queue. */
void pl_controller_take_back(struct pl_controller *controller);
/* Those of them that began under a spec for leaders only, whatever the spec of today says. */
size_t pl_controller_running_as_leader(const struct pl_controller *controller);
/* cache_sync_timeout, or its default. */
int64_t pl_controller_sync_timeout(const struct pl_controller_spec *spec);
/* How long it has been waiting for its sources, for "could not start within cache_sync_timeout". */
bool pl_controller_sync_timed_out(const struct pl_controller *controller);
struct pl_workqueue *pl_controller_queue(struct pl_controller *controller);
/* Queues a key from outside (enqueue, reload). */
void pl_controller_enqueue(struct pl_controller *controller, struct pl_slice key,
                           const struct pl_add *how, enum pl_cause_type cause);

/* Something was sent into a channel that it watches. */
void pl_controller_send(struct pl_controller *controller, const char *channel, struct pl_slice key);
bool pl_controller_watches_channel(const struct pl_controller *controller, struct pl_slice name);

/* Somebody who follows every run. Borrowed until another one, or NULL, is set. */
struct pl_run_watcher {
    /* A run ended. Its capture holds what it did; NULL: it had begun before. */
    void (*ran)(void *arg, struct pl_controller *controller, const struct pl_run *run,
                const struct pl_outcome_of_run *outcome);
    void *arg;
};
void pl_controller_watch_runs(struct pl_controller *controller,
                              const struct pl_run_watcher *watcher);
/* Nothing declares it any more; it goes when its last run has ended. */
bool pl_controller_is_retired(const struct pl_controller *controller);

/* Calls changed whenever it began to run or to stand by, or its time to sync ran out: for the
 * manager. */
void pl_controller_on_change(struct pl_controller *controller,
                             void (*changed)(void *arg, struct pl_controller *controller),
                             void *arg);
/* Of one that has not synced: appends each source that keeps it from running, with its trouble and
 * what it waits for. */
void pl_controller_explain(const struct pl_controller *controller, struct pl_buf *out);
