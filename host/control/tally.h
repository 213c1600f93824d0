/* How many For keys each of this replica's shards has, counted now and then, a piece at a time:
 * for metrics, `status`, and the advice where one shard has far more than others. I/O thread. */
#pragma once

#include "base/buf.h"
#include "control/manager.h"

struct pl_tally;

/* All borrowed for life. Without shards it is NULL, which the rest accepts. */
struct pl_tally *pl_tally_create(struct pl_manager *manager);
/* Before the manager. */
void pl_tally_destroy(struct pl_tally *tally);

/* Of the last count; -1: not counted yet, or another replica's. */
int64_t pl_tally_keys(const struct pl_tally *tally, unsigned shard);
/* Appends what is to be done about a shard with more than twice the mean of keys; nothing where
 * none has. */
void pl_tally_advise(const struct pl_tally *tally, struct pl_buf *out);
