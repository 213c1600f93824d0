/* Counts the reconciles of each key, and remembers when it was last waited for: the values of a map
 * from "host controller key". One thread. */
#pragma once

#include "base/err.h"
#include "base/map.h"

#include <stdint.h>

struct pl_round {
    uint64_t version; /* version of the cluster at the last wait; UINT64_MAX: never */
    unsigned waits;   /* at this version */
    int64_t delay_ns; /* of the last wait, if it was a sleep; else 0 */
    unsigned runs;    /* since the settling began */
    unsigned retries; /* asked for in a row, at this version of the cluster: */
    uint64_t retried_version;
};

/* Never NULL; lives as long as the map. */
struct pl_round *pl_rounds_of(struct pl_map *rounds, const char *what);
/* It is waited for at this version of the cluster. */
void pl_round_wait(struct pl_round *round, uint64_t version, int64_t delay_ns);
/* True when it was waited for at this version, so that waiting again would be without end: for the
 * same time, or often enough for other times. */
bool pl_round_is_over(const struct pl_round *round, uint64_t version, int64_t delay_ns);
/* A run has asked for another one after a backoff, at this version. */
void pl_round_retry(struct pl_round *round, uint64_t version);
/* True when runs have asked so often at this version, and for nothing else since. */
bool pl_round_only_retries(const struct pl_round *round, uint64_t version, unsigned times);
void pl_rounds_forget_runs(struct pl_map *rounds);
/* Forgets which rounds were waited for: a host starts again, will see earlier
 * changes, or was disturbed. */
void pl_rounds_forget(struct pl_map *rounds);
/* ELIMIT, with the busiest keys. */
int pl_rounds_fail(const struct pl_map *rounds, unsigned reconciles, struct pl_err *err);
void pl_rounds_deinit(struct pl_map *rounds);
