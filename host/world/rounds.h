/* How often each key was reconciled, and when it was last waited for: the values of a map from
 * "host controller key". One thread. */
#pragma once

#include "base/err.h"
#include "base/map.h"

#include <stdint.h>

struct pl_round {
    uint64_t version; /* of the cluster when it was last waited for; UINT64_MAX: never */
    unsigned runs;    /* since the settling began */
};

/* Never NULL; lives as long as the map. */
struct pl_round *pl_rounds_of(struct pl_map *rounds, const char *what);
void pl_rounds_forget_runs(struct pl_map *rounds);
/* Rounds that were waited for count no more: a host begins anew, or will see what it has not seen.
 */
void pl_rounds_forget(struct pl_map *rounds);
/* ELIMIT, with the busiest. */
int pl_rounds_fail(const struct pl_map *rounds, unsigned reconciles, struct pl_err *err);
void pl_rounds_deinit(struct pl_map *rounds);
