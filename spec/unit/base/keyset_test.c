#include "base/keyset.h"

#include "base/alloc.h"
#include "base/rand.h"
#include "support/test.h"

struct entry {
    struct pl_keyed node;
    bool there;
    char key[24];
};

TEST(an_empty_table_finds_nothing)
{
    struct pl_keyset table;
    size_t at = 0;
    pl_keyset_init(&table, offsetof(struct entry, key));
    CHECK(pl_keyset_find(&table, pl_slice_z("a"), pl_keyset_hash(pl_slice_z("a"))) == NULL);
    CHECK(pl_keyset_next(&table, &at) == NULL);
    pl_keyset_deinit(&table);
}

TEST(keys_of_one_hash_are_told_apart)
{
    struct entry a = {.key = "a"}, b = {.key = "b"}, c = {.key = "c"};
    struct pl_keyset table;
    pl_keyset_init(&table, offsetof(struct entry, key));
    pl_keyset_insert(&table, &a.node, 1, 7);
    pl_keyset_insert(&table, &b.node, 1, 7);
    pl_keyset_insert(&table, &c.node, 1, 8); /* shifted behind the other two */
    CHECK(pl_keyset_find(&table, pl_slice_z("b"), 7) == &b.node);
    pl_keyset_remove(&table, &a.node);
    CHECK(pl_keyset_find(&table, pl_slice_z("a"), 7) == NULL);
    CHECK(pl_keyset_find(&table, pl_slice_z("b"), 7) == &b.node);
    CHECK(pl_keyset_find(&table, pl_slice_z("c"), 8) == &c.node);
    pl_keyset_deinit(&table);
}

/* Otherwise a set that is filled in the slot order of another one would be full at its front. */
TEST(no_two_tables_keep_their_nodes_in_the_same_order)
{
    enum { KEYS = 200 };
    static struct entry entries[2][KEYS];
    struct pl_keyset tables[2], table; /* one after the other at one address */
    size_t at[2] = {0, 0}, same = 0;
    for (int t = 0; t < 2; t++) {
        pl_keyset_init(&table, offsetof(struct entry, key));
        tables[t] = table;
        for (int i = 0; i < KEYS; i++) {
            struct entry *entry = &entries[t][i];
            snprintf(entry->key, sizeof(entry->key), "ns/%d", i);
            struct pl_slice key = pl_slice_z(entry->key);
            pl_keyset_insert(&tables[t], &entry->node, key.len, pl_keyset_hash(key));
        }
    }
    for (int i = 0; i < KEYS; i++)
        same += pl_slice_eq(pl_keyset_key(&tables[0], pl_keyset_next(&tables[0], &at[0])),
                            pl_keyset_key(&tables[1], pl_keyset_next(&tables[1], &at[1])));
    CHECK(same < KEYS / 2);
    for (int t = 0; t < 2; t++)
        pl_keyset_deinit(&tables[t]);
}

TEST(agrees_with_an_array_over_random_changes)
{
    enum { KEYS = 60000, ROUNDS = 500000 }; /* in parts, and in one again */
    static struct entry entries[KEYS];
    struct pl_keyset table;
    struct pl_rand rand;
    pl_rand_seed(&rand, 8);
    pl_keyset_init(&table, offsetof(struct entry, key));
    size_t count = 0;
    for (int i = 0; i < KEYS; i++)
        snprintf(entries[i].key, sizeof(entries[i].key), "ns/%d", i);
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t draw = pl_rand_u64(&rand);
        struct entry *entry = &entries[draw % KEYS];
        bool want = (draw >> 32) % 10 < (round < ROUNDS / 2 ? 7 : 1);
        struct pl_slice key = pl_slice_z(entry->key);
        uint32_t hash = pl_keyset_hash(key);
        CHECK(pl_keyset_find(&table, key, hash) == (entry->there ? &entry->node : NULL));
        if (want && !entry->there)
            pl_keyset_insert(&table, &entry->node, key.len, hash);
        else if (!want && entry->there)
            pl_keyset_remove(&table, &entry->node);
        count += (size_t)want - (size_t)entry->there;
        entry->there = want;
        CHECK_INT(table.count, count);
    }
    size_t at = 0, seen = 0;
    struct pl_keyed *node;
    while ((node = pl_keyset_next(&table, &at)) != NULL) {
        CHECK(((struct entry *)node)->there);
        seen++;
    }
    CHECK_INT(seen, count);
    pl_keyset_deinit(&table);
}

/* A store and its queues hold the same keys. If all of them grew at the same time, one add would
 * wait for all. */
TEST(parts_grow_one_after_the_other_and_not_with_those_of_other_tables)
{
    enum { TABLES = 8, PARTS = 16, KEYS = 250000, CAP = 32768 };
    struct pl_keyset tables[TABLES];
    struct entry *entries = pl_calloc((size_t)KEYS * TABLES, sizeof *entries);
    bool grown[TABLES][PARTS] = {{false}};
    int first = 0, last = 0, at_once = 0, in_all = 0;
    for (int t = 0; t < TABLES; t++)
        pl_keyset_init(&tables[t], offsetof(struct entry, key));
    for (int i = 0; i < KEYS; i++) {
        int now = 0;
        for (int t = 0; t < TABLES; t++) {
            struct entry *entry = &entries[i * TABLES + t];
            snprintf(entry->key, sizeof(entry->key), "ns/%d", i);
            struct pl_slice key = pl_slice_z(entry->key);
            pl_keyset_insert(&tables[t], &entry->node, key.len, pl_keyset_hash(key));
            for (int p = 0; tables[t].parts != NULL && p < PARTS; p++) {
                if (grown[t][p] || tables[t].parts[p].cap < CAP)
                    continue;
                grown[t][p] = true;
                in_all++;
                now++;
                first = t == 0 && first == 0 ? i : first;
                last = t == 0 ? i : last;
            }
        }
        at_once = now > at_once ? now : at_once;
    }
    CHECK_INT(in_all, TABLES * PARTS);
    CHECK(last - first > KEYS / 6);
    CHECK(at_once <= TABLES / 2 + 1);
    for (int t = 0; t < TABLES; t++)
        pl_keyset_deinit(&tables[t]);
    pl_free(entries);
}

/* Between the steps of a walk keys are added and removed, and the table grows and shrinks. */
TEST(a_walk_misses_nothing_that_stays)
{
    enum { STAY = 10000, OTHERS = 60000 };
    static struct entry stay[STAY], others[OTHERS];
    struct pl_keyset table;
    struct pl_rand rand;
    pl_rand_seed(&rand, 9);
    pl_keyset_init(&table, offsetof(struct entry, key));
    for (int i = 0; i < STAY; i++) {
        snprintf(stay[i].key, sizeof(stay[i].key), "stay/%d", i);
        struct pl_slice key = pl_slice_z(stay[i].key);
        pl_keyset_insert(&table, &stay[i].node, key.len, pl_keyset_hash(key));
    }
    for (uint64_t most = 200; most <= OTHERS; most *= 16) {
        struct pl_keyset_walk walk = {0};
        struct pl_keyed *node;
        size_t steps = 0, missed = 0;
        while ((node = pl_keyset_walk(&table, &walk)) != NULL && ++steps < 100 * OTHERS) {
            ((struct entry *)node)->there = true;
            struct entry *other = &others[pl_rand_u64(&rand) % most];
            bool is_in = other->key[0] != '\0';
            snprintf(other->key, sizeof(other->key), "other/%d", (int)(other - others));
            struct pl_slice key = pl_slice_z(other->key);
            if (is_in)
                pl_keyset_remove(&table, &other->node);
            else
                pl_keyset_insert(&table, &other->node, key.len, pl_keyset_hash(key));
            if (is_in)
                other->key[0] = '\0';
        }
        for (int i = 0; i < STAY; i++) {
            missed += !stay[i].there;
            stay[i].there = false;
        }
        CHECK_INT(missed, 0);
        CHECK(node == NULL);
    }
    pl_keyset_deinit(&table);
}

TEST_MAIN()
