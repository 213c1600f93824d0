/* The table of functions behind a controller: who reconciles, and who answers for
 * functions that are not built in. The core never sees Lua; `lane` implements
 * this, and so do the unit tests. Everything here happens on the I/O thread. */
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

/* Who made a run, and follows it: a controller, the rehearsal of a shadow, or a
 * webhook. */
struct pl_run_owner {
    void (*finish)(struct pl_run *run, const struct pl_outcome_of_run *outcome);
    void (*waits)(struct pl_run *run); /* NULL: nobody cares; the same for what follows */
    void (*called)(struct pl_run *run, struct pl_slice what, struct pl_slice result,
                   int64_t took_ns);
    void (*wrote)(struct pl_run *run, struct pl_node object);
};

/* One reconcile of one key. Made by its owner, handed to the reconciler, which
 * finishes it exactly once. Fields are read-only to the reconciler but `self_data`. */
struct pl_run {
    const struct pl_run_owner *owner; /* borrowed for life */
    struct pl_controller *controller; /* back-pointer; NULL: no controller's */
    struct pl_edition *edition;       /* counted: the one it began under */
    struct pl_slice key, ns, name;    /* owned by the run */
    char id[17];                      /* reconcile id, hexadecimal */
    unsigned shard;                   /* of its key, and 1; 0: none */
    int attempt;                      /* failed runs of this key since the last success */
    int64_t deadline_ns;              /* monotonic; 0: none */
    const struct pl_cause *causes;    /* oldest first; owned by the run */
    size_t cause_count;
    size_t causes_dropped; /* beyond PL_CAUSES_MAX */
    /* What it does is kept there (write/capture.h): with a shadow on either side. NULL: no. */
    struct pl_capture *capture;
    struct pl_hook_call
        *hook;       /* of a webhook: what it is asked (control/hook_call.h); NULL: none */
    void *self_data; /* the reconciler's */
};

enum pl_outcome {
    PL_OUTCOME_DONE,          /* the failure count is forgotten */
    PL_OUTCOME_REQUEUE_AFTER, /* forgotten, then again after after_ns */
    PL_OUTCOME_REQUEUE,       /* again with backoff; no failure */
    PL_OUTCOME_ERROR,         /* logged, counted, again with backoff */
    PL_OUTCOME_TERMINAL,      /* logged and counted as terminal, not retried */
    PL_OUTCOME_CONFLICT,      /* an API conflict left uncaught: with backoff, logged at info */
    PL_OUTCOME_TIMEOUT,       /* over reconcile_timeout: an error, counted */
    PL_OUTCOME_CANCELED,      /* the host is stopping; not an error */
    PL_OUTCOME_WAITING,       /* forgotten; not done: an event wakes it. message: for what */
};

struct pl_outcome_of_run {
    enum pl_outcome outcome;
    int64_t after_ns;
    const char *message;   /* errors, waiting: one line; borrowed for the call */
    const char *traceback; /* errors: file, line, source line, frames; NULL: none */
    bool by_script;        /* errors: the script's own, not the server's or the network's */
    bool gone;             /* conflict: what it had read is not there any more */
    bool barred;           /* terminal: not even an event starts it again, but other code */
    int64_t ago_ns;        /* so long ago did it end */
};

/* What the reconciler tells the owner (run_owner.c). The run waits for something, and does not keep
 * its lane busy meanwhile. Once is enough. */
void pl_run_waits(struct pl_run *run);

/* For `perilune why`: a call of the run ("update v1/Pod default/a") has ended so ("ok"). */
void pl_run_called(struct pl_run *run, struct pl_slice what, struct pl_slice result,
                   int64_t took_ns);
/* The run has changed this object, which is now as given. */
void pl_run_wrote(struct pl_run *run, struct pl_node object);
/* Ends the run: the queue is told, metrics and log are written, run is gone. */
void pl_run_finish(struct pl_run *run, const struct pl_outcome_of_run *outcome);

struct pl_reconciler_ops {
    /* Begins a run; must return quickly. Ends, later, with pl_run_finish. */
    void (*start)(void *self, struct pl_run *run);
    /* `next` is to begin by itself as soon as `run` has ended: what it has to say of `run`'s end it
     * has to say before anything about next. False when run has ended: nothing was done. Both NULL:
     * a run begins when there is room for it (control/ahead.c). */
    bool (*follow)(void *self, struct pl_run *run, struct pl_run *next);
    /* next is not to begin: true, and it is as if it had never been. False when it has begun, and
     * ends with pl_run_finish. Asked exactly once after each follow that was taken. */
    bool (*unfollow)(void *self, struct pl_run *run, struct pl_run *next);
    /* The run should end: its deadline passed or the host is stopping. It still ends
     * with pl_run_finish. */
    void (*cancel)(void *self, struct pl_run *run, const struct pl_err *why);
    /* The run is asked to come to its end by itself. Tasks alone; NULL: nobody listens. */
    void (*stop)(void *self, struct pl_run *run);
    /* The For object of a key is gone, and no run will come of it. NULL: nobody cares. */
    void (*gone)(void *self, struct pl_controller *controller, struct pl_slice key);
    /* NULL when no source or index of the controller is external. */
    void (*ask)(void *self, struct pl_question *question);
};
