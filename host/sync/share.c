/* Decides from an object's metadata whether it is kept. It looks at nothing else of an object, so
 * that other objects cost little. A namespaced kind is placed by its namespace, by its uid, or by
 * its owner's uid. */
#include "sync/share.h"

#include "object/meta.h"

enum pl_share_by pl_share_by(const struct pl_shards *shards, enum pl_source_part part,
                             const struct pl_resource *resource)
{
    if (shards == NULL || part == PL_PART_WHOLE)
        return PL_SHARE_WHOLE;
    bool by_uid = pl_shards_by(shards) == PL_SHARD_BY_UID || !resource->namespaced;
    if (part == PL_PART_FOR)
        return by_uid ? PL_SHARE_BY_UID : PL_SHARE_BY_NAMESPACE;
    if (!resource->namespaced)
        return PL_SHARE_WHOLE;
    return part == PL_PART_NAMESPACE    ? PL_SHARE_BY_NAMESPACE
           : part == PL_PART_CONTROLLER ? PL_SHARE_BY_CONTROLLER
                                        : PL_SHARE_BY_OWNERS;
}

static bool has_uid(const struct pl_shards *shards, const struct pl_shard_set *set,
                    struct pl_slice uid)
{
    return pl_shard_set_has(set, pl_shards_of_uid(shards, uid));
}

static bool has_owner(const struct pl_shards *shards, const struct pl_shard_set *set,
                      struct pl_node object)
{
    struct pl_owner owner;
    for (size_t i = 0; pl_meta_owner(object, i, &owner); i++)
        if (has_uid(shards, set, owner.uid))
            return true;
    return false;
}

bool pl_share_has(const struct pl_shards *shards, enum pl_share_by by,
                  const struct pl_shard_set *set, struct pl_node object)
{
    struct pl_scratch scratch;
    struct pl_owner owner;
    switch (by) {
    case PL_SHARE_BY_NAMESPACE:
        return pl_shard_set_has(
            set, pl_shards_of_namespace(shards, pl_meta_namespace(object, &scratch)));
    case PL_SHARE_BY_UID:
        return has_uid(shards, set, pl_meta_uid(object, &scratch));
    case PL_SHARE_BY_CONTROLLER:
        return pl_meta_controller(object, &owner) && has_uid(shards, set, owner.uid);
    case PL_SHARE_BY_OWNERS:
        return has_owner(shards, set, object);
    case PL_SHARE_WHOLE:
        break;
    }
    return true;
}
