/* Returns memory to the system that is kept for a while after a long list, many changes or a mass
 * deletion: the pool waits until much was freed, and glibc by itself returns only the end of its
 * heap. Loop's thread. */
#pragma once

#include "net/loop.h"
#include "value/pool.h"

struct pl_trim {
    struct pl_pool *pool;
    struct pl_timers *timers;
    struct pl_timer timer;
    struct pl_idle each_turn;
    unsigned turns; /* of the loop since the last look */
    unsigned later; /* number of postponements */
};

/* From now on it trims two seconds after its first turn, and two seconds after the loop began to
 * work, if enough memory is free to be worth the walk, which takes about 20 ms in a heap of a
 * gigabyte. While the loop is busy it is postponed for up to 30 s. If the loop has rested since its
 * work, it also unmaps code (unmap_code.h). An idle loop is not woken. pool: borrowed until the
 * stop, collected by the caller. */
void pl_trim_start(struct pl_trim *trim, struct pl_loop *loop, struct pl_pool *pool);
/* Does nothing when it was not started. */
void pl_trim_stop(struct pl_trim *trim);
