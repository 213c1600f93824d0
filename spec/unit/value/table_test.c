#include "value/table.h"

#include "base/alloc.h"
#include "base/rand.h"

#include "support/test.h"

static bool holds(const struct table *table, uint64_t hash, uint32_t handle)
{
    struct table_probe probe = table_probe(table, hash);
    uint32_t found;
    while ((found = table_next(&probe)) != 0) {
        if (found == handle)
            return true;
    }
    return false;
}

TEST(entries_are_found_through_all_growing_and_shrinking)
{
    enum { COUNT = 50000 };
    struct table table;
    struct pl_rand rand;
    uint64_t *hashes = pl_calloc(COUNT, sizeof(*hashes));
    bool *in = pl_calloc(COUNT, sizeof(*in));
    pl_table_init(&table);
    pl_rand_seed(&rand, 5);
    for (uint32_t round = 0; round < 6 * COUNT; round++) {
        /* More additions than removals first, then the reverse. */
        uint32_t i = (uint32_t)(pl_rand_u64(&rand) % COUNT);
        bool add = pl_rand_u64(&rand) % 10 < (round < 3 * COUNT ? 8u : 1u);
        if (add && !in[i]) {
            hashes[i] = pl_rand_u64(&rand) & ~(UINT64_C(7) << 32); /* some collide */
            pl_table_add(&table, hashes[i], i + 1);
            in[i] = true;
        } else if (!add && in[i]) {
            pl_table_remove(&table, hashes[i], i + 1);
            in[i] = false;
        }
        if (in[i] != holds(&table, hashes[i], i + 1))
            TEST_FAIL("entry %u after %u steps", i, round);
        if (round % 64 == 0)
            pl_table_tidy(&table, 1000);
    }
    uint32_t count = 0;
    for (uint32_t i = 0; i < COUNT; i++) {
        CHECK(in[i] == holds(&table, hashes[i], i + 1));
        count += in[i];
    }
    CHECK_INT(table.count, count);
    for (uint32_t i = 0; i < COUNT; i++) {
        if (in[i])
            pl_table_remove(&table, hashes[i], i + 1);
    }
    for (int i = 0; i < 1000; i++)
        pl_table_tidy(&table, 10000);
    CHECK_INT(table.count, 0);
    CHECK(table_bytes(&table) <= 64 << 10);
    pl_table_deinit(&table);
    pl_free(hashes);
    pl_free(in);
}

TEST(growing_moves_few_slots_at_a_time)
{
    struct table table;
    pl_table_init(&table);
    for (uint32_t i = 1; i < 200000; i++) {
        uint32_t before = table.old.cap != 0 ? table.moved : UINT32_MAX;
        pl_table_add(&table, (uint64_t)i * 0x9e3779b97f4a7c15ULL, i);
        if (before != UINT32_MAX && table.old.cap != 0)
            CHECK(table.moved - before <= 16);
        CHECK(table.now.used <= table.now.cap / 2 + 1);
    }
    pl_table_deinit(&table);
}

TEST(a_search_ends_while_the_last_slots_of_the_old_part_wait)
{
    struct table table;
    pl_table_init(&table);
    uint32_t cap = table.now.cap;
    /* The end of the table is full, the rest half. */
    for (uint32_t i = 0; i < 40; i++)
        pl_table_add(&table, (uint64_t)(cap - 40 + i) << 32, 1000 + i);
    for (uint32_t i = 0; i < 2 * cap; i++) {
        pl_table_add(&table, (uint64_t)(i * 2 % (cap - 60)) << 32, 10000 + i);
        for (uint64_t slot = 0; slot < cap; slot += 7)
            CHECK(!holds(&table, slot << 32, 1));
    }
    pl_table_deinit(&table);
}

TEST_MAIN()
