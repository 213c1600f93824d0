/* Watches the first runs of new scripts: whether they fail where the old ones did not. Pure; time
 * is passed in. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PL_GUARD_NS       INT64_C(30000000000) /* the guard ends after this time */
#define PL_GUARD_RUNS     50                   /* or after this number of runs, if that is sooner */
#define PL_GUARD_FAILURES 5                    /* fewer failures are not conclusive */

enum pl_guard_verdict { PL_GUARD_WATCHING, PL_GUARD_PASSED, PL_GUARD_FAILED };

/* How a run of the new scripts has ended. */
enum pl_guard_run {
    PL_GUARD_CLEAN,
    PL_GUARD_NO_WORSE, /* not the script's fault, or on a key on which the old scripts failed too */
    PL_GUARD_WORSE,    /* with an error of the script that the old ones did not have */
};

struct pl_guard {
    bool on;
    int64_t until_ns;
    int runs, clean, failures;
    int lost; /* failures that could not be interrupted */
};

void pl_guard_begin(struct pl_guard *guard, int64_t now_ns);
/* One run of the new scripts has ended. A verdict is final. */
enum pl_guard_verdict pl_guard_ran(struct pl_guard *guard, enum pl_guard_run run, int64_t now_ns);
/* A run has failed that could not be interrupted. It counts as PL_GUARD_FAILURES, since that many
 * more would end the host. */
enum pl_guard_verdict pl_guard_lost(struct pl_guard *guard, int64_t now_ns);
/* Checks the time. */
enum pl_guard_verdict pl_guard_look(struct pl_guard *guard, int64_t now_ns);
/* Whether the scripts are known to be good, even before the guard has ended: some run was clean,
 * and not more than half of them failed. */
bool pl_guard_is_good(const struct pl_guard *guard);
