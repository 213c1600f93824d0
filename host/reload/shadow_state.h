/* The decisions of a shadow, as a table: every state has an answer to every event (shadow_state.c).
 * Pure: it knows no loop and no Lua; time is read from a clock, effects are a table of functions.
 * One thread.
 *
 * Its rules: the requester is told of the end exactly once, at most PL_SHADOW_TELL_NS after it,
 * however long its runs and its threads take. Its generation is closed when its last run has ended,
 * and not before it has loaded. */
#pragma once

#include "base/clock.h"
#include "reload/event_queue.h"

#define PL_SHADOW_QUIET_NS (10 * PL_MS) /* interval of checks whether its runs have ended */
#define PL_SHADOW_TELL_NS                                                                          \
    (2 * PL_SECOND) /* time for its runs to end before the end is reported                         \
                     */

enum pl_shadow_at {
    PL_SHADOW_NONE,
    PL_SHADOW_LOADING,
    PL_SHADOW_PREPARING,   /* waits for its sources */
    PL_SHADOW_RUNNING,     /* runs beside the running generation */
    PL_SHADOW_ENDING_LOAD, /* it ended during the load: waits for the load */
    PL_SHADOW_ENDING,      /* waits for the end of its runs */
    PL_SHADOW_CLOSING,     /* waits for the end of its generation */
    PL_SHADOW_STATES
};

enum pl_shadow_event {
    PL_SHADOW_BEGUN,      /* its scripts are being loaded */
    PL_SHADOW_LOADED,     /* successfully */
    PL_SHADOW_UNLOADED,   /* or not */
    PL_SHADOW_PREPARED,   /* successfully */
    PL_SHADOW_UNPREPARED, /* or not */
    PL_SHADOW_LIMIT,      /* the time of `limit`, or its duration, is over */
    PL_SHADOW_POLL,       /* the time of `poll` is over, or enough keys were compared */
    PL_SHADOW_FINISH,     /* a user wants it to end */
    PL_SHADOW_ABORT,      /* it has to end */
    PL_SHADOW_CLOSED,     /* its generation is freed */
    PL_SHADOW_EVENTS
};

enum pl_shadow_why {
    PL_SHADOW_DURATION, /* regular ends */
    PL_SHADOW_KEYS,
    PL_SHADOW_FINISHED,
    PL_SHADOW_TOO_EARLY, /* error: finished before it ran */
    PL_SHADOW_REFUSED,   /* error: not loaded or prepared */
    PL_SHADOW_ABORTED,   /* error: aborted */
};

/* Effects. Each may cause events before it returns: they are answered after it. */
struct pl_shadow_ops {
    void (*prepare)(void *arg); /* PREPARED or UNPREPARED follows */
    void (*run)(void *arg);
    /* Its runs should end. ran: there are findings to report. */
    void (*end)(void *arg, enum pl_shadow_why why, bool ran);
    bool (*is_quiet)(void *arg);              /* its runs have ended */
    void (*close)(void *arg);                 /* CLOSED follows */
    void (*tell)(void *arg);                  /* reports its end, unless it was reported */
    void (*reset)(void *arg);                 /* the same, and another shadow may begin */
    void (*limit)(void *arg, int64_t due_ns); /* monotonic; replaces the earlier one; then LIMIT */
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
/* Irrelevant events in a state change nothing. */
void pl_shadow_state_tell(struct pl_shadow_state *state, enum pl_shadow_event event);
/* True while it has not ended. */
bool pl_shadow_state_is_on(const struct pl_shadow_state *state);
