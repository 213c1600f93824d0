#include "value/filter.h"

#include "support/test.h"

static uint64_t hash_of(uint64_t i)
{
    i = (i + 1) * 0x9e3779b97f4a7c15ULL;
    return (i ^ i >> 29) * 0xbf58476d1ce4e5b9ULL;
}

TEST(a_second_sight_counts_only_by_another_owner)
{
    struct filter filter;
    pl_filter_init(&filter);
    CHECK(!pl_filter_saw(&filter, hash_of(1), 7));
    CHECK(!pl_filter_saw(&filter, hash_of(1), 7));
    CHECK(pl_filter_saw(&filter, hash_of(1), 8));
    CHECK(!pl_filter_saw(&filter, hash_of(2), 8));
    pl_filter_deinit(&filter);
}

TEST(what_was_noted_by_two_is_shared_for_those_without_owner)
{
    struct filter filter;
    pl_filter_init(&filter);
    CHECK(!pl_filter_is_shared(&filter, hash_of(1)));
    pl_filter_note(&filter, hash_of(1), 7);
    pl_filter_note(&filter, hash_of(1), 7);
    CHECK(!pl_filter_is_shared(&filter, hash_of(1)));
    pl_filter_note(&filter, hash_of(1), 9);
    CHECK(pl_filter_is_shared(&filter, hash_of(1)));
    CHECK(pl_filter_saw(&filter, hash_of(1), 7));
    pl_filter_mark(&filter, hash_of(3), 7);
    CHECK(pl_filter_saw(&filter, hash_of(3), 9));
    pl_filter_deinit(&filter);
}

TEST(growing_in_place_forgets_nothing)
{
    enum { COUNT = 300 };
    struct filter filter;
    pl_filter_init(&filter);
    for (uint64_t i = 0; i < COUNT; i++)
        pl_filter_saw(&filter, hash_of(i), 1);
    int known = 0, later = 0;
    for (uint64_t i = 0; i < COUNT; i++)
        known += pl_filter_saw(&filter, hash_of(i), 2);
    size_t before = filter_bytes(&filter);
    for (int i = 0; i < 200000; i++) {
        pl_filter_fit(&filter, 100000);
        pl_filter_is_shared(&filter, 0);
    }
    CHECK(filter_bytes(&filter) >= 8 * before);
    CHECK(!filter.is_growing);
    for (uint64_t i = 0; i < COUNT; i++)
        later += pl_filter_saw(&filter, hash_of(i), 2);
    CHECK(known > COUNT * 9 / 10); /* lossy, but not much at this size */
    CHECK(later >= known - COUNT / 100);
    pl_filter_fit(&filter, 10);
    CHECK_INT(filter_bytes(&filter), before);
    CHECK(!pl_filter_saw(&filter, hash_of(1), 2));
    pl_filter_deinit(&filter);
}

TEST_MAIN()
