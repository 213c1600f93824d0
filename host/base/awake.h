/* Waiting awake for a moment. To fall asleep and be woken costs two threads more than a short wait
 * does, and in a virtual machine many times more. So a thread whose last wait was short, or that
 * has just asked another one for something, begins the next wait awake; else, and on one processor,
 * it sleeps at once. One thread's own. */
#pragma once

#include "base/clock.h"

#include <stdbool.h>

#define PL_AWAKE_NS 100000 /* the longest that is waited awake */

struct pl_awake {
    const struct pl_clock *clock; /* borrowed for life */
    int processors;               /* that this process may run on */
    int64_t began_ns, last_ns;    /* private: this wait's start, the last one's length */
    bool expects;                 /* private: something in the next wait */
};

void pl_awake_init(struct pl_awake *awake, const struct pl_clock *clock);
/* An answer is near. */
void pl_awake_expect(struct pl_awake *awake);
/* A wait begins: asks is_there again and again while that is worth it. */
void pl_awake_begin(struct pl_awake *awake, bool (*is_there)(void *arg), void *arg);
/* The wait is over, asleep or awake. */
void pl_awake_end(struct pl_awake *awake);
