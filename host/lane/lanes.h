/* The lanes: threads that own Lua states and run scripts. Implements control/reconciler.h.
 *
 * Create, load (twice the same scripts in N lanes), attach to a cluster, and hand
 * ops + self to the controllers made from the declarations. I/O thread, but for
 * pl_lanes_load, which may run before there is one (`perilune check`). */
#pragma once

#include "cluster/cluster.h"
#include "control/edition.h"
#include "event/remote_spec.h"
#include "net/loop.h"

struct pl_barred;
struct pl_lanes;
struct pl_memos;
struct pl_origin;
struct pl_state_hooks;

/* A script of Perilune's own that talks with the I/O thread instead of PATHs (`perilune repl`).
 * What it runs may read, and change nothing. I/O thread. */
struct pl_dialog {
    const char *module; /* what is loaded: "perilune.repl" */
    /* The script said this, and waits for pl_dialog_say. */
    void (*heard)(struct pl_dialog *dialog, struct pl_slice text, bool failed);
    struct pl_lop *waiting; /* private */
};
/* False when the script is not waiting. */
bool pl_dialog_say(struct pl_dialog *dialog, struct pl_slice text);

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
    /* Where scripts' metrics and those of the lanes go; borrowed for life, also that of lanes
     * that could not be ended. NULL: a registry of their own that nobody sees. */
    struct pl_metrics *metrics;
    uint64_t load_limit_ns;      /* a main chunk may take this long; 0: 2 s */
    const char *config_path;     /* where the config was read from; NULL: nowhere */
    struct pl_slice config_text; /* and what was read; borrowed for the call */
    uint64_t generation;         /* perilune.generation; 0: 1 */
    struct pl_dialog *dialog;    /* borrowed for life; NULL: none */
    struct pl_memos *memos;      /* of all generations; a reference is taken; NULL: its own */
    struct pl_barred *barred;    /* the same: what could not be interrupted (lane/barred.h) */
    /* A candidate that is tried beside what runs: whatever its scripts would do is kept in their
     * runs' captures, and nothing but reads leaves the host. */
    bool shadow;
    bool leaving;       /* scripts clean up after their For objects, and do nothing else:
                         * lua/perilune/leaving.lua */
    bool describe;      /* the declarations are wanted as text, too, see pl_declarations */
    _Atomic int *stuck; /* lanes given up, of every generation; NULL: of this one alone */
    /* A stepped loop on whose thread the lanes run, in place of threads of their own: a message to
     * a lane is one step. All is the calling thread's then, also loading. Borrowed for life; NULL:
     * threads. */
    struct pl_loop *stepped;
    const struct pl_clock *clock; /* of scripts and runs; borrowed for life; NULL: the system's */
    uint64_t rand_seed;           /* of what scripts draw; 0: from the system */
    struct pl_watchdog *dog;      /* borrowed for life; NULL: one of their own */
    struct pl_transport http;     /* of perilune.http; ops NULL: a client of their own */
};

struct pl_index_spec {
    struct pl_kind kind;
    char *name;
    char *path;   /* NULL: a script's function */
    char *stored; /* its name in stores; NULL until it was added */
    char *declared_at;
};

/* What the scripts declared. */
struct pl_declarations {
    struct pl_remote_spec *clusters; /* besides the host's own; cluster/remotes.h */
    size_t cluster_count;
    struct pl_controller_spec *controllers;
    size_t controller_count;
    struct pl_index_spec *indexes;
    size_t index_count;
    /* With `describe`: all of it as JSON, with the file and line of each source and right, as
     * perilune.controller's describe makes it. Owned; NULL: not wanted, or no script asked for
     * perilune. */
    char *description;
};
void pl_declarations_deinit(struct pl_declarations *declarations);

struct pl_lanes *pl_lanes_create(const struct pl_lanes_options *options);
/* Loads the scripts (pl_script_find: PATH) in every lane, on the lanes' threads; blocks until done.
 * On a mistake the message is "file:line: what", with a traceback below where it helps. `out` is
 * filled from the first lane. */
PL_MUST_USE int pl_lanes_load(struct pl_lanes *lanes, const char *const *paths, size_t path_count,
                              struct pl_declarations *out, struct pl_err *err);
/* The same in two steps, for a thread that has something else to do meanwhile. A start must be
 * followed by its finish. */
void pl_lanes_load_start(struct pl_lanes *lanes, const char *const *paths, size_t path_count);
PL_MUST_USE int pl_lanes_load_finish(struct pl_lanes *lanes, struct pl_declarations *out,
                                     struct pl_err *err);
/* The same without blocking, attached lanes alone: done is called once, later, on the I/O thread;
 * with err the lanes can only be closed. `out` must live until then. */
typedef void (*pl_lanes_loaded_fn)(void *arg, const struct pl_err *err);
void pl_lanes_load_begin(struct pl_lanes *lanes, const char *const *paths, size_t path_count,
                         struct pl_declarations *out, pl_lanes_loaded_fn done, void *arg);
/* What the scripts are made of. Borrowed; any thread. */
struct pl_origin *pl_lanes_origin(struct pl_lanes *lanes);
/* Calls read on the I/O thread after a script has read files at run time that are new to the
 * origin. */
void pl_lanes_on_read(struct pl_lanes *lanes, void (*read)(void *arg), void *arg);
/* From now on scripts may reach the cluster. The loop is the I/O thread's. */
void pl_lanes_attach(struct pl_lanes *lanes, struct pl_cluster *cluster, struct pl_loop *loop);
/* Where calls to the cluster of that name go. */
void pl_lanes_add_cluster(struct pl_lanes *lanes, const char *name, struct pl_cluster *cluster);
/* The reconciler of every controller declared; self is the lanes. */
const struct pl_reconciler_ops *pl_lanes_ops(void);
/* Tells the lanes which edition is behind each controller declared: before its first run. */
void pl_lanes_add_edition(struct pl_lanes *lanes, struct pl_edition *edition);
/* Tells them the controller itself, which runs under an edition of theirs from now on; and that it
 * is gone. */
void pl_lanes_add_controller(struct pl_lanes *lanes, struct pl_controller *controller);
void pl_lanes_forget_controller(struct pl_lanes *lanes, const struct pl_controller *controller);
uint64_t pl_lanes_generation(const struct pl_lanes *lanes);
/* Registers the declared indexes at the informers of their kinds. After the controllers started. */
PL_MUST_USE int pl_lanes_add_indexes(struct pl_lanes *lanes, struct pl_err *err);
/* Undoes it. */
void pl_lanes_drop_indexes(struct pl_lanes *lanes);
/* Every run must have ended. Joins the threads (not those of abandoned runs) and frees all. */
void pl_lanes_destroy(struct pl_lanes *lanes);
/* The same without waiting for the threads: to be called again until it says true, which it may
 * never do when a lane is stuck. */
bool pl_lanes_close(struct pl_lanes *lanes);
/* perilune.memo's store, for the options of the next generation. */
struct pl_memos *pl_lanes_memos(struct pl_lanes *lanes);
/* No run, no question and no operation is under way. */
bool pl_lanes_is_quiet(const struct pl_lanes *lanes);

/* Visits the sleeps of tasks that do not end by themselves (perilune.run): whose, and until when.
 * I/O thread. */
void pl_lanes_each_sleep(struct pl_lanes *lanes,
                         void (*visit)(void *arg, const char *controller, const char *key,
                                       int64_t due_ns),
                         void *arg);

/* Lua heap in use over all states; lanes whose run could not be ended. */
size_t pl_lanes_memory(struct pl_lanes *lanes);
int pl_lanes_stuck(struct pl_lanes *lanes);
/* One line a lane in the log, "state: lane"; I/O thread. */
void pl_lanes_dump(struct pl_lanes *lanes);
/* "LuaJIT 2.1.0-beta3" */
const char *pl_lanes_lua_version(void);
