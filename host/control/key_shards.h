/* Which keys of a controller belong to this process when all replicas act, each on its shards
 * (shard/shards.h). I/O thread. */
#pragma once

#include "control/controller.h"
#include "shard/shards.h"

#define PL_NO_SHARD PL_SHARDS_MAX

/* The current shard of a key. PL_NO_SHARD: there are no shards, or the key is placed by its
 * object's uid and the object is not cached. */
unsigned pl_controller_shard_of(struct pl_controller *controller, struct pl_slice key);
/* Sets the time that runs of a leaving shard may take to end by themselves; 0 until it is set. */
void pl_controller_set_grace(struct pl_controller *controller, int64_t grace_ns);
/* True when keys of the controller lie in shards, and this key lies in another replica's: scripts
 * may not queue it. False when its shard is unknown: by uid, a key without a cached object. */
bool pl_controller_is_foreign(struct pl_controller *controller, struct pl_slice key);
