#include "shard/place.h"

#include "base/base.h"
#include "support/test.h"

static struct pl_slice z(const char *text)
{
    return pl_slice_z(text);
}

TEST(the_hashes_are_those_that_are_published)
{
    CHECK(pl_fnv1a64(z("")) == 0xcbf29ce484222325u);
    CHECK(pl_fnv1a64(z("a")) == 0xaf63dc4c8601ec8cu);
    CHECK(pl_fnv1a64(z("foobar")) == 0x85944171f73967e8u);
    CHECK(pl_fmix64(0) == 0);
    CHECK(pl_fmix64(0xcbf29ce484222325u) == 0xefd01f60ba992926u);
    CHECK(pl_place_of_uid(z("default")) == 0xebada5168620c5feu);
    CHECK(pl_place_of_namespace(z("default")) == 0xd47084e0f7c5d5adu);
    CHECK(pl_place_of_namespace(z("tenant-000")) == 0xfef6c7dad12c638au);
}

TEST(names_that_differ_in_their_last_characters_spread)
{
    unsigned mixed[8] = {0}, plain[8] = {0};
    for (int i = 0; i < 200; i++) {
        char name[32];
        snprintf(name, sizeof name, "tenant-%03d", i);
        mixed[pl_shard_of_place(pl_place_of_namespace(z(name)), 8)]++;
        plain[pl_shard_of_place(pl_fnv1a64(z(name)), 8)]++;
    }
    static const unsigned expected[8] = {29, 21, 19, 26, 28, 29, 22, 26};
    for (int i = 0; i < 8; i++)
        CHECK_INT(mixed[i], expected[i]);
    CHECK_INT(plain[7], 200);
}

TEST(each_place_has_the_shard_whose_range_it_lies_in)
{
    for (unsigned n = 1; n <= PL_SHARDS_MAX; n++) {
        CHECK(pl_shard_start(0, n) == 0 && pl_shard_start(n, n) == 0);
        CHECK_INT(pl_shard_of_place(UINT64_MAX, n), n - 1);
        for (unsigned i = 0; i < n; i++) {
            uint64_t start = pl_shard_start(i, n), last = pl_shard_start(i + 1, n) - 1;
            CHECK_INT(pl_shard_of_place(start, n), i);
            CHECK_INT(pl_shard_of_place(last, n), i);
            CHECK(last - start >= UINT64_MAX / n - 1 && last - start <= UINT64_MAX / n);
        }
    }
    CHECK(pl_shard_start(1, 3) == 0x5555555555555556u); /* ceil(2^64 / 3) */
    CHECK(pl_shard_start(2, 3) == 0xaaaaaaaaaaaaaaabu);
    CHECK(pl_shard_start(1, 256) == 0x0100000000000000u);
}

/* ---- the selector ---- */

static struct pl_shard_set set_of(const char *digits)
{
    struct pl_shard_set set = {{0}};
    for (unsigned i = 0; digits[i] != '\0'; i++)
        if (digits[i] == '1')
            pl_shard_set_add(&set, i);
    return set;
}

static void expect(const char *digits, const char *text)
{
    struct pl_shard_set set = set_of(digits);
    struct pl_buf out = PL_BUF_INIT;
    pl_shard_selector(&set, (unsigned)strlen(digits), &out);
    CHECK_STR(pl_buf_z(&out), text);
    pl_buf_deinit(&out);
}

#define UID(from, to) "shardRange(object.metadata.uid, '0x" from "', '0x" to "')"

TEST(adjacent_shards_are_asked_for_as_one_range)
{
    expect("1000", UID("0000000000000000", "4000000000000000"));
    expect("0110", UID("4000000000000000", "c000000000000000"));
    expect("0011", UID("8000000000000000", "10000000000000000"));
    expect("101", UID("0000000000000000", "5555555555555556") " || " UID("aaaaaaaaaaaaaaab",
                                                                         "10000000000000000"));
}

TEST(all_shards_and_none_need_no_selector)
{
    expect("1", "");
    expect("111", "");
    expect("0000", "");
}

static unsigned ranges_in(const char *text)
{
    unsigned ranges = 0;
    for (; (text = strstr(text, "shardRange(")) != NULL; text++)
        ranges++;
    return ranges;
}

TEST(more_than_32_ranges_become_32_by_their_smallest_gaps)
{
    struct pl_shard_set set = {{0}};
    struct pl_buf out = PL_BUF_INIT;
    unsigned at = 0;
    for (int i = 0; i < 34; i++) { /* 33 gaps, two of one shard: the 5th and the 20th */
        pl_shard_set_add(&set, at);
        at += i == 5 || i == 20 ? 2 : 5;
    }
    pl_shard_selector(&set, 256, &out);
    CHECK_INT(ranges_in(pl_buf_z(&out)), 32);
    CHECK(strstr(pl_buf_z(&out), UID("1900000000000000", "1c00000000000000")) != NULL);
    CHECK(strstr(pl_buf_z(&out), UID("6100000000000000", "6400000000000000")) != NULL);
    pl_buf_deinit(&out);
}

TEST(the_worst_set_is_asked_for_in_32_ranges_that_hold_all_of_it)
{
    struct pl_shard_set set = {{0}};
    struct pl_buf out = PL_BUF_INIT;
    for (unsigned i = 0; i < 256; i += 2)
        pl_shard_set_add(&set, i);
    pl_shard_selector(&set, 256, &out);
    CHECK_INT(ranges_in(pl_buf_z(&out)), 32);
    CHECK(strstr(pl_buf_z(&out), UID("fe00000000000000", "ff00000000000000")) != NULL);
    pl_buf_deinit(&out);
}

TEST_MAIN()
