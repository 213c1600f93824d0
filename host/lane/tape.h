/* What goes into a lane's state and what its scripts ask the host for, in the order in which it
 * happens: seen by who records it (host/record), and given back by who replays it. A lane without
 * a tape does none of this.
 *
 * All is called on the lane's thread. A tape never waits, and changes nothing that a script sees
 * unless it replays. Runs of webhooks and questions (predicates, map and index functions) are not
 * on it. */
#pragma once

#include "base/clock.h"
#include "base/err.h"
#include "lua/state.h"

struct pl_co;
struct pl_exec;
struct pl_lanes;
struct pl_tape;

/* Each but `call` may be NULL: the tape does not want to know. */
struct pl_tape_ops {
    /* Every script was loaded. */
    void (*loaded)(struct pl_tape *tape);
    void (*begin)(struct pl_tape *tape, struct pl_exec *exec);
    /* The run is cancelled: why; NULL: it is asked to end by itself. */
    void (*cancel)(struct pl_tape *tape, struct pl_exec *exec, const struct pl_err *why);
    /* What the task waited for has come: the top `count` values of L. */
    void (*woken)(struct pl_tape *tape, struct pl_co *task, lua_State *L, int count);
    void (*resume)(struct pl_tape *tape, struct pl_co *task);
    /* Its result is known. */
    void (*ended)(struct pl_tape *tape, struct pl_exec *exec);
    /* Calls function, a function of the host with its arguments on the stack, or does not; returns
     * what a C function returns. */
    int (*call)(struct pl_tape *tape, lua_State *L, const char *name, lua_CFunction function);
    void (*close)(struct pl_tape *tape); /* frees it; NULL: somebody else does */
};

/* The beginning of each implementation. */
struct pl_tape {
    const struct pl_tape_ops *ops;
    struct pl_clock clock; /* what time it is to the scripts */
    uint64_t seed;         /* of math.random; not 0 */
    struct pl_state *s;    /* whose tape it is: the lane's to set, once it is there */
};

/* Does the lane have a tape, and does it want to know of that? */
#define PL_TAPE_WANTS(lane, op) ((lane)->tape != NULL && (lane)->tape->ops->op != NULL)

/* Who makes them, for the lanes of a generation. */
struct pl_taping {
    /* For the state of this lane, before it is made; NULL: it has none. */
    struct pl_tape *(*open)(void *arg, struct pl_lanes *lanes, int lane);
    void *arg;
};

/* Registers functions of the host in the table at the top, so that the state's tape sees their
 * calls. */
void pl_tape_register(lua_State *L, struct pl_state *s, const luaL_Reg *functions);
/* Is what the state does now on the tape? */
bool pl_tape_runs(const struct pl_state *s);
