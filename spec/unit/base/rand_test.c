#include "base/rand.h"

#include "support/test.h"

TEST(a_seed_repeats_itself_and_another_does_not)
{
    struct pl_rand a, b, c;
    pl_rand_seed(&a, 9);
    pl_rand_seed(&b, 9);
    pl_rand_seed(&c, 10);
    int same = 0;
    for (int i = 0; i < 100; i++) {
        uint64_t value = pl_rand_u64(&a);
        CHECK(value == pl_rand_u64(&b));
        same += value == pl_rand_u64(&c);
    }
    CHECK_INT(same, 0);
}

TEST(the_system_seeds_differently_each_time)
{
    struct pl_rand a, b;
    pl_rand_init(&a);
    pl_rand_init(&b);
    CHECK(pl_rand_u64(&a) != pl_rand_u64(&b));
}

TEST(units_lie_in_the_half_open_interval_and_spread)
{
    struct pl_rand rand;
    pl_rand_seed(&rand, 11);
    double sum = 0;
    for (int i = 0; i < 100000; i++) {
        double unit = pl_rand_unit(&rand);
        CHECK(unit >= 0 && unit < 1);
        sum += unit;
    }
    CHECK(sum > 49000 && sum < 51000);
}

TEST(uuids_are_version_4)
{
    struct pl_rand rand;
    pl_rand_seed(&rand, 12);
    for (int i = 0; i < 100; i++) {
        char uuid[37];
        pl_rand_uuid(&rand, uuid);
        CHECK_INT(strlen(uuid), 36);
        CHECK(uuid[8] == '-' && uuid[13] == '-' && uuid[18] == '-' && uuid[23] == '-');
        CHECK(uuid[14] == '4');
        CHECK(strchr("89ab", uuid[19]) != NULL);
        CHECK_INT(strspn(uuid, "0123456789abcdef-"), 36);
    }
}

TEST(bytes_fill_what_was_asked_for)
{
    unsigned char room[600] = {0};
    CHECK_INT(pl_rand_bytes(room, 599), 0);
    int zeros = 0;
    for (int i = 0; i < 599; i++)
        zeros += room[i] == 0;
    CHECK(zeros < 30);
    CHECK_INT(room[599], 0);
}

TEST(hexadecimal_digits_are_as_many_as_asked_for_and_differ)
{
    char one[65], other[65], none[] = "x";
    CHECK_INT(pl_rand_hex(one, 64), 0);
    CHECK_INT(pl_rand_hex(other, 64), 0);
    CHECK_INT(strlen(one), 64);
    CHECK_INT(strspn(one, "0123456789abcdef"), 64);
    CHECK(strcmp(one, other) != 0);
    int seen[16] = {0};
    for (int i = 0; i < 64; i++)
        for (int round = 0; round < 16; round++) {
            CHECK_INT(pl_rand_hex(one, 64), 0);
            const char *at = strchr("0123456789abcdef", one[i]);
            seen[*at <= '9' ? *at - '0' : *at - 'a' + 10]++;
        }
    for (int i = 0; i < 16; i++)
        CHECK(seen[i] > 10); /* of 1,024: 64 each */
    CHECK_INT(pl_rand_hex(none, 0), 0);
    CHECK_STR(none, "");
}

TEST_MAIN()
