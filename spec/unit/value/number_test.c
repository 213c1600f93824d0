#include "value/number.h"

#include "support/test.h"

static void check_int(const char *text, bool fits, int64_t want)
{
    int64_t v = 0;
    bool got = pl_number_to_int(pl_slice_z(text), &v);
    if (got != fits || (got && v != want))
        TEST_FAIL("%s: got %d, %" PRId64, text, got, v);
}

TEST(integers_are_recognised_however_they_are_written)
{
    check_int("0", true, 0);
    check_int("-0", true, 0);
    check_int("0.000e99999999999999999", true, 0);
    check_int("3.0", true, 3);
    check_int("3e0", true, 3);
    check_int("0.03e2", true, 3);
    check_int("1200e-2", true, 12);
    check_int("10000000000000000000000e-4", true, INT64_C(1000000000000000000));
    check_int("9223372036854775807", true, INT64_MAX);
    check_int("-9223372036854775808", true, INT64_MIN);
    check_int("9.223372036854775807e18", true, INT64_MAX);
    check_int("9223372036854775808", false, 0);
    check_int("-9223372036854775809", false, 0);
    check_int("18446744073709551617", false, 0);
    check_int("1e19", false, 0);
    check_int("1e999999999999999999999", false, 0);
    check_int("1.5", false, 0);
    check_int("1e-1", false, 0);
    check_int("0.1", false, 0);
}

TEST(only_plain_integers_lose_their_text)
{
    int64_t v;
    CHECK(pl_number_is_int(pl_slice_z("-5"), &v) && v == -5);
    CHECK(pl_number_is_int(pl_slice_z("0"), &v) && v == 0);
    CHECK(!pl_number_is_int(pl_slice_z("-0"), &v));
    CHECK(!pl_number_is_int(pl_slice_z("1.0"), &v));
    CHECK(!pl_number_is_int(pl_slice_z("1e3"), &v));
    CHECK(!pl_number_is_int(pl_slice_z("9223372036854775808"), &v));
}

TEST(equal_means_the_same_decimal_value)
{
    CHECK(pl_number_eq(pl_slice_z("1"), pl_slice_z("1.000")));
    CHECK(pl_number_eq(pl_slice_z("-1.5e3"), pl_slice_z("-1500")));
    CHECK(pl_number_eq(pl_slice_z("0"), pl_slice_z("-0e7")));
    CHECK(pl_number_eq(pl_slice_z("1e400"), pl_slice_z("10e399")));
    CHECK(!pl_number_eq(pl_slice_z("1e400"), pl_slice_z("1e401")));
    CHECK(!pl_number_eq(pl_slice_z("1"), pl_slice_z("-1")));
    CHECK(!pl_number_eq(pl_slice_z("0"), pl_slice_z("0.1")));
    CHECK(!pl_number_eq(pl_slice_z("12"), pl_slice_z("123")));
    CHECK(!pl_number_eq(pl_slice_z("0.1000000000000000055"), pl_slice_z("0.1")));
}

TEST(printing_covers_the_ends)
{
    char out[20];
    CHECK_SLICE(pl_slice(out, pl_number_print(INT64_MIN, out)), "-9223372036854775808");
    CHECK_SLICE(pl_slice(out, pl_number_print(0, out)), "0");
}

TEST_MAIN()
