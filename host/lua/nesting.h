/* The nesting of C functions that call scripts (string.gsub, resuming a coroutine, print's
 * __tostring). LuaJIT does not count it, each coroutine has its own Lua stack, and leaving n of
 * them by an error takes n * n steps that cannot be interrupted. Used by the state's own thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PL_NESTING_MAX 200 /* as in Lua's own interpreter */
#define PL_NESTING_TEXT                                                                            \
    "stack overflow (functions called by C functions or in coroutines are nested too deeply)"

struct pl_nesting {
    uintptr_t low; /* no call may begin below: the rest is for uncounted calls */
    int count;
    uintptr_t frames[PL_NESTING_MAX]; /* of the calls under way, outermost first, and possibly of */
                                      /* ended ones: those lie below any new one */
};

/* For the calling thread's stack. */
void pl_nesting_init(struct pl_nesting *nesting);
/* No call is under way. */
void pl_nesting_reset(struct pl_nesting *nesting);
/* A call with this frame begins; false when it is nested too deeply. The end of a call is not
 * reported, as errors and waits leave it in the middle: a frame that is not above the new one has
 * ended. frame: of the function that LuaJIT has called, which is the same for all functions that
 * LuaJIT calls from there. */
bool pl_nesting_enter(struct pl_nesting *nesting, const void *frame);
