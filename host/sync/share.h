/* Which of a kind's objects one informer keeps where all replicas act, each on its shards
 * (shard/shards.h). Without shards it is everything, and nothing is asked. I/O thread. */
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

/* What a source's part means for a kind that is kept there. shards NULL: the whole. */
enum pl_share_by pl_share_by(const struct pl_shards *shards, enum pl_source_part part,
                             const struct pl_resource *resource);
/* Does the object lie in one of these shards? What has no owner lies in none, by owners. */
bool pl_share_has(const struct pl_shards *shards, enum pl_share_by by,
                  const struct pl_shard_set *set, struct pl_node object);
/* An object may come to be another shard's while it lives. */
static inline bool pl_share_moves(enum pl_share_by by)
{
    return by == PL_SHARE_BY_CONTROLLER || by == PL_SHARE_BY_OWNERS;
}
