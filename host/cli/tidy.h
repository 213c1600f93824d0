/* Gives memory back to the system that is kept for a while after a long list, many changes or a
 * mass deletion: the pool waits until much was freed, and glibc by itself returns only what lies at
 * the end of its heap. Loop's thread. */
#pragma once

#include "net/loop.h"
#include "value/pool.h"

struct pl_tidy {
    struct pl_pool *pool;
    struct pl_timers *timers;
    struct pl_timer timer;
    struct pl_idle each_turn;
    unsigned turns; /* of the loop since the last look */
    unsigned later; /* times that it was put off */
};

/* From now on, two seconds after the loop began to work, when enough is free for it to be worth the
 * walk, which takes some 20 ms in a heap of a gigabyte: a loop that has much to do is let alone for
 * up to 30 s. One that rests is not woken. pool: borrowed until the stop, collected by the caller.
 */
void pl_tidy_start(struct pl_tidy *tidy, struct pl_loop *loop, struct pl_pool *pool);
/* Harmless when it was not started. */
void pl_tidy_stop(struct pl_tidy *tidy);
