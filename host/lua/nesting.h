/* How deep functions in C that call scripts (string.gsub, resuming a coroutine, print's __tostring)
 * are nested: LuaJIT counts them not at all, each coroutine has a Lua stack of its own, and to
 * leave n of them by an error takes it n * n steps in which nothing can be interrupted. The state's
 * own thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PL_NESTING_MAX 200 /* as in Lua's own interpreter */
#define PL_NESTING_TEXT                                                                            \
    "stack overflow (functions called by C functions or in coroutines are nested too deeply)"

struct pl_nesting {
    uintptr_t low; /* no call may begin below: the rest is for what is not counted */
    int count;
    uintptr_t frames[PL_NESTING_MAX]; /* of the calls under way, outermost first, and perhaps of */
                                      /* some that have ended: those lie below any new one */
};

/* For the calling thread's stack. */
void pl_nesting_init(struct pl_nesting *nesting);
/* No call is under way. */
void pl_nesting_reset(struct pl_nesting *nesting);
/* A call that has its frame here begins: false when that is one too many. Nobody says when it ends,
 * as errors and waits leave it in the middle: a frame that is not above the new one is over.
 * frame: of the function that LuaJIT has called, which is the same for each that it calls from
 * there. */
bool pl_nesting_enter(struct pl_nesting *nesting, const void *frame);
