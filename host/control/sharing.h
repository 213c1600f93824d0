/* Which keys of a controller are this process's where all replicas act, each on its shards
 * (shard/shards.h). I/O thread. */
#pragma once

#include "control/controller.h"
#include "shard/shards.h"

#define PL_NO_SHARD PL_SHARDS_MAX

/* The shard in which a key lies now; PL_NO_SHARD: there are no shards, or the key's object, by
 * whose uid it is placed, is not cached. */
unsigned pl_controller_shard_of(struct pl_controller *controller, struct pl_slice key);
/* How long runs of a shard that goes may take to end by themselves; 0 until it is said. */
void pl_controller_set_grace(struct pl_controller *controller, int64_t grace_ns);
/* Its keys lie in shards, at all, and this one in one that is another replica's: what scripts are
 * refused. by_uid: also when it can't be placed. */
bool pl_controller_is_foreign(struct pl_controller *controller, struct pl_slice key);
