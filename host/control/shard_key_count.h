/* Counts the For keys of each of this replica's shards, periodically and in pieces: for metrics,
 * `status`, and advice when one shard has far more than others. I/O thread. */
#pragma once

#include "base/buf.h"
#include "control/manager.h"

struct pl_shard_key_count;

/* All pointers are borrowed for life. Without shards it returns NULL, which the other functions
 * accept. */
struct pl_shard_key_count *pl_shard_key_count_create(struct pl_manager *manager);
/* Destroy it before the manager. */
void pl_shard_key_count_destroy(struct pl_shard_key_count *key_count);

/* The last count; -1: not counted yet, or another replica's shard. */
int64_t pl_shard_key_count_keys(const struct pl_shard_key_count *key_count, unsigned shard);
/* Appends advice about a shard with more than twice the mean number of keys; nothing if there is
 * none. */
void pl_shard_key_count_advise(const struct pl_shard_key_count *key_count, struct pl_buf *out);
