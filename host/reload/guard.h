/* The first runs of new scripts: do they fail where the old ones did not? Pure; time is passed
 * in. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PL_GUARD_NS       INT64_C(30000000000) /* it ends after this time, */
#define PL_GUARD_RUNS     50                   /* or after so many runs */
#define PL_GUARD_FAILURES 5                    /* fewer say nothing */

enum pl_guard_verdict { PL_GUARD_WATCHING, PL_GUARD_PASSED, PL_GUARD_FAILED };

struct pl_guard {
    bool on;
    int64_t until_ns;
    int runs, failures;
    int lost; /* of the failures: could not be interrupted */
};

void pl_guard_begin(struct pl_guard *guard, int64_t now_ns);
/* One run of the new scripts has ended. failed: with a mistake of the script's, of a key that the
 * old scripts did not fail on. What is over stays over. */
enum pl_guard_verdict pl_guard_ran(struct pl_guard *guard, bool failed, int64_t now_ns);
/* One has failed that could not be interrupted. It weighs as PL_GUARD_FAILURES: before so many, the
 * host would have ended. */
enum pl_guard_verdict pl_guard_lost(struct pl_guard *guard, int64_t now_ns);
/* Time has passed. */
enum pl_guard_verdict pl_guard_look(struct pl_guard *guard, int64_t now_ns);
