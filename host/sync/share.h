/* Which of a kind's objects one informer keeps when all replicas act, each on its shards
 * (shard/shards.h). Without shards it keeps everything, and nothing is checked. I/O thread. */
#pragma once

#include "event/source.h"
#include "kube/resource.h"
#include "shard/shards.h"
#include "value/doc.h"

enum pl_share_by {
    PL_SHARE_WHOLE,
    PL_SHARE_BY_NAMESPACE,
    PL_SHARE_BY_UID,
    PL_SHARE_BY_CONTROLLER, /* the uid of the controller reference */
    PL_SHARE_BY_OWNERS,     /* of any owner reference */
};

/* The meaning of a source's part for a kind with this scope. shards NULL: the whole. */
enum pl_share_by pl_share_by(const struct pl_shards *shards, enum pl_source_part part,
                             const struct pl_resource *resource);
/* Whether the object lies in one of these shards. By owners, an object without owner lies in none.
 */
bool pl_share_has(const struct pl_shards *shards, enum pl_share_by by,
                  const struct pl_shard_set *set, struct pl_node object);
/* Whether an object's shard may change during its life. */
static inline bool pl_share_moves(enum pl_share_by by)
{
    return by == PL_SHARE_BY_CONTROLLER || by == PL_SHARE_BY_OWNERS;
}
