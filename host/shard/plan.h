/* Fair shares: which member takes the free shards, and which gives one to which. Pure: every member
 * computes the plan from what it sees. Members that see the same get the same plan, so that two
 * seldom want one shard and no shard is moved twice.
 *
 * `held` is the number of shards of each member, in the same order for all. A place of level L is a
 * member's L-th shard. Empty places are filled from the lowest level up, and filled places are
 * emptied from the highest down, within one level in the order of the members. */
#pragma once

#include "shard/place.h"

#include <stddef.h>

#define PL_PLAN_NOBODY SIZE_MAX

/* The member whose place is filled rank-th (from 0 on), and its level. count >= 1. */
size_t pl_plan_receiver(const unsigned *held, size_t count, unsigned rank, unsigned *level);

/* The member to which `me` gives a shard, if that makes the shares fairer: the receiver will not
 * have more than the giver keeps. `before` places are filled by others first. PL_PLAN_NOBODY: none.
 */
size_t pl_plan_give(const unsigned *held, size_t count, size_t me, unsigned before);

/* The free shards that `me` takes, first those beside its own. owners: the holder of each of the
 * `shards` shards, PL_PLAN_NOBODY for a free one; it is filled in. */
struct pl_shard_set pl_plan_take(const unsigned *held, size_t count, size_t me, size_t *owners,
                                 unsigned shards);
