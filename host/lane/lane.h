/* One lane: a thread with a Lua state that runs reconciles as coroutines. Private to host/lane; the
 * public interface is lane/lanes.h. The comment of a field says which thread owns it. */
#pragma once

#include "base/list.h"
#include "control/reconciler.h"
#include "lane/declare.h"
#include "lane/lanes.h"
#include "lane/op.h"
#include "lane/tape.h"
#include "lua/sandbox.h"
#include "net/mailbox.h"

#include <pthread.h>
#include <stdatomic.h>

#define PL_ASKS_OUT  1024 /* limit of questions on their way to one lane */
#define PL_STUCK_MAX 4    /* limit of abandoned lanes */

enum pl_lane_msg {
    /* to a lane, which owns them from then on */
    PL_LANE_LOAD,    /* struct pl_load: goes back to its reply box */
    PL_LANE_RUN,     /* struct pl_exec: comes back as PL_IO_RUN_DONE */
    PL_LANE_CANCEL,  /* struct pl_cancel */
    PL_LANE_END,     /* struct pl_cancel: asks the task to end by itself */
    PL_LANE_ASK,     /* struct pl_ask: comes back as PL_IO_ASK_DONE */
    PL_LANE_OP_DONE, /* struct pl_lop */
    PL_LANE_STOP,    /* owned by the lane */
    /* to the I/O thread */
    PL_IO_OP,        /* struct pl_lop: comes back as PL_LANE_OP_DONE */
    PL_IO_OP_CANCEL, /* struct pl_lop.cancel, with a reference */
    PL_IO_RUN_DONE,
    PL_IO_ASK_DONE,
    PL_IO_LOADED, /* struct pl_load */
    PL_IO_READ,   /* pl_lane.read_msg */
    PL_IO_STUCK,  /* pl_lane.stuck_msg */
    PL_IO_ENDED,  /* pl_lane.end_msg: the last message of an abandoned lane */
    PL_IO_NOTE,   /* struct pl_lane_note */
};

/* A message of a lane to the I/O thread without an answer; take or drop frees it. */
struct pl_lane_note {
    struct pl_msg msg;
    void (*take)(struct pl_lane_note *note); /* I/O thread: processes and frees it */
    void (*drop)(struct pl_lane_note *note); /* frees it, when no one can process it any more */
};

/* Loading the scripts in one lane. */
struct pl_load {
    struct pl_msg msg;
    struct pl_mailbox *reply; /* borrowed; NULL: no one waits (a replaced lane) */
    int failed;
    char *message; /* owned: the error */
};

/* One run of one key. The I/O thread creates it, the lane uses it, the I/O thread frees it. */
struct pl_exec {
    struct pl_msg msg;
    atomic_int refs; /* references of the I/O thread and of each cancel message */
    /* The run that begins when this one ends: set by the I/O thread, taken by the lane at the end,
     * which then stores the exec itself here. */
    struct pl_exec *_Atomic next;
    struct pl_link link;  /* I/O: lane->io.execs */
    struct pl_run *run;   /* I/O: NULL once finished */
    struct pl_lane *lane; /* back-pointer */
    int controller;       /* index in the declarations */
    /* copies behind the exec, so that an abandoned lane never reads freed memory */
    char *key, *ns, *name, *id;
    int attempt;
    unsigned shard; /* pl_run.shard */
    int64_t deadline_ns;
    struct pl_slice unread; /* id and causes, see lane/context.h */
    size_t causes_dropped;
    struct pl_capture *capture; /* of the run, a reference; NULL: none */
    struct pl_hook_call *hook;  /* the same */
    struct pl_secrets secrets;  /* for the capture: owned; used by the lane until the end */
    struct pl_doc *memo_before,
        *memo_after; /* for the capture: counted; used by the lane until the end */

    /* used by the lane */
    struct pl_link active; /* lane->execs */
    struct pl_list tasks;
    int task_count, live;
    uint64_t on_tape; /* its number on the tape; 0: none */
    bool canceled, ended;
    bool stopping;      /* a task was asked to end */
    bool woken;         /* a sleep of such a task has returned early */
    int memo;           /* reference of the table of perilune.memo; 0: none */
    struct pl_err *why; /* owned; set when it was cancelled */
    bool failed;        /* a task failed that no one joined, or exceeded a limit */
    bool over;          /* a task exceeded a limit: no task continues */
    int64_t
        spent_ns; /* CPU time of all tasks since one last waited; counted while there are several */
    struct pl_fault fault; /* of the first failed task */
    struct pl_outcome_of_run result;
    int64_t ended_ns; /* by the system's clock */
    bool has_result;
};

struct pl_cancel {
    struct pl_msg msg;
    struct pl_exec *exec; /* with a reference */
    struct pl_err why;
};

/* A question on its way to a lane and back. */
struct pl_ask {
    struct pl_msg msg;
    struct pl_link link; /* I/O: lane->io.asks or waiting */
    struct pl_lane *lane;
    struct pl_question *question; /* I/O: NULL once answered */
    /* copies and references for the lane */
    struct pl_external external;
    struct pl_event event; /* counted */
    bool ask_predicates, ask_map, ask_indexes;
    char *kind;
    const struct pl_predicate *predicate; /* borrowed: lives as long as the controller */
    /* answers */
    struct pl_buf verdicts;            /* struct pl_leaf_verdict */
    struct pl_buf requests;            /* ns\0name\0 */
    struct pl_buf values;              /* index\0value\0 */
    char *map_message, *map_traceback; /* owned; the map function failed */
    /* A function raised an error because it would have had to wait for this: */
    struct pl_cache *lacks;  /* a cache that has not synced; or the cache of lacks_index */
    const char *lacks_index; /* an index that is being built, by its name in stores; NULL: none */
    bool again;              /* the whole question has to be asked once more */
    bool is_last; /* the I/O thread has said that waiting will not help: it is not asked again */
    int64_t again_ns; /* I/O: start of the wait; 0: it does not wait */
};

struct pl_leaf_verdict {
    int leaf;
    bool pass;
};

struct pl_lane {
    struct pl_lanes *lanes; /* back-pointer */
    int number;
    pthread_t thread;
    bool started, stopping; /* stop_msg was sent */
    struct pl_mailbox *box;
    struct pl_msg stop_msg, stuck_msg, read_msg, end_msg;
    struct pl_task again;   /* stepped: resumes ready tasks */
    _Atomic bool told_read; /* read_msg is on its way */
    _Atomic bool abandoned; /* set by the I/O thread */
    _Atomic bool told_stuck;

    /* for metrics: written by the lane, read by the I/O thread */
    _Atomic int64_t busy_ns, busy_since_ns; /* finished work; 0: idle */
    struct pl_limits *_Atomic limits;       /* of s; NULL: no state yet */

    /* owner of the running code: written by the lane, read by the I/O thread when the lane is stuck
     */
    struct pl_exec *_Atomic running;
    struct pl_ask *_Atomic answering;

    /* owned by the lane */
    struct pl_state *s;
    struct pl_tape *tape; /* owned; NULL: none */
    struct pl_list execs, ready;
    int *pool; /* references of idle coroutines */
    size_t pool_count;
    bool stop;
    uint64_t fault_hash;  /* of the last logged error in a predicate or index */
    int64_t fault_ns;     /* the time of that log line */
    size_t fault_repeats; /* repetitions of that error since then */
    bool worked;          /* since the last full collection */
    bool collect; /* a run exceeded its memory limit: collect when its values are released */

    struct { /* owned by the I/O thread */
        struct pl_list execs, ops, asks, asks_waiting;
        struct pl_buf texts; /* scratch for creating an exec */
        size_t asks_out;
        struct pl_link link; /* lanes->abandoned */
        bool ended;          /* it was abandoned, and its thread has released its state */
        struct pl_task reap;
        int64_t busy_seen_ns;
    } io;
};

/* The cache of a declared source, for lanes. Written by the I/O thread until `ready`. */
struct pl_cache {
    struct pl_lanes *lanes;     /* back-pointer */
    struct pl_edition *edition; /* borrowed for life */
    size_t source;
    const struct pl_source_spec *spec;
    /* Borrowed from the edition, which keeps it until every run has ended. A reference here would
     * keep the host from stopping, as informers end before lanes do. */
    struct pl_informer *informer;
    struct pl_store *store;
    const struct pl_resource *resource; /* immutable, of the cluster's discovery */
    struct pl_source_options options;   /* effective: with --namespace applied */
    enum pl_share_by share;             /* the part that it keeps */
    _Atomic bool ready;                 /* synced: informer, store and options are set */
    struct pl_informer *held;           /* I/O: a reference, see pl_lanes_hold_caches */
    int64_t awaited_ns;      /* I/O: start of the wait of index functions for it; 0: none */
    struct pl_map requested; /* labels of index requests so far, under hint_lock */
};

struct pl_known_controller {
    char *name;
    bool is_task;
    struct pl_edition *edition; /* borrowed for life; NULL until pl_lanes_add_edition */
    struct pl_controller
        *controller;         /* I/O: NULL before pl_lanes_add_controller, and after its end */
    struct pl_cache *caches; /* one for each source */
    size_t cache_count;
};

struct pl_lanes {
    struct pl_lanes_options options;
    struct pl_watchdog *dog;
    struct pl_lane **lanes;
    struct pl_memos *memos;   /* counted */
    struct pl_barred *barred; /* counted */
    char **paths;             /* NULL-terminated */
    struct pl_origin *origin; /* counted */
    struct {                  /* used by the I/O thread: pl_lanes_load_begin */
        bool on;
        int lane; /* the lane that is loading */
        struct pl_declarations *out;
        pl_lanes_loaded_fn done;
        void *arg;
    } loading;
    void (*on_read)(void *arg);
    void *on_read_arg;
    struct pl_external *indexer; /* in `externals`: for index questions */
    struct pl_known_controller *controllers;
    size_t controller_count;
    bool all_ready;    /* I/O: all caches are published */
    size_t index_asks; /* I/O: index questions under way */
    struct {           /* I/O: questions that wait; see ask_again.c */
        struct pl_list asks;
        struct pl_timer poll;
    } again;
    struct pl_external **externals; /* owned handles given to specs and indexes */
    size_t external_count;
    struct pl_index_spec *indexes; /* owned copies */
    size_t index_count;
    struct pl_cluster *cluster;
    struct pl_shards *shards; /* the cluster's; borrowed; NULL: none */
    struct {
        char *name; /* owned */
        struct pl_cluster *cluster;
    } * others; /* I/O: owned array */
    size_t other_count;
    struct pl_loop *loop;
    struct pl_mailbox *io_box;
    struct pl_mailbox
        *replies; /* for pl_lanes_load; kept until the lanes, which send to it, are joined */
    struct pl_http_client *http;
    struct pl_metrics *metrics;     /* the host's, or own_metrics */
    struct pl_metrics *own_metrics; /* owned; for scripts that are only loaded */
    struct pl_lane_metrics *shown;  /* owned; NULL before pl_lanes_attach */
    struct pl_list abandoned;
    pthread_mutex_t end_lock; /* held while an abandoned lane ends or sends; guards `over` */
    bool over; /* the lanes are being destroyed: an abandoned lane must not touch them */
    _Atomic int stuck;
    _Atomic int events_out;       /* used by bind/event.c: number of Events on their way */
    _Atomic uint64_t events_lost; /* used by bind/event.c: Events that could not be sent off */
    struct pl_map hinted;         /* kinds whose missing :Reads was logged, under hint_lock */
    struct pl_map warned;         /* logged warnings of the API server, under hint_lock */
    pthread_mutex_t hint_lock;
};

/* ---- warn.c: any lane's thread ---- */

/* Logs a warning of the API server once for each line of a script. thread: of the waiting task. */
void pl_lane_warn(struct pl_lane *lane, const struct pl_lop *op, lua_State *thread);

static inline const struct pl_clock *pl_lanes_clock(const struct pl_lanes *lanes)
{
    return lanes->options.clock != NULL ? lanes->options.clock : pl_clock_system();
}

/* ---- lane.c: the thread ---- */

/* Without a thread yet. The caller owns the lane. */
struct pl_lane *pl_lane_create(struct pl_lanes *lanes, int number);
void pl_lane_start(struct pl_lane *lane);
/* Stepped: loads now, without a message. */
void pl_lane_load_here(struct pl_lane *lane, struct pl_load *load);
/* Asks the thread to end and joins it. False: it is stuck, and the lane is among the abandoned
 * ones. */
bool pl_lane_end(struct pl_lane *lane);
/* Asks the thread to end, and returns whether it has ended. It stays false while the thread runs,
 * for ever if it is stuck. */
bool pl_lane_try_join(struct pl_lane *lane);
/* From now on only the lane's thread uses the lane; the thread ends when it can. */
void pl_lane_abandon(struct pl_lane *lane);
/* I/O thread: reaps an abandoned lane, a little later, if its thread has ended and no operation of
 * it is under way. */
void pl_lane_check_ended(struct pl_lane *lane);
/* Frees the rest of a lane that was joined, or never started. */
void pl_lane_free(struct pl_lane *lane);
/* On the lane's thread: a script has read a file that the origin did not have. */
void pl_lane_tell_read(struct pl_state *s);
/* On the lane's thread. */
void pl_lane_send_io(struct pl_lane *lane, struct pl_msg *msg, int kind);

/* ---- lane_load.c ---- */

/* On the lane's thread: loads the scripts and answers. load is freed if no one waits for it. */
void pl_lane_answer_load(struct pl_lane *lane, struct pl_load *load);

/* ---- lane_metrics.c; I/O thread ---- */

/* Registers the lanes' metrics. The caller owns the result and ends it with pl_lane_metrics_remove.
 */
struct pl_lane_metrics *pl_lane_metrics_add(struct pl_lanes *lanes);
/* Accepts NULL. */
void pl_lane_metrics_remove(struct pl_lane_metrics *shown);
/* The number of stuck lanes has changed, possibly of lanes that are not shown any more. */
void pl_lane_metrics_stuck(struct pl_lanes *lanes, int more);

/* ---- lanes_load.c ---- */

/* Asks the lane, whose thread begins, to load the scripts. reply NULL: no one waits. */
void pl_lane_send_load(struct pl_lane *lane, struct pl_mailbox *reply);
/* I/O thread: a lane has finished loading. Frees load. */
void pl_lanes_loaded(struct pl_lanes *lanes, struct pl_load *load);
/* I/O thread: err NULL: every lane has loaded them. */
void pl_lanes_end_loading(struct pl_lanes *lanes, const struct pl_err *err);
/* Owned by the lanes. */
struct pl_external *pl_lanes_new_external(struct pl_lanes *lanes, int controller, int source);

/* ---- lanes_index.c ---- */

/* An index of this generation; NULL: undeclared. Any thread. Lives as long as the lanes. */
const struct pl_index_spec *pl_lanes_index(const struct pl_lanes *lanes, const struct pl_kind *kind,
                                           struct pl_slice name);

/* I/O thread: index functions are asked about an object. They may read caches of controllers that
 * end meanwhile, so references are held until all answers have come. */
void pl_lanes_hold_caches(struct pl_lanes *lanes);
void pl_lanes_let_go_caches(struct pl_lanes *lanes);
/* The cache was published just now. */
void pl_cache_hold(struct pl_cache *cache);

/* ---- lanes_stuck.c: lanes that cannot be interrupted; I/O thread ---- */

/* A slice of the lane cannot be ended: its runs and questions are written off, its thread and state
 * are left alone until the slice ends after all, and a new lane replaces it. */
void pl_lanes_replace(struct pl_lane *lane);
/* Frees an abandoned lane whose thread was joined. */
void pl_lanes_reap(struct pl_lane *lane);
/* ESCRIPT: the main chunk of the script cannot be ended. */
int pl_lanes_fail_endless(struct pl_err *err, const char *script);
/* From now on, threads of abandoned lanes touch nothing of this if they end. Moves the lanes whose
 * threads have ended to `ended`; free them when the box of the I/O thread is gone, which may still
 * hold their last messages. */
void pl_lanes_leave_abandoned(struct pl_lanes *lanes, struct pl_list *ended);

/* ---- lanes_barred.c: code that could not be interrupted is not run again; I/O thread ---- */

/* The run whose code the stuck lane executes; NULL: none that is under way. Borrowed: the lane's.
 */
struct pl_exec *pl_lane_guilty_run(struct pl_lane *lane);
/* The question whose code it executes, in the same way. */
struct pl_ask *pl_lane_guilty_ask(struct pl_lane *lane);
void pl_lanes_bar_run(struct pl_lanes *lanes, const struct pl_exec *exec);
void pl_lanes_bar_ask(struct pl_lanes *lanes, const struct pl_ask *ask);
bool pl_lanes_is_run_barred(struct pl_lanes *lanes, int controller, struct pl_slice key);
bool pl_lanes_is_ask_barred(struct pl_lanes *lanes, const struct pl_ask *ask);

/* ---- lanes.c ---- */

void pl_lanes_ask(void *self, struct pl_question *question);
/* I/O thread: sends it to the lane that handles it. */
void pl_lanes_send_ask(struct pl_lanes *lanes, struct pl_ask *ask);

/* I/O thread: shows the cache to lanes when it has synced. */
void pl_cache_publish(struct pl_cache *cache);
/* The cache of a controller's For source; NULL: it has none. Borrowed; it may not have synced. Any
 * thread. */
static inline struct pl_cache *pl_lanes_for_cache(const struct pl_lanes *lanes, int controller)
{
    const struct pl_known_controller *known = &lanes->controllers[controller];
    for (size_t i = 0; i < known->cache_count; i++)
        if (known->caches[i].spec->role == PL_SOURCE_FOR)
            return &known->caches[i];
    return NULL;
}

/* ---- question.c ---- */

void pl_ask_answer(struct pl_lane *lane, struct pl_ask *ask); /* lane */
void pl_ask_io(struct pl_lane *lane, struct pl_question *question);
void pl_ask_done_io(struct pl_ask *ask);
void pl_ask_abandon_io(struct pl_lane *lane);
/* The lane was abandoned before it processed the question. */
void pl_ask_drop(struct pl_ask *ask);

/* Puts it into the lane's queue; earlier answers are dropped. */
void pl_ask_send_io(struct pl_lane *lane, struct pl_ask *ask);

/* ---- ask_again.c; I/O thread ---- */

/* A function would have had to wait: it is asked again when that may help. */
void pl_ask_again_io(struct pl_lanes *lanes, struct pl_ask *ask);
/* Drops waiting questions without an answer. */
void pl_lanes_drop_again(struct pl_lanes *lanes);

/* ---- exec.c: runs ---- */

/* A run for the lane. It copies what it needs of `run`, which must live until the run ends. The
 * caller owns the first reference. */
struct pl_exec *pl_exec_create_io(struct pl_lane *lane, struct pl_run *run, int controller);
/* The error record for the reason of the cancellation, which is made at the first call. Part of the
 * run. */
struct pl_err *pl_exec_why(struct pl_exec *exec);
/* Sends the run to its lane. */
void pl_exec_send_io(struct pl_exec *exec);
/* next begins when exec ends, without a message. False: exec has ended. */
bool pl_exec_follow_io(struct pl_exec *exec, struct pl_exec *next);
/* next does not begin, and is freed. False: it has begun. */
bool pl_exec_unfollow_io(struct pl_exec *exec, struct pl_exec *next);
/* Takes a reference; returns exec, for chaining. Any thread. */
struct pl_exec *pl_exec_ref(struct pl_exec *exec);
void pl_exec_unref(struct pl_exec *exec); /* accepts NULL */
void pl_exec_cancel_io(struct pl_exec *exec, const struct pl_err *why);
void pl_exec_end_io(struct pl_exec *exec);
void pl_exec_done_io(struct pl_exec *exec);
/* guilty: its code could not be interrupted. */
void pl_exec_abandon_io(struct pl_exec *exec, bool guilty);
/* It ends a little later without reaching its lane. */
void pl_exec_refuse_io(struct pl_exec *exec);
void pl_exec_begin(struct pl_lane *lane, struct pl_exec *exec); /* lane */
/* lane: its function and the arguments are at the top of the lane's stack, which it pops. */
void pl_exec_begin_pushed(struct pl_lane *lane, struct pl_exec *exec, int arguments);
void pl_exec_cancel(struct pl_lane *lane, struct pl_cancel *cancel); /* lane; frees cancel */
void pl_exec_ask_end(struct pl_lane *lane, struct pl_cancel *ask);   /* lane; frees ask */
/* A task exceeded a limit: operations of the others are cancelled, and they do not continue. */
void pl_exec_overrun(struct pl_lane *lane, struct pl_exec *exec); /* lane */
/* A task has ended; after the last one the run goes back. */
void pl_exec_task_ended(struct pl_lane *lane, struct pl_exec *exec);
/* I/O thread: its lane was abandoned and has ended. */
void pl_exec_drop(struct pl_exec *exec);
