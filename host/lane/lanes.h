/* The lanes: threads that own Lua states and run scripts. Implements control/reconciler.h.
 *
 * Create them, load the scripts (in each lane), attach them to a cluster, and give ops + self to
 * the controllers made from the declarations. I/O thread, except pl_lanes_load, which may run
 * before there is an I/O thread (`perilune check`). */
#pragma once

#include "cluster/cluster.h"
#include "control/edition.h"
#include "event/remote_spec.h"
#include "net/loop.h"

struct pl_barred;
struct pl_lanes;
struct pl_line_watch;
struct pl_memos;
struct pl_origin;
struct pl_state_hooks;
struct pl_taping;

/* One of Perilune's own scripts, which talks with the I/O thread and replaces PATHs (`perilune
 * repl`). Its code may read but not change anything. I/O thread. */
struct pl_dialog {
    const char *module; /* the module to load: "perilune.repl" */
    /* The script has sent this text, and waits for pl_dialog_say. */
    void (*heard)(struct pl_dialog *dialog, struct pl_slice text, bool failed);
    struct pl_lop *waiting; /* private */
};
/* False when the script is not waiting. */
bool pl_dialog_say(struct pl_dialog *dialog, struct pl_slice text);

/* A predicate or an index function of a script has raised. Borrowed for the call. */
struct pl_ask_fault {
    const char *controller; /* "": an index function's */
    const char *kind;       /* of the object: "v1/ConfigMap" */
    struct pl_slice key;    /* of the object */
    const char *message;
    const char *traceback; /* "": none */
};

struct pl_fault_watch {
    void (*at)(void *arg, const struct pl_ask_fault *fault); /* on the lane's thread */
    void *arg;
};

struct pl_lanes_options {
    const struct pl_state_hooks
        *hooks;            /* of each lane's state: &pl_bind_state_hooks; borrowed for life */
    int count;             /* --lanes */
    size_t memory_limit;   /* --lua-memory, bytes per state */
    int64_t cpu_limit_ns;  /* --reconcile-cpu-limit */
    bool jit;              /* --jit */
    bool unsafe_stdlib;    /* --unsafe-stdlib */
    struct pl_doc *config; /* --config, decoded; NULL: {}. A reference is taken. */
    const char *version;   /* perilune.version */
    /* Registry for metrics of scripts and lanes; borrowed for life, even by lanes that could not be
     * ended. NULL: a private registry. */
    struct pl_metrics *metrics;
    uint64_t load_limit_ns;      /* time limit of a main chunk; 0: 2 s */
    const char *config_path;     /* file of the config; NULL: none */
    struct pl_slice config_text; /* and its text; borrowed for the call */
    uint64_t generation;         /* perilune.generation; 0: 1 */
    struct pl_dialog *dialog;    /* borrowed for life; NULL: none */
    struct pl_memos *memos; /* shared by all generations; a reference is taken; NULL: a new store */
    struct pl_barred *barred; /* the same for barred keys (lane/barred.h) */
    /* A candidate beside the running scripts: the effects of its runs are only recorded in their
     * captures, and only reads leave the host. */
    bool shadow;
    bool leaving;       /* scripts clean up after their For objects, and do nothing else:
                         * lua/perilune/leaving.lua */
    bool describe;      /* describe the declarations as text, too, see pl_declarations */
    _Atomic int *stuck; /* number of abandoned lanes of all generations; NULL: only of this one */
    /* A stepped loop on whose thread the lanes run, without threads of their own: each message to a
     * lane is one step. Then everything, also loading, runs on the calling thread. Borrowed for
     * life; NULL: threads. */
    struct pl_loop *stepped;
    const struct pl_clock *clock; /* of scripts and runs; borrowed for life; NULL: the system's */
    uint64_t rand_seed;           /* seed of scripts' random numbers; 0: from the system */
    struct pl_watchdog *dog;      /* borrowed for life; NULL: a new one */
    struct pl_transport http;     /* of perilune.http; ops NULL: a new client */
    /* Makes the tapes of lanes (lane/tape.h); borrowed for life; NULL: no lane has one. */
    const struct pl_taping *taping;
    const struct pl_line_watch *lines; /* gets the scripts' lines; borrowed for life; NULL: none */
    const struct pl_fault_watch *faults; /* borrowed for life; NULL: none */
    struct pl_listing *listing;          /* borrowed for life; NULL: lists are sorted by key */
    struct pl_origin
        *origin; /* the scripts' files that are known already; a reference is taken; NULL: none */
};

struct pl_index_spec {
    struct pl_kind kind;
    char *name;
    char *path;   /* NULL: a script's function */
    char *stored; /* its name in stores; NULL until it was added */
    char *declared_at;
};

/* All declarations of the scripts. */
struct pl_declarations {
    struct pl_remote_spec *clusters; /* besides the host's own; cluster/remotes.h */
    size_t cluster_count;
    struct pl_controller_spec *controllers;
    size_t controller_count;
    struct pl_index_spec *indexes;
    size_t index_count;
    /* With `describe`: all declarations as JSON, with the file and line of each source and right,
     * as perilune.controller's describe makes it. Owned; NULL: not requested, or no script required
     * perilune. */
    char *description;
};
void pl_declarations_deinit(struct pl_declarations *declarations);

/* The caller owns the lanes. Threads start with pl_lanes_load. */
struct pl_lanes *pl_lanes_create(const struct pl_lanes_options *options);
/* Loads the scripts (pl_script_find: PATH) in every lane, on the lanes' threads; blocks until done.
 * For an error in a script the message is "file:line: what", with a traceback below if it helps.
 * `out` is filled from the first lane. */
PL_MUST_USE int pl_lanes_load(struct pl_lanes *lanes, const char *const *paths, size_t path_count,
                              struct pl_declarations *out, struct pl_err *err);
/* The same in two steps, so that the calling thread can work meanwhile. A start must be followed by
 * its finish. */
void pl_lanes_load_start(struct pl_lanes *lanes, const char *const *paths, size_t path_count);
PL_MUST_USE int pl_lanes_load_finish(struct pl_lanes *lanes, struct pl_declarations *out,
                                     struct pl_err *err);
/* The same without blocking, for attached lanes: done is called once, later, on the I/O thread;
 * after an error the lanes can only be closed. `out` must live until then. */
typedef void (*pl_lanes_loaded_fn)(void *arg, const struct pl_err *err);
void pl_lanes_load_begin(struct pl_lanes *lanes, const char *const *paths, size_t path_count,
                         struct pl_declarations *out, pl_lanes_loaded_fn done, void *arg);
/* All files of the scripts. Borrowed; any thread. */
struct pl_origin *pl_lanes_origin(struct pl_lanes *lanes);
/* Calls read on the I/O thread after a script has read files at run time that the origin did not
 * have. */
void pl_lanes_on_read(struct pl_lanes *lanes, void (*read)(void *arg), void *arg);
/* From now on scripts may reach the cluster. The loop is the I/O thread's. */
void pl_lanes_attach(struct pl_lanes *lanes, struct pl_cluster *cluster, struct pl_loop *loop);
/* The target for calls to the cluster of that name. */
void pl_lanes_add_cluster(struct pl_lanes *lanes, const char *name, struct pl_cluster *cluster);
/* The reconciler of every declared controller, a constant; self is the lanes. */
const struct pl_reconciler_ops *pl_lanes_ops(void);
/* Sets the edition of each declared controller: before its first run. */
void pl_lanes_add_edition(struct pl_lanes *lanes, struct pl_edition *edition);
/* Sets the controller itself, which runs under an edition of these lanes from now on; and removes
 * it. */
void pl_lanes_add_controller(struct pl_lanes *lanes, struct pl_controller *controller);
void pl_lanes_forget_controller(struct pl_lanes *lanes, const struct pl_controller *controller);
uint64_t pl_lanes_generation(const struct pl_lanes *lanes);
/* Registers the declared indexes at the informers of their kinds. After the controllers started. */
PL_MUST_USE int pl_lanes_add_indexes(struct pl_lanes *lanes, struct pl_err *err);
/* Removes them. */
void pl_lanes_drop_indexes(struct pl_lanes *lanes);
/* Every run must have ended. Joins the threads (except those of abandoned lanes) and frees
 * everything. */
void pl_lanes_destroy(struct pl_lanes *lanes);
/* The same without waiting for the threads: call it again until it returns true, which may never
 * happen when a lane is stuck. */
bool pl_lanes_close(struct pl_lanes *lanes);
/* True when no run, question or operation is under way. */
bool pl_lanes_is_quiet(const struct pl_lanes *lanes);

/* A sleep of an endless task (perilune.run). */
struct pl_lane_sleep {
    const char *controller, *key; /* the task */
    uint64_t place;               /* the same for the same lines of the script */
    int64_t delay_ns;             /* as it was asked for */
    int64_t due_ns;               /* its end */
};
/* Visits all of them. I/O thread. */
void pl_lanes_each_sleep(struct pl_lanes *lanes,
                         void (*visit)(void *arg, const struct pl_lane_sleep *sleep), void *arg);

/* pl_script_memory of the only lane, which has no thread. */
bool pl_lanes_script_memory(struct pl_lanes *lanes, uint64_t *digest);
/* Lua heap in use over all states; number of lanes whose run could not be ended. */
size_t pl_lanes_memory(struct pl_lanes *lanes);
int pl_lanes_stuck(struct pl_lanes *lanes);
/* Writes one line for each lane to the log, "state: lane"; I/O thread. */
void pl_lanes_dump(struct pl_lanes *lanes);
/* "LuaJIT 2.1.0-beta3"; a literal. */
const char *pl_lanes_lua_version(void);
