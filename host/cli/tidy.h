/* Gives memory back to the system that the allocator keeps after a long list or a mass deletion:
 * glibc by itself returns only what lies at the end of its heap. Loop's thread. */
#pragma once

#include "net/loop.h"

struct pl_tidy {
    struct pl_timers *timers;
    struct pl_timer timer;
    struct pl_idle each_turn;
    unsigned turns; /* of the loop since the last look */
};

/* From now on, two seconds after the loop began to work, when enough is free for it to be worth the
 * walk. A loop that rests is not woken. */
void pl_tidy_start(struct pl_tidy *tidy, struct pl_loop *loop);
/* Harmless when it was not started. */
void pl_tidy_stop(struct pl_tidy *tidy);
