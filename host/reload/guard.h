/* Watches the first runs of new scripts: whether they fail where the old ones did not. Pure; time
 * is passed in. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PL_GUARD_NS       INT64_C(30000000000) /* the guard ends after this time, */
#define PL_GUARD_RUNS     50                   /* or after this number of runs */
#define PL_GUARD_FAILURES 5                    /* fewer failures are not conclusive */

enum pl_guard_verdict { PL_GUARD_WATCHING, PL_GUARD_PASSED, PL_GUARD_FAILED };

struct pl_guard {
    bool on;
    int64_t until_ns;
    int runs, failures;
    int lost; /* failures that could not be interrupted */
};

void pl_guard_begin(struct pl_guard *guard, int64_t now_ns);
/* One run of the new scripts has ended. failed: with an error of the script, on a key on which the
 * old scripts did not fail. A verdict is final. */
enum pl_guard_verdict pl_guard_ran(struct pl_guard *guard, bool failed, int64_t now_ns);
/* A run has failed that could not be interrupted. It counts as PL_GUARD_FAILURES, since that many
 * more would end the host. */
enum pl_guard_verdict pl_guard_lost(struct pl_guard *guard, int64_t now_ns);
/* Checks the time. */
enum pl_guard_verdict pl_guard_look(struct pl_guard *guard, int64_t now_ns);
