/* Runs a controller's keys with a candidate beside the running controller, and compares the
 * effects. It has its own queue: the running controller never waits for it. I/O thread.
 *
 * At the beginning the key of each cached For object is run once, at low priority, while the
 * running controller is not working on it. After that, each run of the running controller is
 * followed by a run of the candidate. This run sees the objects that the running one found: objects
 * that it wrote, as they were before. Keys are not retried, requeued or paused. */
#pragma once

#include "write/capture.h"
#include "control/edition.h"

struct pl_rehearsal;

struct pl_rehearsed {
    struct pl_slice key;
    /* The effects of the running controller's run; NULL: the key is at rest. */
    const struct pl_capture *running;
    const struct pl_capture *candidate;
    bool running_failed; /* it ended with an error of any kind */
    const char *error;   /* the candidate's error; NULL: none */
};

struct pl_rehearsal_options {
    struct pl_cluster *cluster;          /* borrowed for life, like the following fields */
    const struct pl_reconciler_ops *ops; /* the candidate's */
    void *self;
    struct pl_edition
        *edition; /* the candidate's edition, open and synced; NULL: it has no such controller */
    struct pl_controller *running; /* NULL: only the candidate has it */
    void (*compared)(void *arg, const struct pl_rehearsed *rehearsed);
    void *arg;
};

/* Starts it. The caller owns the result. */
struct pl_rehearsal *pl_rehearsal_create(const struct pl_rehearsal_options *options);
/* Takes no more keys, cancels work under way and releases the running controller. */
void pl_rehearsal_stop(struct pl_rehearsal *rehearsal);
/* True when no work is under way. */
bool pl_rehearsal_is_quiet(const struct pl_rehearsal *rehearsal);
/* It must be stopped and quiet; accepts NULL. */
void pl_rehearsal_destroy(struct pl_rehearsal *rehearsal);

struct pl_rehearsal_stats {
    size_t pending; /* keys and runs that are still to be compared */
    bool walking;   /* not all keys are queued yet */
    uint64_t runs;  /* compared runs */
    /* Runs of the running controller that were not followed: there were too many at once, or
     * another client changed an object while the run wrote to it. */
    uint64_t skipped;
};
void pl_rehearsal_stats(const struct pl_rehearsal *rehearsal, struct pl_rehearsal_stats *stats);
