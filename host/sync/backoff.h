/* Exponential delays with jitter, as client-go's reflector uses them (rules 83, 84). */
#pragma once

#include "base/rand.h"

#include <stdint.h>

struct pl_backoff {
    int64_t base_ns, cap_ns;
    int64_t reset_after_ns; /* the delay returns to base when this time has passed since the last
                               reset point */
    int64_t step_ns;        /* private: the next delay before jitter */
    int64_t reset_at_ns;    /* private: the last reset point */
};

/* 800 ms doubling to 30 s, jittered to [d, 2d), reset 2 minutes after the last reset point.
 * client-go has the same rule for the reset point, so a source that keeps failing also starts again
 * at 800 ms every 2 minutes. */
void pl_backoff_init(struct pl_backoff *backoff, int64_t now_ns);
void pl_backoff_init_with(struct pl_backoff *backoff, int64_t base_ns, int64_t cap_ns,
                          int64_t reset_after_ns, int64_t now_ns);
/* Returns the next delay. */
int64_t pl_backoff_next(struct pl_backoff *backoff, int64_t now_ns, struct pl_rand *rand);
