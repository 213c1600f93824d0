/* The decisions of a reload, as a table: every state has an answer to every event (reload_state.c).
 * Pure: it knows no loop, no Lua and no disk; time is read from a clock, effects are a table of
 * functions. One thread.
 *
 * Its rules: a burst of changes is loaded once, when it has been quiet for PL_RELOAD_QUIET_NS or
 * has lasted for PL_RELOAD_BURST_NS, even during a load. Scripts that were loaded while files
 * changed are a mixture and never run (unless files never stop changing). A requested reload is
 * tried even if the scripts were refused before. */
#pragma once

#include "base/base.h"
#include "base/clock.h"
#include "reload/event_queue.h"

#define PL_RELOAD_QUIET_NS                                                                         \
    (20 * PL_MS) /* a burst has ended when there was no change for this time */
#define PL_RELOAD_BURST_NS (500 * PL_MS) /* a longer burst is cut after this time */
#define PL_RELOAD_ROOM_NS                                                                          \
    (50 * PL_MS)              /* between attempts while too many generations are ending            \
                               */
#define PL_RELOAD_MIXTURES 10 /* limit of consecutive loads of files that change meanwhile */

enum pl_reload_at {
    PL_RELOAD_IDLE,          /* the scripts on disk are the running or the refused ones */
    PL_RELOAD_QUIET,         /* after a change or a request: waits for the due time */
    PL_RELOAD_LOOK,          /* compares the disk */
    PL_RELOAD_LOAD,          /* loads the scripts */
    PL_RELOAD_CHECK,         /* they have loaded: compares the disk with them again */
    PL_RELOAD_PREPARE,       /* waits for their sources */
    PL_RELOAD_PREPARE_QUIET, /* meanwhile there was a change: waits for the due time */
    PL_RELOAD_PREPARE_LOOK,  /* and compares the disk */
    PL_RELOAD_STOPPED,       /* final */
    PL_RELOAD_STATES
};

enum pl_reload_event {
    PL_RELOAD_ASKED,      /* a reload was requested */
    PL_RELOAD_CHANGED,    /* an event on a watched file */
    PL_RELOAD_READ,       /* a script has read another file, which has to be watched too */
    PL_RELOAD_BACK,       /* the running generation has changed: it was rolled back */
    PL_RELOAD_DUE,        /* the time of `wait` has come */
    PL_RELOAD_IS_RUNNING, /* result of `look`: the disk has the running scripts */
    PL_RELOAD_IS_REFUSED, /* result of `look`: the disk has the refused scripts */
    PL_RELOAD_IS_NEXT,    /* result of `look`: the disk has those that are being prepared */
    PL_RELOAD_IS_NEW,     /* result of `look`: the disk has other scripts */
    PL_RELOAD_LOADED,     /* `load` has ended, successfully or not */
    PL_RELOAD_UNMIXED,    /* result of `check`: the disk has the loaded scripts */
    PL_RELOAD_MIXED,    /* result of `check`: the disk does not have the loaded scripts any more */
    PL_RELOAD_PREPARED, /* `prepare` has succeeded */
    PL_RELOAD_UNPREPARED, /* `prepare` has failed */
    PL_RELOAD_STOP,       /* nothing begins any more */
    PL_RELOAD_EVENTS
};

/* Effects. Each may cause events before it returns: they are answered after it. */
struct pl_reload_ops {
    void (*wait)(void *arg, int64_t due_ns); /* monotonic; replaces the earlier one; then DUE */
    void (*look)(void *arg);                 /* one of IS_... follows */
    void (*check)(void *arg);                /* UNMIXED or MIXED follows */
    bool (*make_room)(void *arg);            /* false: not yet */
    bool (*load)(void *arg);  /* LOADED follows; false: it cannot begin, and `refuse` reports why */
    bool (*judge)(void *arg); /* whether the loaded scripts may run; if not, `refuse` reports why */
    void (*prepare)(void *arg); /* PREPARED or UNPREPARED follows */
    void (*apply)(void *arg);   /* the prepared scripts run from now on */
    void (*refuse)(void *arg);  /* the attempt is given up; all requesters are told */
    void (*drop)(void *arg); /* the same, but another attempt follows and requesters wait for it */
    void (*settle)(void *arg,
                   bool asked); /* the running scripts are those on disk; requesters are told */
};

struct pl_reload_state {
    const struct pl_reload_ops *ops; /* borrowed for life, as are the next two */
    void *arg;
    const struct pl_clock *clock;
    bool watches; /* files are watched: whoever is told of new scripts checks for later changes */

    enum pl_reload_at at; /* the following fields are private */
    bool asked;           /* requested: try it even if it was refused before */
    bool again;           /* requested again during this attempt */
    bool stirred;         /* there was a change while the disk was compared */
    bool stale;           /* the comparison under way is outdated */
    int mixtures;         /* consecutive ones */
    int64_t first_ns;     /* time of the first change of the burst; 0: no burst */
    int64_t last_ns;      /* time of its last change */
    int64_t due_ns;       /* the argument of `wait` */
    struct pl_event_queue events;
};

void pl_reload_state_init(struct pl_reload_state *state, const struct pl_reload_ops *ops, void *arg,
                          const struct pl_clock *clock, bool watches);
/* Irrelevant events in a state change nothing. */
void pl_reload_state_tell(struct pl_reload_state *state, enum pl_reload_event event);
