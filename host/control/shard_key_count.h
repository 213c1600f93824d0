/* Counts the For keys of each of this replica's shards, periodically and in pieces: for metrics,
 * `status`, and advice when one shard has far more than others. I/O thread. */
#pragma once

#include "base/buf.h"
#include "control/manager.h"

struct pl_tally;

/* All pointers are borrowed for life. Without shards it returns NULL, which the other functions
 * accept. */
struct pl_tally *pl_tally_create(struct pl_manager *manager);
/* Destroy it before the manager. */
void pl_tally_destroy(struct pl_tally *tally);

/* The last count; -1: not counted yet, or another replica's shard. */
int64_t pl_tally_keys(const struct pl_tally *tally, unsigned shard);
/* Appends advice about a shard with more than twice the mean number of keys; nothing if there is
 * none. */
void pl_tally_advise(const struct pl_tally *tally, struct pl_buf *out);
