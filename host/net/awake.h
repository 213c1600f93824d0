/* Spin before sleeping. Going to sleep and being woken costs two threads more CPU time than a short
 * wait, and several times more in a virtual machine. So a thread spins at the beginning of a wait
 * if its last wait was short or if it has just sent a request to another thread. Otherwise, and
 * with one processor, it sleeps at once. Each struct belongs to one thread. */
#pragma once

#include "base/clock.h"

#include <stdbool.h>

#define PL_AWAKE_NS 100000 /* longest time of spinning */

struct pl_awake {
    const struct pl_clock *clock; /* borrowed for life */
    int processors;               /* number of processors that this process may use */
    int64_t began_ns, last_ns;    /* private: start of this wait, length of the last one */
    bool expects;                 /* private: the next wait is expected to be short */
};

void pl_awake_init(struct pl_awake *awake, const struct pl_clock *clock);
/* The caller expects an answer soon: the next wait spins. */
void pl_awake_expect(struct pl_awake *awake);
/* A wait begins: calls is_there again and again while spinning is worth its cost. */
void pl_awake_begin(struct pl_awake *awake, bool (*is_there)(void *arg), void *arg);
/* The wait has ended, by spinning or by sleeping. */
void pl_awake_end(struct pl_awake *awake);
