/* Lua states for scripts: built from an allow-list, with limits on memory and CPU time. */
#pragma once

#include "base/err.h"
#include "lua/fault.h"
#include "lua/state.h"

struct pl_sandbox_options {
    const struct pl_state_hooks *hooks; /* borrowed for life; NULL: none */
    size_t memory;                      /* bytes; 0: 512 MiB */
    bool jit;
    bool unsafe;             /* all libraries of LuaJIT */
    bool trusted;            /* no script is loaded: patterns work on texts of any size */
    bool in_dialog;          /* the code talks with `perilune repl` */
    struct pl_watchdog *dog; /* borrowed for life; NULL: no CPU limit */
    struct pl_lane *lane;    /* of the state; may be NULL */
    struct pl_doc *config;   /* a reference is taken; NULL: {} */
    const char *version;     /* borrowed for life */
    struct pl_metrics
        *metrics; /* registry for scripts' metrics; borrowed for life; NULL: scripts have none */
    uint64_t generation;
    struct pl_origin *origin; /* a reference is taken; NULL: scripts read directly from the disk */
    /* The clock for scripts; borrowed for life; NULL: the system's. */
    const struct pl_clock *clock;
    uint64_t rand_seed; /* seed of scripts' random numbers and of hashes; 0: from the system */
    uint64_t math_seed; /* seed of math.random and of hashes alone; 0: as above */
    bool short_lived;   /* its memory serves the next such state, see sandbox.c */
    const struct pl_line_watch *lines; /* borrowed for life; NULL: lines are not watched */
};

/* The calling thread runs it. NULL and err when lua-cjson cannot be loaded. The caller owns the
 * state. */
struct pl_state *pl_state_create(const struct pl_sandbox_options *options, struct pl_err *err);
void pl_state_destroy(struct pl_state *s);

/* Calls the function below its args on the main thread of the state, as one slice under the limits,
 * in this phase. ESCRIPT and fault when it raised an error. */
int pl_state_call(struct pl_state *s, enum pl_phase phase, int64_t cpu_ns, int args, int results,
                  struct pl_fault *fault);
/* Call it after a slice that exceeded its memory limit, when its values are released. */
void pl_state_collect(struct pl_state *s);
/* Call it after a run. LuaJIT collects in proportion to its allocations, and does not count the
 * documents in boxes: when they are many, this runs additional steps of the collector for them. */
void pl_state_pay(struct pl_state *s);

/* Initialises a state except its libraries; the caller has set L and the flags. */
void pl_state_open(struct pl_state *s);
void pl_state_close(struct pl_state *s);
