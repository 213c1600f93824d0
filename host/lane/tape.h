/* A tape gets the input of a lane's Lua state and the calls of its scripts to the host, in their
 * order. One implementation records them, another one answers the calls from a record (both are in
 * host/record). A lane without a tape pays nothing for this.
 *
 * Everything here is called on the lane's thread. A tape never waits. A recording one changes
 * nothing that a script sees. */
#pragma once

#include "base/clock.h"
#include "base/err.h"
#include "lua/state.h"

struct pl_ask;
struct pl_co;
struct pl_exec;
struct pl_lanes;
struct pl_tape;

/* Each function but `call` may be NULL. */
struct pl_tape_ops {
    /* Every script was loaded. */
    void (*loaded)(struct pl_tape *tape);
    /* A run begins. The arguments of its function are the top `count` values of L. */
    void (*begin)(struct pl_tape *tape, struct pl_exec *exec, lua_State *L, int count);
    /* The run is cancelled for this reason; NULL: it is asked to end by itself. */
    void (*cancel)(struct pl_tape *tape, struct pl_exec *exec, const struct pl_err *why);
    /* The task gets the results for which it has waited: the top `count` values of L. */
    void (*woken)(struct pl_tape *tape, struct pl_co *task, lua_State *L, int count);
    void (*resume)(struct pl_tape *tape, struct pl_co *task);
    /* The run has ended, and its result is known. */
    void (*ended)(struct pl_tape *tape, struct pl_exec *exec);
    /* Predicates, a map function or index functions are asked, and have answered. In between, the
     * tape gets only their calls. */
    void (*ask)(struct pl_tape *tape, struct pl_ask *ask);
    void (*answered)(struct pl_tape *tape, struct pl_ask *ask);
    /* A script calls this function of the host, with its arguments on the stack. The tape calls it
     * or gives results of its own. Returns the number of results, as a C function of Lua does. */
    int (*call)(struct pl_tape *tape, lua_State *L, const char *name, lua_CFunction function);
    void (*close)(struct pl_tape *tape); /* frees the tape; NULL: its creator does */
};

/* The beginning of each implementation. */
struct pl_tape {
    const struct pl_tape_ops *ops;
    struct pl_clock clock; /* the clock that scripts read */
    uint64_t seed;         /* of math.random; not 0 */
    struct pl_state *s;    /* the lane's state; set by the lane when it exists */
};

/* True if the lane has a tape with that function. */
#define PL_TAPE_WANTS(lane, op) ((lane)->tape != NULL && (lane)->tape->ops->op != NULL)

/* Makes the tapes of the lanes of a generation. */
struct pl_taping {
    /* Makes the tape of a lane, before the lane's state exists. NULL: this lane has none. */
    struct pl_tape *(*open)(void *arg, struct pl_lanes *lanes, int lane);
    void *arg;
};

/* Registers functions of the host in the table at the top, so that the state's tape sees their
 * calls. */
void pl_tape_register(lua_State *L, struct pl_state *s, const luaL_Reg *functions);
/* True if the tape gets what the state does now. */
bool pl_tape_runs(const struct pl_state *s);
