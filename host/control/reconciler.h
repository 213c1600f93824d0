/* The table of functions behind a controller, for reconciling and for predicates, map and index
 * functions that are not built in. The core never sees Lua; `lane` implements this table, and so do
 * the unit tests. All calls happen on the I/O thread. */
#pragma once

#include "base/err.h"
#include "event/causes.h"
#include "event/question.h"
#include "value/doc.h"

#include <stdbool.h>
#include <stdint.h>

struct pl_capture;
struct pl_controller;
struct pl_edition;
struct pl_hook_call;
struct pl_outcome_of_run;
struct pl_run;

/* ---- runs ---- */

/* The owner of a run, which created it and follows it: a controller, the rehearsal of a shadow, or
 * a webhook. */
struct pl_run_owner {
    void (*finish)(struct pl_run *run, const struct pl_outcome_of_run *outcome);
    void (*waits)(struct pl_run *run); /* may be NULL, like the following functions */
    void (*called)(struct pl_run *run, struct pl_slice what, struct pl_slice result,
                   int64_t took_ns);
    void (*wrote)(struct pl_run *run, struct pl_node object);
};

/* One reconcile of one key. Its owner creates it and hands it to the reconciler, which finishes it
 * exactly once. Fields are read-only for the reconciler, except `self_data`. */
struct pl_run {
    const struct pl_run_owner *owner; /* borrowed for life */
    struct pl_controller *controller; /* back-pointer; NULL: not a controller's run */
    struct pl_edition *edition;       /* counted: the one it began under */
    struct pl_slice key, ns, name;    /* owned by the run */
    char id[17];                      /* reconcile id, hexadecimal */
    unsigned shard;                   /* the shard of its key plus 1; 0: none */
    int attempt;                      /* failed runs of this key since the last success */
    int64_t deadline_ns;              /* monotonic; 0: none */
    const struct pl_cause *causes;    /* oldest first; owned by the run */
    size_t cause_count;
    size_t causes_dropped; /* causes beyond PL_CAUSES_MAX */
    /* Records the run's effects (write/capture.h), when there is a shadow; NULL: none. */
    struct pl_capture *capture;
    struct pl_hook_call *hook; /* of a webhook: its question (control/hook_call.h); NULL: none */
    void *self_data;           /* for the reconciler */
};

enum pl_outcome {
    PL_OUTCOME_DONE,          /* the failure count is reset */
    PL_OUTCOME_REQUEUE_AFTER, /* reset, then again after after_ns */
    PL_OUTCOME_REQUEUE,       /* again with backoff; not a failure */
    PL_OUTCOME_ERROR,         /* logged, counted, again with backoff */
    PL_OUTCOME_TERMINAL,      /* logged and counted as terminal, not retried */
    PL_OUTCOME_CONFLICT,      /* an uncaught API conflict: again with backoff, logged at info */
    PL_OUTCOME_TIMEOUT,       /* over reconcile_timeout: an error, counted */
    PL_OUTCOME_CANCELED,      /* the host is stopping; not a failure */
    PL_OUTCOME_WAITING,       /* reset; not done: an event queues it. message: the reason */
};

/* "requeue_after": as scripts return it, and as people see it. */
const char *pl_outcome_name(enum pl_outcome outcome);
/* The run counts as an error. */
bool pl_outcome_is_error(enum pl_outcome outcome);
/* The key runs again after a backoff. */
bool pl_outcome_backs_off(enum pl_outcome outcome);

struct pl_outcome_of_run {
    enum pl_outcome outcome;
    int64_t after_ns;
    const char *message;   /* errors, waiting: one line; borrowed for the call */
    const char *traceback; /* errors: file, line, source line, frames; NULL: none */
    bool by_script;        /* errors: of the script itself, not of the server or the network */
    bool gone;             /* conflict: the object that it had read does not exist any more */
    bool barred;           /* terminal: only other code starts it again, not even an event */
    int64_t ago_ns;        /* time since its end */
};

/* Reports of the reconciler to the owner (run_owner.c). The run waits, and does not keep its lane
 * busy meanwhile. Repeated calls have no effect. */
void pl_run_waits(struct pl_run *run);

/* For `perilune why`: a call of the run ("update v1/Pod default/a") has ended with this result
 * ("ok"). */
void pl_run_called(struct pl_run *run, struct pl_slice what, struct pl_slice result,
                   int64_t took_ns);
/* The run has changed this object; this is its new state. */
void pl_run_wrote(struct pl_run *run, struct pl_node object);
/* Before it begins; from a random number. */
void pl_run_set_id(struct pl_run *run, uint64_t number);
/* Ends the run: updates the queue, metrics and log, and frees the run. */
void pl_run_finish(struct pl_run *run, const struct pl_outcome_of_run *outcome);

struct pl_reconciler_ops {
    /* Begins a run; must return quickly. The run ends later, with pl_run_finish. */
    void (*start)(void *self, struct pl_run *run);
    /* `next` should begin by itself as soon as `run` has ended. The reconciler must report the end
     * of `run` before anything about `next`. False when run has already ended: nothing was done.
     * NULL together with unfollow: a run begins only when there is room for it
     * (control/prefetch.c).
     */
    bool (*follow)(void *self, struct pl_run *run, struct pl_run *next);
    /* next should not begin. True: it never began. False: it has begun, and ends with
     * pl_run_finish. Called exactly once after each successful follow. */
    bool (*unfollow)(void *self, struct pl_run *run, struct pl_run *next);
    /* The run should end: its deadline has passed or the host is stopping. It still ends with
     * pl_run_finish. */
    void (*cancel)(void *self, struct pl_run *run, const struct pl_err *why);
    /* The run is asked to end by itself. Only for tasks; may be NULL. */
    void (*stop)(void *self, struct pl_run *run);
    /* The For object of a key is gone, and there will be no run for it. May be NULL. */
    void (*gone)(void *self, struct pl_controller *controller, struct pl_slice key);
    /* NULL when no source or index of the controller is external. */
    void (*ask)(void *self, struct pl_question *question);
};
