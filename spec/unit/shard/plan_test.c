#include "shard/plan.h"

#include "base/base.h"
#include "support/test.h"

TEST(places_are_filled_from_the_lowest_level_up_in_one_order)
{
    static const unsigned held[] = {2, 0, 1, 0};
    static const struct {
        size_t who;
        unsigned level;
    } expected[] = {{1, 1}, {3, 1}, {1, 2}, {2, 2}, {3, 2}, {0, 3}, {1, 3}, {2, 3}, {3, 3}, {0, 4}};
    for (unsigned rank = 0; rank < PL_ARRAY_LEN(expected); rank++) {
        unsigned level;
        CHECK_INT(pl_plan_receiver(held, PL_ARRAY_LEN(held), rank, &level), expected[rank].who);
        CHECK_INT(level, expected[rank].level);
    }
}

TEST(a_shard_is_given_only_where_it_makes_shares_fairer)
{
    static const unsigned even[] = {3, 2, 3}, one[] = {4, 2, 3}, newcomer[] = {3, 3, 2, 0};
    for (size_t i = 0; i < 3; i++)
        CHECK(pl_plan_give(even, 3, i, 0) == PL_PLAN_NOBODY);
    CHECK_INT(pl_plan_give(one, 3, 0, 0), 1);
    CHECK(pl_plan_give(one, 3, 0, 1) == PL_PLAN_NOBODY); /* a free shard goes there first */
    CHECK(pl_plan_give(one, 3, 2, 0) == PL_PLAN_NOBODY);
    CHECK_INT(pl_plan_give(newcomer, 4, 0, 0), 3);
    CHECK_INT(pl_plan_give(newcomer, 4, 1, 0), 3);
    CHECK(pl_plan_give(newcomer, 4, 2, 0) == PL_PLAN_NOBODY);
    CHECK(pl_plan_give(newcomer, 4, 3, 0) == PL_PLAN_NOBODY);
}

static void taken_by(const unsigned *held, const size_t *owners, size_t me, const char *expected)
{
    size_t copy[8];
    char text[9] = "";
    memcpy(copy, owners, sizeof copy);
    struct pl_shard_set mine = pl_plan_take(held, 3, me, copy, 8);
    for (unsigned i = 0; i < 8; i++)
        text[i] = pl_shard_set_has(&mine, i) ? 'x' : '.';
    CHECK_STR(text, expected);
}

TEST(free_shards_are_shared_out_beside_ones_own_and_each_to_one)
{
    static const unsigned held[] = {1, 2, 0};
    static const size_t n = PL_PLAN_NOBODY;
    const size_t owners[8] = {n, n, 0, n, n, 1, 1, n};
    taken_by(held, owners, 0, "xx......");
    taken_by(held, owners, 1, "....x...");
    taken_by(held, owners, 2, "...x...x");
}

TEST(what_is_given_again_and_again_ends_with_shares_that_differ_by_one)
{
    for (size_t count = 1; count <= 12; count++) {
        unsigned held[12] = {40}, most = 0, least = 40;
        for (int rounds = 0; rounds < 200; rounds++)
            for (size_t me = 0; me < count; me++) {
                size_t to = pl_plan_give(held, count, me, 0);
                if (to == PL_PLAN_NOBODY)
                    continue;
                CHECK(to != me && held[me] > held[to] + 1);
                held[me]--;
                held[to]++;
            }
        for (size_t i = 0; i < count; i++) {
            most = held[i] > most ? held[i] : most;
            least = held[i] < least ? held[i] : least;
        }
        CHECK(most - least <= 1);
    }
}

TEST_MAIN()
