/* What a reload does next, as a table: every state has an answer to every event (reload_state.c).
 * Pure: it knows no loop, no Lua and no disk; time is read from a clock, effects are a table of
 * functions. One thread.
 *
 * What it holds to: a burst of changes is loaded once, when it has been quiet for
 * PL_RELOAD_QUIET_NS or has gone on for PL_RELOAD_BURST_NS, also when a load is under way; what was
 * loaded while files changed is a mixture and never runs (unless files never stop changing); what
 * has been asked for is tried although it was refused before. */
#pragma once

#include "base/base.h"
#include "base/clock.h"
#include "reload/event_queue.h"

#define PL_RELOAD_QUIET_NS (20 * PL_MS)  /* a burst has ended when nothing changed for so long, */
#define PL_RELOAD_BURST_NS (500 * PL_MS) /* or is cut after so long */
#define PL_RELOAD_ROOM_NS  (50 * PL_MS)  /* between tries while too many generations are ending */
#define PL_RELOAD_MIXTURES 10 /* loads in a row of files that change while they are read */

enum pl_reload_at {
    PL_RELOAD_IDLE,          /* what runs is what is there, or what is there was refused */
    PL_RELOAD_QUIET,         /* something changed or was asked for: waits for the due time */
    PL_RELOAD_LOOK,          /* the disk is compared */
    PL_RELOAD_LOAD,          /* the scripts are loaded */
    PL_RELOAD_CHECK,         /* they have loaded: is the disk still what they were made of? */
    PL_RELOAD_PREPARE,       /* their sources are awaited */
    PL_RELOAD_PREPARE_QUIET, /* and something changed: waits for the due time */
    PL_RELOAD_PREPARE_LOOK,  /* and the disk is compared */
    PL_RELOAD_STOPPED,       /* for good */
    PL_RELOAD_STATES
};

enum pl_reload_event {
    PL_RELOAD_ASKED,      /* somebody wants one */
    PL_RELOAD_CHANGED,    /* a watched file did something */
    PL_RELOAD_READ,       /* a script has read another file: it is to be watched too */
    PL_RELOAD_BACK,       /* the running generation is another one: it was rolled back */
    PL_RELOAD_DUE,        /* the time given to `wait` has come */
    PL_RELOAD_IS_RUNNING, /* what `look` found on the disk: what runs, */
    PL_RELOAD_IS_REFUSED, /* what was refused, */
    PL_RELOAD_IS_NEXT,    /* what is being prepared, */
    PL_RELOAD_IS_NEW,     /* or something else */
    PL_RELOAD_LOADED,     /* `load` has ended, well or not */
    PL_RELOAD_UNMIXED,    /* what `check` found: the disk is what was loaded, */
    PL_RELOAD_MIXED,      /* or not any more */
    PL_RELOAD_PREPARED,   /* `prepare` has ended well */
    PL_RELOAD_UNPREPARED, /* or not */
    PL_RELOAD_STOP,       /* nothing is begun any more */
    PL_RELOAD_EVENTS
};

/* Effects. Each may tell events before it returns: they are answered after it. */
struct pl_reload_ops {
    void (*wait)(void *arg, int64_t due_ns); /* monotonic; replaces the one before; then DUE */
    void (*look)(void *arg);                 /* one of IS_... follows */
    void (*check)(void *arg);                /* UNMIXED or MIXED follows */
    bool (*make_room)(void *arg);            /* false: not yet */
    bool (*load)(void *arg);    /* LOADED follows; false: it cannot begin, and `refuse` says why */
    bool (*judge)(void *arg);   /* may what was loaded run? If not, `refuse` says why */
    void (*prepare)(void *arg); /* PREPARED or UNPREPARED follows */
    void (*apply)(void *arg);   /* what was prepared runs from now on */
    void (*refuse)(void *arg);  /* what is under way is not taken; everybody who asked is told */
    void (*drop)(void *arg);    /* the same, but another attempt follows and nobody is told */
    void (*settle)(void *arg, bool asked); /* what runs is what is there; the same */
};

struct pl_reload_state {
    const struct pl_reload_ops *ops; /* borrowed for life, as are the next two */
    void *arg;
    const struct pl_clock *clock;
    bool watches; /* files are watched: who was told of what is new looks whether more came */

    enum pl_reload_at at; /* what follows is private */
    bool asked;           /* for this attempt, also if it was refused before */
    bool again;           /* asked for while this attempt was under way */
    bool stirred;         /* something changed while the disk was compared */
    bool stale;           /* what is compared is not what matters any more */
    int mixtures;         /* in a row */
    int64_t first_ns;     /* the first change of the burst; 0: none; */
    int64_t last_ns;      /* and the last one */
    int64_t due_ns;       /* as it was given to `wait` */
    struct pl_event_queue events;
};

void pl_reload_state_init(struct pl_reload_state *state, const struct pl_reload_ops *ops, void *arg,
                          const struct pl_clock *clock, bool watches);
/* An event that means nothing in this state changes nothing. */
void pl_reload_state_tell(struct pl_reload_state *state, enum pl_reload_event event);
