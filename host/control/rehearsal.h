/* A controller's keys, run by a candidate beside the running one and compared with it. Its own
 * queue: nothing of the running controller waits for it. I/O thread.
 *
 * At the beginning each cached For object's key is run once, at low priority, while the running
 * controller has nothing to do with it; and each run of the running controller is followed by one
 * of the candidate that sees what the running one found: the objects that it wrote, as they were
 * before. Nothing is retried, requeued or paused. */
#pragma once

#include "write/capture.h"
#include "control/edition.h"

struct pl_rehearsal;

struct pl_rehearsed {
    struct pl_slice key;
    /* What the running controller's run did; NULL: it is at rest. */
    const struct pl_capture *running;
    const struct pl_capture *candidate;
    bool running_failed; /* with an error of whatever kind */
    const char *error;   /* the candidate's; NULL: none */
};

struct pl_rehearsal_options {
    struct pl_cluster *cluster;          /* borrowed for life, as is what follows */
    const struct pl_reconciler_ops *ops; /* the candidate's */
    void *self;
    struct pl_edition *edition;    /* the candidate's, open and synced; NULL: it has none */
    struct pl_controller *running; /* NULL: only the candidate has it */
    void (*compared)(void *arg, const struct pl_rehearsed *rehearsed);
    void *arg;
};

/* Begins. */
struct pl_rehearsal *pl_rehearsal_create(const struct pl_rehearsal_options *options);
/* Takes nothing more, cancels what is under way and lets go of the running controller. */
void pl_rehearsal_stop(struct pl_rehearsal *rehearsal);
/* Nothing is under way. */
bool pl_rehearsal_is_quiet(const struct pl_rehearsal *rehearsal);
/* Stopped and quiet; accepts NULL. */
void pl_rehearsal_destroy(struct pl_rehearsal *rehearsal);

struct pl_rehearsal_stats {
    size_t pending; /* keys and runs that are not done */
    bool walking;   /* not every key is queued yet */
    uint64_t runs;  /* compared */
    /* Runs of the running controller that were not followed: too many at once, or an object was
     * changed by somebody else while the run wrote to it. */
    uint64_t skipped;
};
void pl_rehearsal_stats(const struct pl_rehearsal *rehearsal, struct pl_rehearsal_stats *stats);
