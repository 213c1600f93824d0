#include "lua/nesting.h"

#include "lua/limit.h"

#include <pthread.h>
#include <stddef.h>

/* Uncounted calls (metamethods that C functions call) need a few hundred bytes of C stack each, and
 * the Lua stack limits their number: half of the C stack is enough for them. */
void pl_nesting_init(struct pl_nesting *nesting)
{
    pthread_attr_t attr;
    void *low = NULL;
    size_t size = 0;
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    if (pthread_getattr_np(pthread_self(), &attr) == 0) {
        pthread_attr_getstack(&attr, &low, &size);
        pthread_attr_destroy(&attr);
    }
    size_t left = low != NULL ? (size_t)(here - (uintptr_t)low) : PL_LANE_STACK / 2;
    if (left > PL_LANE_STACK)
        left = PL_LANE_STACK;
    nesting->low = here - left / 2;
    pl_nesting_reset(nesting);
}

void pl_nesting_reset(struct pl_nesting *nesting)
{
    nesting->count = 0;
}

bool pl_nesting_enter(struct pl_nesting *nesting, const void *frame)
{
    uintptr_t at = (uintptr_t)frame;
    while (nesting->count > 0 && nesting->frames[nesting->count - 1] <= at)
        nesting->count--;
    if (nesting->count == PL_NESTING_MAX || at < nesting->low)
        return false;
    nesting->frames[nesting->count++] = at;
    return true;
}
