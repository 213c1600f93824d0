/* Tasks of scripts, perilune.every and perilune.run: what runs without an object.
 *
 * A task is a controller with one key, its own name, that nobody queues but the clock. So it has
 * what controllers have: never two runs at a time, caches of its Reads that have synced first,
 * leading or not, editions, stopping with grace, metrics and history under its name. What differs:
 * - every: the next run is one period after the end of the last, however that ended;
 * - run: begins with the host (leader-only ones with each lead), again with backoff when it failed,
 *   and not again when it returned;
 * - a run is asked to stop (pl_reconciler_ops.stop) when the host stops or another edition takes
 *   over; at a reload `every` keeps its due time, and `run` begins anew when the old one has ended,
 *   if its code is other code or it had not returned. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum pl_task_form { PL_NO_TASK, PL_TASK_EVERY, PL_TASK_RUN };

struct pl_task_spec {
    enum pl_task_form form;
    int64_t period_ns; /* of every: above 0 */
    bool immediate;    /* the first run of every is at once: when the name is new to the process */
};
