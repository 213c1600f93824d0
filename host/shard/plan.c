/* The plan of fair shares. It must be the same for all members that see the same: no randomness, no
 * clock, no order except that of the arguments. If two members see different things, the
 * compare-and-swap of each shard's Lease keeps them apart, not the plan. */
#include "shard/plan.h"

#include "base/alloc.h"

size_t pl_plan_receiver(const unsigned *held, size_t count, unsigned rank, unsigned *level)
{
    unsigned at = held[0];
    for (size_t i = 1; i < count; i++)
        at = held[i] < at ? held[i] : at;
    for (at++;; at++) {
        for (size_t i = 0; i < count; i++) {
            if (held[i] >= at)
                continue;
            if (rank-- == 0) {
                *level = at;
                return i;
            }
        }
    }
}

/* The number of places that are emptied before the highest of `me`. */
static unsigned rank_of_giver(const unsigned *held, size_t count, size_t me)
{
    unsigned rank = 0;
    for (size_t i = 0; i < count; i++) {
        if (held[i] > held[me])
            rank += held[i] - held[me];
        rank += i < me && held[i] >= held[me];
    }
    return rank;
}

size_t pl_plan_give(const unsigned *held, size_t count, size_t me, unsigned before)
{
    unsigned level = 0, rank = rank_of_giver(held, count, me);
    if (held[me] == 0)
        return PL_PLAN_NOBODY;
    size_t receiver = pl_plan_receiver(held, count, before + rank, &level);
    return level < held[me] ? receiver : PL_PLAN_NOBODY;
}

static bool is_beside(const size_t *owners, unsigned shards, unsigned i, size_t who)
{
    return (i > 0 && owners[i - 1] == who) || (i + 1 < shards && owners[i + 1] == who);
}

/* shards: none is free. */
static unsigned pick(const size_t *owners, unsigned shards, size_t who)
{
    unsigned first = shards;
    for (unsigned i = 0; i < shards; i++) {
        if (owners[i] != PL_PLAN_NOBODY)
            continue;
        if (is_beside(owners, shards, i, who))
            return i;
        if (first == shards)
            first = i;
    }
    return first;
}

struct pl_shard_set pl_plan_take(const unsigned *held, size_t count, size_t me, size_t *owners,
                                 unsigned shards)
{
    struct pl_shard_set mine = {{0}};
    unsigned *each = pl_calloc(count, sizeof(unsigned)), level, free = 0;
    for (unsigned i = 0; i < shards; i++)
        free += owners[i] == PL_PLAN_NOBODY;
    for (unsigned rank = 0; rank < free; rank++)
        each[pl_plan_receiver(held, count, rank, &level)]++;
    for (size_t who = 0; who < count; who++) {
        for (; each[who] > 0; each[who]--) {
            unsigned i = pick(owners, shards, who);
            owners[i] = who;
            if (who == me)
                pl_shard_set_add(&mine, i);
        }
    }
    pl_free(each);
    return mine;
}
