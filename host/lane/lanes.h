/* The lanes: threads that own Lua states and run scripts. Implements control/reconciler.h.
 *
 * Create, load (twice the same scripts in N lanes), attach to a cluster, and hand
 * ops + self to the controllers made from the declarations. I/O thread, but for
 * pl_lanes_load, which may run before there is one (`perilune check`). */
#pragma once

#include "control/cluster.h"
#include "control/controller.h"
#include "net/loop.h"

struct pl_lanes;

struct pl_lanes_options {
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
    uint64_t load_limit_ns; /* a main chunk may take this long; 0: 2 s */
};

struct pl_index_spec {
    struct pl_kind kind;
    char *name;
    char *path; /* NULL: a script's function */
    char *declared_at;
};

/* What the scripts declared. */
struct pl_declarations {
    struct pl_controller_spec *controllers;
    size_t controller_count;
    struct pl_index_spec *indexes;
    size_t index_count;
};
void pl_declarations_deinit(struct pl_declarations *declarations);

struct pl_lanes *pl_lanes_create(const struct pl_lanes_options *options);
/* Loads the scripts (cli.md: PATH) in every lane, on the lanes' threads; blocks until done. On a
 * mistake the message is "file:line: what", with a traceback below where it helps. `out` is filled
 * from the first lane. */
int pl_lanes_load(struct pl_lanes *lanes, const char *const *paths, size_t path_count,
                  struct pl_declarations *out, struct pl_err *err);
/* From now on scripts may reach the cluster. The loop is the I/O thread's. */
void pl_lanes_attach(struct pl_lanes *lanes, struct pl_cluster *cluster, struct pl_loop *loop);
/* The reconciler of every controller declared; self is the lanes. */
const struct pl_reconciler_ops *pl_lanes_ops(void);
/* Tells the lanes which controllers exist, for reads: after pl_controller_create, before start. */
void pl_lanes_add_controller(struct pl_lanes *lanes, struct pl_controller *controller);
/* Registers the declared indexes at the informers of their kinds. After the controllers started. */
int pl_lanes_add_indexes(struct pl_lanes *lanes, struct pl_err *err);
/* Every run must have ended. Joins the threads (not those of abandoned runs) and frees all. */
void pl_lanes_destroy(struct pl_lanes *lanes);

/* Lua heap in use over all states; lanes whose run could not be ended. */
size_t pl_lanes_memory(struct pl_lanes *lanes);
int pl_lanes_stuck(struct pl_lanes *lanes);
/* "LuaJIT 2.1.0-beta3" */
const char *pl_lanes_lua_version(void);
