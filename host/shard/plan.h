/* Fair shares: who takes the shards that are free, and who gives one to whom. Pure: every member
 * works it out from what it sees, and members that see the same come to the same plan, so that two
 * seldom want one shard and no shard is moved twice.
 *
 * `held` is how many shards each member has, members in one order for all. A place of the level L
 * is a member's L-th shard. Places that are not filled yet are filled from the lowest level up,
 * those that are filled are emptied from the highest down, of one level in the order of the
 * members. */
#pragma once

#include "shard/place.h"

#include <stddef.h>

#define PL_PLAN_NOBODY SIZE_MAX

/* Whose place is filled rank-th (from 0 on), and its level. count >= 1. */
size_t pl_plan_receiver(const unsigned *held, size_t count, unsigned rank, unsigned *level);

/* To whom `me` gives a shard, if moving it makes the shares fairer: the receiver will not have more
 * than who gives keeps. `before` places are filled by others first. PL_PLAN_NOBODY: to nobody. */
size_t pl_plan_give(const unsigned *held, size_t count, size_t me, unsigned before);

/* Of the free shards those that `me` takes, first those beside its own. owners: who has each of
 * the `shards` shards, PL_PLAN_NOBODY for one that is free; it is filled in. */
struct pl_shard_set pl_plan_take(const unsigned *held, size_t count, size_t me, size_t *owners,
                                 unsigned shards);
