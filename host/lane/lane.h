/* One lane: a thread with a Lua state that runs reconciles as coroutines. Private to
 * host/lane; the public face is lane/lanes.h. Fields say whose they are. */
#pragma once

#include "base/list.h"
#include "control/reconciler.h"
#include "lane/declare.h"
#include "lane/lanes.h"
#include "lane/op.h"
#include "lua/sandbox.h"
#include "net/mailbox.h"

#include <pthread.h>
#include <stdatomic.h>

#define PL_ASKS_OUT  1024 /* questions on their way to one lane */
#define PL_STUCK_MAX 4    /* abandoned lanes that are kept */

enum pl_lane_msg {
    /* to a lane; the lane owns them from then on */
    PL_LANE_LOAD,    /* struct pl_load: goes back to its reply box */
    PL_LANE_RUN,     /* struct pl_exec: comes back as PL_IO_RUN_DONE */
    PL_LANE_CANCEL,  /* struct pl_cancel */
    PL_LANE_END,     /* struct pl_cancel: the task is asked to end by itself */
    PL_LANE_ASK,     /* struct pl_ask: comes back as PL_IO_ASK_DONE */
    PL_LANE_OP_DONE, /* struct pl_lop */
    PL_LANE_STOP,    /* the lane's own */
    /* to the I/O thread */
    PL_IO_OP,        /* struct pl_lop: comes back as PL_LANE_OP_DONE */
    PL_IO_OP_CANCEL, /* struct pl_lop.cancel, with a reference */
    PL_IO_RUN_DONE,
    PL_IO_ASK_DONE,
    PL_IO_LOADED, /* struct pl_load */
    PL_IO_READ,   /* pl_lane.read_msg */
    PL_IO_STUCK,  /* pl_lane.stuck_msg */
    PL_IO_ENDED,  /* pl_lane.end_msg: the last of a lane that was abandoned */
    PL_IO_NOTE,   /* struct pl_lane_note */
};

/* What a lane tells the I/O thread and waits for no answer to; freed by whichever of the two is
 * called. */
struct pl_lane_note {
    struct pl_msg msg;
    void (*take)(struct pl_lane_note *note); /* I/O thread: does it, and frees it */
    void (*drop)(struct pl_lane_note *note); /* nobody is there to do it any more */
};

/* Loading the scripts in one lane. */
struct pl_load {
    struct pl_msg msg;
    struct pl_mailbox *reply; /* borrowed; NULL: nobody waits (a replaced lane) */
    int failed;
    char *message; /* owned: what is wrong */
};

/* One run of one key. Made by the I/O thread, used by the lane, freed by the I/O thread. */
struct pl_exec {
    struct pl_msg msg;
    atomic_int refs; /* I/O's, and each cancel message's */
    /* That begins when this one ends: set by the I/O thread, taken by the lane at the end, which
     * leaves the exec itself there. */
    struct pl_exec *_Atomic next;
    struct pl_link link;  /* I/O: lane->io.execs */
    struct pl_run *run;   /* I/O: NULL once finished */
    struct pl_lane *lane; /* back-pointer */
    int controller;       /* index in the declarations */
    /* copies behind the exec, so that a lane that was abandoned finds nothing freed */
    char *key, *ns, *name, *id;
    int attempt;
    unsigned shard; /* pl_run.shard */
    int64_t deadline_ns;
    struct pl_slice unread; /* id and causes, see lane/context.h */
    size_t causes_dropped;
    struct pl_capture *capture; /* of the run, with a reference; NULL: none */
    struct pl_hook_call *hook;  /* the same */
    struct pl_secrets secrets;  /* for the capture: owned, the lane's until it ended */
    struct pl_doc *memo_before,
        *memo_after; /* for the capture: counted, the lane's until it ended */

    /* the lane's */
    struct pl_link active; /* lane->execs */
    struct pl_list tasks;
    int task_count, live;
    uint64_t spawned;
    bool canceled, ended;
    bool stopping;      /* a task that was asked to end, */
    bool woken;         /* and one sleep of it has returned early */
    int memo;           /* reference of the table of perilune.memo; 0: none */
    struct pl_err *why; /* owned; there once it was canceled */
    bool failed;        /* a task failed that nobody joined, or met a limit */
    bool over;          /* one met a limit: none of them goes on */
    int64_t spent_ns;   /* CPU time of all since one last waited; counted while there are several */
    struct pl_fault fault; /* of the first such task */
    struct pl_outcome_of_run result;
    int64_t ended_ns; /* of the system's clock */
    bool has_result;
};

struct pl_cancel {
    struct pl_msg msg;
    struct pl_exec *exec; /* with a reference */
    struct pl_err why;
};

/* Questions on their way to a lane and back. */
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
    char *map_message, *map_traceback; /* owned; the map failed */
    /* What a function would have had to wait for, which therefore raised: */
    struct pl_cache *lacks;  /* a cache that has not synced, */
    const char *lacks_index; /* or an index of it that is being built, as stores name it */
    bool again;              /* the whole question is to be asked once more, */
    bool is_last;            /* unless the I/O thread has said that this is all there will be */
    int64_t again_ns;        /* I/O: since when it waits; 0: it does not */
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
    struct pl_task again;   /* stepped: what is ready goes on */
    _Atomic bool told_read; /* read_msg is on its way */
    _Atomic bool abandoned; /* set by the I/O thread */
    _Atomic bool told_stuck;

    /* for metrics: written by the lane, read by the I/O thread */
    _Atomic int64_t busy_ns, busy_since_ns; /* done with; 0: idle */
    struct pl_limits *_Atomic limits;       /* of s; NULL: no state yet */

    /* whose code runs: written by the lane, read by the I/O thread when the lane is stuck */
    struct pl_exec *_Atomic running;
    struct pl_ask *_Atomic answering;

    /* the lane's own */
    struct pl_state *s;
    struct pl_list execs, ready;
    int *pool; /* references of idle coroutines */
    size_t pool_count;
    bool stop;
    uint64_t fault_hash;  /* of the last mistake in a predicate or index that was logged, */
    int64_t fault_ns;     /* when, */
    size_t fault_repeats; /* and how often it was met since */
    bool worked;          /* since the last full collection */
    bool collect; /* a run went over its memory limit: collect when nothing holds its values */

    struct { /* the I/O thread's */
        struct pl_list execs, ops, asks, asks_waiting;
        struct pl_buf texts; /* of the exec that is being made */
        size_t asks_out;
        struct pl_link link; /* lanes->abandoned */
        bool ended;          /* it was abandoned, and its thread has given its state back */
        struct pl_task reap;
        int64_t busy_seen_ns;
    } io;
};

/* A cache that a declaration brings, as lanes see it. Written by the I/O thread until `ready`. */
struct pl_cache {
    struct pl_lanes *lanes;     /* back-pointer */
    struct pl_edition *edition; /* borrowed for life */
    size_t source;
    const struct pl_source_spec *spec;
    /* Borrowed from the edition, which keeps it until every run has ended; a reference here
     * would keep the host from stopping, as informers end before lanes do. */
    struct pl_informer *informer;
    struct pl_store *store;
    const struct pl_resource *resource; /* immutable, of the cluster's discovery */
    struct pl_source_options options;   /* effective: with --namespace applied */
    enum pl_share_by share;             /* of which part it is */
    _Atomic bool ready;                 /* synced: informer, store and options are set */
    struct pl_informer *held;           /* I/O: a reference, see pl_lanes_hold_caches */
    int64_t awaited_ns;                 /* I/O: since when index functions wait for it; 0: none */
    struct pl_map wished;               /* labels an index was wished for by, under hint_lock */
};

struct pl_known_controller {
    char *name;
    bool is_task;
    struct pl_edition *edition;       /* borrowed for life; NULL until pl_lanes_add_edition */
    struct pl_controller *controller; /* I/O: NULL until pl_lanes_add_controller, or gone */
    struct pl_cache *caches;          /* one a source */
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
    struct {                  /* the I/O thread's: pl_lanes_load_begin */
        bool on;
        int lane; /* that is loading */
        struct pl_declarations *out;
        pl_lanes_loaded_fn done;
        void *arg;
    } loading;
    void (*on_read)(void *arg);
    void *on_read_arg;
    struct pl_external *indexer; /* of `externals`: asked for indexes */
    struct pl_known_controller *controllers;
    size_t controller_count;
    bool all_ready;    /* I/O: every cache was published */
    size_t index_asks; /* I/O: index functions that are being asked */
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
    struct pl_mailbox *replies; /* to pl_lanes_load; kept until the lanes, which send, are joined */
    struct pl_http_client *http;
    struct pl_metrics *metrics;     /* the host's, or own_metrics */
    struct pl_metrics *own_metrics; /* owned; for scripts that are only loaded */
    struct pl_lane_metrics *shown;  /* owned; NULL before pl_lanes_attach */
    struct pl_list abandoned;
    pthread_mutex_t end_lock; /* a lane that was abandoned ends or sends under it, unless */
    bool over;                /* all this is coming to its end: guarded by end_lock */
    _Atomic int stuck;
    _Atomic int events_out;       /* bind/event.c: on their way, */
    _Atomic uint64_t events_lost; /* and not even sent off */
    struct pl_map hinted;         /* kinds whose missing :Reads was logged, under hint_lock */
    struct pl_map warned;         /* what the API server warned of was logged, under hint_lock */
    pthread_mutex_t hint_lock;
};

/* ---- warn.c: any lane's thread ---- */

/* Logs, once a line of a script, what the API server warned of. thread: of the task that waited. */
void pl_lane_warn(struct pl_lane *lane, const struct pl_lop *op, lua_State *thread);

static inline const struct pl_clock *pl_lanes_clock(const struct pl_lanes *lanes)
{
    return lanes->options.clock != NULL ? lanes->options.clock : pl_clock_system();
}

/* ---- lane.c: the thread ---- */

struct pl_lane *pl_lane_create(struct pl_lanes *lanes, int number);
void pl_lane_start(struct pl_lane *lane);
/* Stepped: loads now, in place of a message. */
void pl_lane_load_here(struct pl_lane *lane, struct pl_load *load);
/* Asks the thread to end and joins it. False: it is stuck, and the lane is among the abandoned. */
bool pl_lane_end(struct pl_lane *lane);
/* Asks the thread to end, and says whether it has; false again and again while it has not, for ever
 * when it is stuck. */
bool pl_lane_try_join(struct pl_lane *lane);
/* Nothing of the lane is used any more but what its thread is at; that thread ends when it can. */
void pl_lane_abandon(struct pl_lane *lane);
/* I/O thread: reaps a lane that was abandoned, a little later, if its thread has ended and no
 * operation of it is under way. */
void pl_lane_check_ended(struct pl_lane *lane);
/* What is left of a lane that was joined, or never started. */
void pl_lane_free(struct pl_lane *lane);
/* On the lane's thread: a script has read a file that is new to the origin. */
void pl_lane_tell_read(struct pl_state *s);
/* On the lane's thread. */
void pl_lane_send_io(struct pl_lane *lane, struct pl_msg *msg, int kind);

/* ---- lane_metrics.c; I/O thread ---- */

struct pl_lane_metrics *pl_lane_metrics_add(struct pl_lanes *lanes);
/* Accepts NULL. */
void pl_lane_metrics_remove(struct pl_lane_metrics *shown);
/* More lanes are stuck, or fewer, also of lanes that are not shown any more. */
void pl_lane_metrics_stuck(struct pl_lanes *lanes, int more);

/* ---- lanes_load.c ---- */

/* Has the lane, whose thread begins, load the scripts. reply: NULL: nobody waits. */
void pl_lane_send_load(struct pl_lane *lane, struct pl_mailbox *reply);
/* I/O thread: a lane has loaded them. Frees load. */
void pl_lanes_loaded(struct pl_lanes *lanes, struct pl_load *load);
/* I/O thread: err NULL: every lane has. */
void pl_lanes_end_loading(struct pl_lanes *lanes, const struct pl_err *err);
/* Owned by the lanes. */
struct pl_external *pl_lanes_new_external(struct pl_lanes *lanes, int controller, int source);

/* ---- lanes_index.c ---- */

/* The name in stores of an index of this generation; NULL: none is declared. Any thread. */
const char *pl_lanes_stored_index(const struct pl_lanes *lanes, const struct pl_kind *kind,
                                  struct pl_slice name);

/* I/O thread: index functions are asked about an object. They may read the caches of controllers
 * that end meanwhile, so that there are references until as many have answered. */
void pl_lanes_hold_caches(struct pl_lanes *lanes);
void pl_lanes_let_go_caches(struct pl_lanes *lanes);
/* It was published just now. */
void pl_cache_hold(struct pl_cache *cache);

/* ---- lanes_barred.c: what could not be interrupted is not run again; I/O thread ---- */

/* Whose code the stuck lane runs; NULL: of no run, or of no question, that is under way. */
struct pl_exec *pl_lane_guilty_run(struct pl_lane *lane);
struct pl_ask *pl_lane_guilty_ask(struct pl_lane *lane);
void pl_lanes_bar_run(struct pl_lanes *lanes, const struct pl_exec *exec);
void pl_lanes_bar_ask(struct pl_lanes *lanes, const struct pl_ask *ask);
bool pl_lanes_is_run_barred(struct pl_lanes *lanes, int controller, struct pl_slice key);
bool pl_lanes_is_ask_barred(struct pl_lanes *lanes, const struct pl_ask *ask);

/* ---- lanes.c ---- */

void pl_lanes_ask(void *self, struct pl_question *question);
/* I/O thread: to the lane that answers for it. */
void pl_lanes_send_ask(struct pl_lanes *lanes, struct pl_ask *ask);
/* A lane that was abandoned and whose thread was joined. */
void pl_lanes_reap(struct pl_lane *lane);

/* I/O thread: shows the cache to lanes once it has synced. */
void pl_cache_publish(struct pl_cache *cache);

/* ---- question.c ---- */

void pl_ask_answer(struct pl_lane *lane, struct pl_ask *ask); /* lane */
void pl_ask_io(struct pl_lane *lane, struct pl_question *question);
void pl_ask_done_io(struct pl_ask *ask);
void pl_ask_abandon_io(struct pl_lane *lane);
/* The lane was abandoned before it came to it. */
void pl_ask_drop(struct pl_ask *ask);

/* Puts it into the lane's queue; what was answered is forgotten. */
void pl_ask_send_io(struct pl_lane *lane, struct pl_ask *ask);

/* ---- ask_again.c; I/O thread ---- */

/* A function would have had to wait: it is asked again when that may be of use. */
void pl_ask_again_io(struct pl_lanes *lanes, struct pl_ask *ask);
/* Nobody is told of those that wait. */
void pl_lanes_drop_again(struct pl_lanes *lanes);

/* ---- exec.c: runs ---- */

struct pl_exec *pl_exec_create_io(struct pl_lane *lane, struct pl_run *run, int controller);
/* Where to write why it is canceled. */
struct pl_err *pl_exec_why(struct pl_exec *exec);
/* It begins. */
void pl_exec_send_io(struct pl_exec *exec);
/* next, which is sent nowhere, begins when exec ends. False: it has ended. */
bool pl_exec_follow_io(struct pl_exec *exec, struct pl_exec *next);
/* next does not begin, and is gone. False: it has begun. */
bool pl_exec_unfollow_io(struct pl_exec *exec, struct pl_exec *next);
struct pl_exec *pl_exec_ref(struct pl_exec *exec);
void pl_exec_unref(struct pl_exec *exec); /* accepts NULL */
void pl_exec_cancel_io(struct pl_exec *exec, const struct pl_err *why);
void pl_exec_end_io(struct pl_exec *exec);
void pl_exec_done_io(struct pl_exec *exec);
/* guilty: it is the one whose code could not be ended. */
void pl_exec_abandon_io(struct pl_exec *exec, bool guilty);
/* It ends, a little later, without ever reaching its lane. */
void pl_exec_refuse_io(struct pl_exec *exec);
void pl_exec_begin(struct pl_lane *lane, struct pl_exec *exec);      /* lane */
void pl_exec_cancel(struct pl_lane *lane, struct pl_cancel *cancel); /* lane; frees cancel */
void pl_exec_ask_end(struct pl_lane *lane, struct pl_cancel *ask);   /* lane; frees ask */
/* A task of it met a limit: what the others wait for is cancelled, they don't run any more. */
void pl_exec_overrun(struct pl_lane *lane, struct pl_exec *exec); /* lane */
/* A task of it ended; when it was the last one the run goes back. */
void pl_exec_task_ended(struct pl_lane *lane, struct pl_exec *exec);
/* I/O thread: its lane was abandoned and has ended. */
void pl_exec_drop(struct pl_exec *exec);
