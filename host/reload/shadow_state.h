/* What a shadow does next, as a table: every state has an answer to every event (shadow_state.c).
 * Pure: it knows no loop and no Lua; time is read from a clock, effects are a table of functions.
 * One thread.
 *
 * What it holds to: whoever asked for it is told of its end exactly once, PL_SHADOW_TELL_NS after
 * it at the latest, however long its runs and its threads take; its generation is closed when its
 * last run has ended, and not before it has loaded. */
#pragma once

#include "base/clock.h"
#include "reload/event_queue.h"

#define PL_SHADOW_QUIET_NS (10 * PL_MS)    /* between looks at whether its runs have ended */
#define PL_SHADOW_TELL_NS  (2 * PL_SECOND) /* for its runs to end before it is told */

enum pl_shadow_at {
    PL_SHADOW_NONE,
    PL_SHADOW_LOADING,
    PL_SHADOW_PREPARING,   /* its sources are awaited */
    PL_SHADOW_RUNNING,     /* beside the running generation */
    PL_SHADOW_ENDING_LOAD, /* it ended while it was loaded: that is awaited */
    PL_SHADOW_ENDING,      /* its runs end, */
    PL_SHADOW_CLOSING,     /* and then its generation */
    PL_SHADOW_STATES
};

enum pl_shadow_event {
    PL_SHADOW_BEGUN,      /* its scripts are being loaded */
    PL_SHADOW_LOADED,     /* well */
    PL_SHADOW_UNLOADED,   /* or not */
    PL_SHADOW_PREPARED,   /* well */
    PL_SHADOW_UNPREPARED, /* or not */
    PL_SHADOW_LIMIT,      /* the time given to `limit`, or its duration, is over */
    PL_SHADOW_POLL,       /* that given to `poll` is over, or enough keys were compared */
    PL_SHADOW_FINISH,     /* somebody wants it to end */
    PL_SHADOW_ABORT,      /* it has to end */
    PL_SHADOW_CLOSED,     /* its generation is gone */
    PL_SHADOW_EVENTS
};

enum pl_shadow_why {
    PL_SHADOW_DURATION, /* as it should */
    PL_SHADOW_KEYS,
    PL_SHADOW_FINISHED,
    PL_SHADOW_TOO_EARLY, /* with an error: finished before it ran, */
    PL_SHADOW_REFUSED,   /* not loaded or prepared, */
    PL_SHADOW_ABORTED,   /* or aborted */
};

/* Effects. Each may tell events before it returns: they are answered after it. */
struct pl_shadow_ops {
    void (*prepare)(void *arg); /* PREPARED or UNPREPARED follows */
    void (*run)(void *arg);
    /* Its runs are to end. ran: there is something to tell of. */
    void (*end)(void *arg, enum pl_shadow_why why, bool ran);
    bool (*is_quiet)(void *arg);              /* they have */
    void (*close)(void *arg);                 /* CLOSED follows */
    void (*tell)(void *arg);                  /* its end, unless it was told */
    void (*reset)(void *arg);                 /* the same, and another may begin */
    void (*limit)(void *arg, int64_t due_ns); /* monotonic; replaces the one before; then LIMIT */
    void (*poll)(void *arg, int64_t due_ns);  /* the same; then POLL */
};

struct pl_shadow_state {
    const struct pl_shadow_ops *ops; /* borrowed for life, as are the next two */
    void *arg;
    const struct pl_clock *clock;
    enum pl_shadow_at at;
    struct pl_event_queue events; /* private */
};

void pl_shadow_state_init(struct pl_shadow_state *state, const struct pl_shadow_ops *ops, void *arg,
                          const struct pl_clock *clock);
/* An event that means nothing in this state changes nothing. */
void pl_shadow_state_tell(struct pl_shadow_state *state, enum pl_shadow_event event);
/* It has not ended. */
bool pl_shadow_state_is_on(const struct pl_shadow_state *state);
