#include "base/map.h"

#include "base/rand.h"
#include "support/test.h"

static struct pl_slice key_of(char *room, int i)
{
    int len = snprintf(room, 32, "ns-%d/name-%d", i % 7, i);
    return pl_slice(room, (size_t)len);
}

TEST(an_empty_map_finds_nothing)
{
    struct pl_map map = PL_MAP_INIT;
    CHECK(pl_map_get(&map, pl_slice_z("a")) == NULL);
    CHECK(!pl_map_has(&map, pl_slice_z("a")));
    CHECK(pl_map_remove(&map, pl_slice_z("a")) == NULL);
    CHECK(pl_map_key(&map, pl_slice_z("a")).ptr == NULL);
    pl_map_deinit(&map);
}

TEST(put_gives_back_what_it_replaces)
{
    struct pl_map map = PL_MAP_INIT;
    int one, two;
    CHECK(pl_map_put(&map, pl_slice_z("k"), &one) == NULL);
    CHECK(pl_map_put(&map, pl_slice_z("k"), &two) == &one);
    CHECK_INT(map.count, 1);
    CHECK(pl_map_get(&map, pl_slice_z("k")) == &two);
    CHECK(pl_map_remove(&map, pl_slice_z("k")) == &two);
    CHECK_INT(map.count, 0);
    pl_map_deinit(&map);
}

TEST(a_null_value_and_the_empty_key_are_entries)
{
    struct pl_map map = PL_MAP_INIT;
    pl_map_put(&map, pl_slice(NULL, 0), NULL);
    CHECK(pl_map_has(&map, pl_slice("", 0)));
    CHECK_SLICE(pl_map_key(&map, pl_slice("", 0)), "");
    CHECK_INT(map.count, 1);
    pl_map_deinit(&map);
}

TEST(the_own_copy_of_a_key_stays_where_it_is)
{
    struct pl_map map = PL_MAP_INIT;
    char room[32];
    pl_map_put(&map, key_of(room, 1), NULL);
    struct pl_slice own = pl_map_key(&map, key_of(room, 1));
    for (int i = 2; i < 500; i++)
        pl_map_put(&map, key_of(room, i), NULL);
    CHECK(pl_map_key(&map, key_of(room, 1)).ptr == own.ptr);
    CHECK_STR(own.ptr, "ns-1/name-1");
    pl_map_deinit(&map);
}

TEST(agrees_with_an_array_over_random_changes)
{
    enum { KEYS = 600, ROUNDS = 60000 };
    static int cells[KEYS];
    static bool there[KEYS];
    struct pl_map map = PL_MAP_INIT;
    struct pl_rand rand;
    pl_rand_seed(&rand, 6);
    size_t count = 0;
    char room[32];
    for (int round = 0; round < ROUNDS; round++) {
        /* Grow for the first half, shrink in the second, so that both resizes happen. */
        uint64_t draw = pl_rand_u64(&rand);
        int i = (int)(draw % KEYS);
        bool put = (draw >> 32) % 10 < (round < ROUNDS / 2 ? 7 : 1);
        void *want = there[i] ? &cells[i] : NULL;
        if (put)
            CHECK(pl_map_put(&map, key_of(room, i), &cells[i]) == want);
        else
            CHECK(pl_map_remove(&map, key_of(room, i)) == want);
        count += (size_t)put - (size_t)there[i];
        there[i] = put;
        CHECK_INT(map.count, count);
    }
    for (int i = 0; i < KEYS; i++)
        CHECK(pl_map_get(&map, key_of(room, i)) == (there[i] ? &cells[i] : NULL));
    pl_map_deinit(&map);
}

TEST(next_visits_each_entry_once)
{
    enum { KEYS = 100 };
    int seen[KEYS] = {0}, cells[KEYS];
    struct pl_map map = PL_MAP_INIT;
    char room[32];
    for (int i = 0; i < KEYS; i++)
        pl_map_put(&map, key_of(room, i), &cells[i]);
    size_t at = 0;
    struct pl_slice key;
    void *value;
    while (pl_map_next(&map, &at, &key, &value)) {
        int i = (int)((int *)value - cells);
        CHECK(pl_slice_eq(key, key_of(room, i)));
        seen[i]++;
    }
    for (int i = 0; i < KEYS; i++)
        CHECK_INT(seen[i], 1);
    pl_map_deinit(&map);
}

static size_t count_alike(const struct pl_map *a, const struct pl_map *b)
{
    size_t at_a = 0, at_b = 0, alike = 0;
    struct pl_slice key_a, key_b;
    void *value;
    while (pl_map_next(a, &at_a, &key_a, &value) && pl_map_next(b, &at_b, &key_b, &value))
        alike += pl_slice_eq(key_a, key_b);
    return alike;
}

/* As of keysets. */
TEST(no_two_maps_keep_their_keys_in_the_same_order)
{
    enum { KEYS = 100, MAPS = 1500 };
    struct pl_map first = PL_MAP_INIT;
    for (int m = 0; m < MAPS; m++) {
        struct pl_map map = PL_MAP_INIT;
        char room[32];
        for (int i = 0; i < KEYS; i++)
            pl_map_put(&map, key_of(room, i), NULL);
        CHECK(count_alike(&first, &map) < KEYS / 2);
        if (m == 0)
            first = map;
        else
            pl_map_deinit(&map);
    }
    pl_map_deinit(&first);
}

TEST_MAIN()
