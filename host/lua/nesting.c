#include "lua/nesting.h"

#include "lua/limit.h"

#include <pthread.h>
#include <stddef.h>
#include <sys/resource.h>
#include <unistd.h>

/* The rest of the calling thread's stack, at most PL_LANE_STACK. For the main thread, glibc would
 * read /proc/self/maps, which takes a fifth of the time that a whole new world takes. So seven
 * eighths of the limit are taken to be left: our callers have used at most one eighth. */
static size_t stack_left(uintptr_t here)
{
    pthread_attr_t attr;
    struct rlimit limit;
    void *low = NULL;
    size_t size = 0, left = PL_LANE_STACK / 2;
    if (getpid() == gettid()) {
        if (getrlimit(RLIMIT_STACK, &limit) == 0)
            left = limit.rlim_cur - limit.rlim_cur / 8;
    } else if (pthread_getattr_np(pthread_self(), &attr) == 0) {
        pthread_attr_getstack(&attr, &low, &size);
        pthread_attr_destroy(&attr);
        left = (size_t)(here - (uintptr_t)low);
    }
    return left < PL_LANE_STACK ? left : PL_LANE_STACK;
}

/* Uncounted calls (metamethods that C functions call) need a few hundred bytes of C stack each, and
 * the Lua stack limits their number: half of the C stack is enough for them. */
void pl_nesting_init(struct pl_nesting *nesting)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    nesting->low = here - stack_left(here) / 2;
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
