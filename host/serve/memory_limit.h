/* The memory limit of the control group that the process runs in, as a container has one. When the
 * memory in use comes near it, the owner hears of it before the kernel ends the process, which says
 * nothing. I/O thread; the files that are read are the kernel's and do not wait. */
#pragma once

#include "base/timer.h"

#include <stdbool.h>
#include <stdint.h>

struct pl_memory_limit {
    struct pl_timers *timers; /* private, as is the rest */
    struct pl_timer timer;
    char current[512], stat[512]; /* paths */
    bool is_v1;
    uint64_t limit;
    bool told;
    void (*near)(void *arg, uint64_t used, uint64_t limit);
    void *arg;
};

/* root: "" but in tests: what stands before /proc and /sys. Looks for a limit, once; where there is
 * none nothing happens, ever. near is called when 90 % are in use, and again after less than 80 %
 * were. Bytes; file pages that the kernel would give up do not count as used. */
void pl_memory_limit_start(struct pl_memory_limit *limit, struct pl_timers *timers,
                           const char *root, void (*near)(void *arg, uint64_t used, uint64_t limit),
                           void *arg);
/* Harmless when there is no limit, or zero-initialised. */
void pl_memory_limit_stop(struct pl_memory_limit *limit);
