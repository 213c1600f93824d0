/* Lua states for scripts: built from an allow-list, with limits on memory and computing. */
#pragma once

#include "base/err.h"
#include "lua/lerr.h"
#include "lua/state.h"

struct pl_sandbox_options {
    const struct pl_state_hooks *hooks; /* borrowed for life; NULL: none */
    size_t memory;                      /* bytes; 0: 512 MiB */
    bool jit;
    bool unsafe;                /* everything LuaJIT has */
    bool in_dialog;             /* what runs talks with `perilune repl` */
    struct pl_watchdog *dog;    /* borrowed for life; NULL: no CPU limit */
    struct pl_lane *lane;       /* of the state; may be NULL */
    struct pl_doc *config;      /* a reference is taken; NULL: {} */
    const char *version;        /* borrowed for life */
    struct pl_metrics *metrics; /* of scripts; borrowed for life; NULL: scripts have none */
    uint64_t generation;
    struct pl_origin *origin; /* a reference is taken; NULL: scripts read the disk */
    /* What time it is to scripts; borrowed for life; NULL: the system's. */
    const struct pl_clock *clock;
    uint64_t rand_seed; /* of all that scripts draw by chance; 0: from the system */
};

/* The calling thread runs it. NULL and err when lua-cjson can't be loaded. */
struct pl_state *pl_state_create(const struct pl_sandbox_options *options, struct pl_err *err);
void pl_state_destroy(struct pl_state *s);

/* Calls the function below its args on the main thread of the state, as one slice under the
 * limits, in this phase. ESCRIPT and fault when it raised. */
int pl_state_call(struct pl_state *s, enum pl_phase phase, int64_t cpu_ns, int args, int results,
                  struct pl_fault *fault);
/* After a slice that went over its memory limit, once nothing holds what it made. */
void pl_state_collect(struct pl_state *s);
/* After a run. LuaJIT collects in proportion to what it allocates, and does not see the documents
 * that boxes hold: once they are many, they buy steps here as if they had been allocated too. */
void pl_state_pay(struct pl_state *s);

/* Fills in what a state needs besides its libraries; the caller has set L and the flags. */
void pl_state_open(struct pl_state *s);
void pl_state_close(struct pl_state *s);
