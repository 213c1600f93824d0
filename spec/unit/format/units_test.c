#include "format/units.h"

#include "base/base.h"
#include "support/test.h"

TEST(durations_are_read_as_go_reads_them)
{
    static const struct {
        const char *text;
        int64_t ns;
    } cases[] = {
        {"0", 0},
        {"-0", 0},
        {"+5s", 5 * PL_SECOND},
        {"-2s", -2 * PL_SECOND},
        {"1h30m", 5400 * PL_SECOND},
        {"250ms", 250 * PL_MS},
        {"1.5s", 1500 * PL_MS},
        {".5s", 500 * PL_MS},
        {"1.s", PL_SECOND},
        {"0.1us", 100},
        {"3\xc2\xb5s", 3000},
        {"3\xce\xbcs", 3000},
        {"1ns", 1},
        {"1m1m", 120 * PL_SECOND},
        {"0.333333333333s", 333333333},
        {"2562047h47m16.854775807s", INT64_MAX},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        int64_t ns = -77;
        if (!pl_duration_parse(pl_slice_z(cases[i].text), &ns) || ns != cases[i].ns)
            TEST_FAIL("%s: got %" PRId64, cases[i].text, ns);
    }
}

TEST(long_durations_have_days_and_weeks_too)
{
    int64_t ns;
    CHECK_INT(pl_duration_parse_long(pl_slice_z("1w2d3h"), &ns), 0);
    CHECK_INT(ns, (9 * 24 + 3) * 3600 * PL_SECOND);
    CHECK_INT(pl_duration_parse_long(pl_slice_z("1.5d"), &ns), 0);
    CHECK_INT(ns, 36 * 3600 * PL_SECOND);
    CHECK(!pl_duration_parse(pl_slice_z("1d"), &ns));
    CHECK_INT(pl_duration_parse_long(pl_slice_z("99999999w"), &ns), PL_ELIMIT);
    CHECK_INT(pl_duration_parse_long(pl_slice_z("99999999999999999999s1h"), &ns), PL_ELIMIT);
    CHECK_INT(pl_duration_parse_long(pl_slice_z("9999999d9999999d"), &ns), PL_ELIMIT);
    CHECK_INT(pl_duration_parse_long(pl_slice_z("99999999w1y"), &ns), PL_EINVAL);
    CHECK_INT(pl_duration_parse_long(pl_slice_z("1y"), &ns), PL_EINVAL);
}

TEST(durations_without_unit_number_or_room_are_none)
{
    static const char *const bad[] = {"",      "-",        "3",           "s",   "1x",   ".s",
                                      "1h-2m", "1 h",      " 1h",         "1h ", "--1s", "1..5s",
                                      "1e3s",  "2562048h", "9223372037s", "0 "};
    int64_t ns;
    for (size_t i = 0; i < PL_ARRAY_LEN(bad); i++)
        if (pl_duration_parse(pl_slice_z(bad[i]), &ns))
            TEST_FAIL("\"%s\" was taken", bad[i]);
}

TEST(quantities_are_numbers_in_base_units)
{
    static const struct {
        const char *text;
        double value;
    } cases[] = {
        {"0", 0},       {"500m", 0.5}, {"1Gi", 1073741824}, {"1e3", 1000}, {"2.5k", 2500},
        {"-1.5", -1.5}, {"+3", 3},     {"1E", 1e18},        {"1E2", 100},  {"1e-3", 0.001},
        {"100n", 1e-7}, {"7u", 7e-6},  {".5Mi", 524288},    {"5.", 5},     {"1Ei", 0x1p60},
        {"0.1", 0.1},   {"1M", 1e6},   {"3T", 3e12},        {"1P", 1e15},  {"2Ki", 2048},
        {"1E+2", 100},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        double value = -77;
        if (!pl_quantity_parse(pl_slice_z(cases[i].text), &value) || value != cases[i].value)
            TEST_FAIL("%s: got %.17g", cases[i].text, value);
    }
    static const char *const bad[] = {"",     ".",   "m",    "1 Gi",    "1K",   "1gi",
                                      "1Gib", "e",   "1e",   "1e+",     "1..2", "0x10",
                                      "--1",  "1mm", "1E2m", "1e99999", "1e999"};
    double value;
    for (size_t i = 0; i < PL_ARRAY_LEN(bad); i++)
        if (pl_quantity_parse(pl_slice_z(bad[i]), &value))
            TEST_FAIL("\"%s\" was taken", bad[i]);
}

TEST(quantities_have_at_most_127_digits)
{
    char digits[129] = "";
    double value = 0;
    memset(digits, '0', 128);
    digits[126] = '7';
    CHECK(!pl_quantity_parse(pl_slice(digits, 128), &value));
    CHECK(pl_quantity_parse(pl_slice(digits, 127), &value) && value == 7);
}

TEST(sizes_are_bytes)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } cases[] = {
        {"1000", 1000},
        {"64k", 64000},
        {"64K", 64000},
        {"1Gi", 1u << 30},
        {"512MiB", 512u << 20},
        {"1MB", 1000000},
        {"1.5Ki", 1536},
        {"10B", 10},
        {"0", 0},
        {"16EiB", 0},
    };
    for (size_t i = 0; i + 1 < PL_ARRAY_LEN(cases); i++) {
        uint64_t bytes = 77;
        if (!pl_size_parse(pl_slice_z(cases[i].text), &bytes) || bytes != cases[i].bytes)
            TEST_FAIL("%s: got %" PRIu64, cases[i].text, bytes);
    }
    static const char *const bad[] = {"", "-1", "1x", "Mi", "1 Mi", "16EiB", "1MiBs", "1ki B"};
    uint64_t bytes;
    for (size_t i = 0; i < PL_ARRAY_LEN(bad); i++)
        if (pl_size_parse(pl_slice_z(bad[i]), &bytes))
            TEST_FAIL("\"%s\" was taken", bad[i]);
}

TEST(instants_are_nanoseconds_since_1970)
{
    static const struct {
        const char *text;
        int64_t ns;
    } cases[] = {
        {"1970-01-01T00:00:00Z", 0},
        {"1970-01-01T00:00:00.000000001Z", 1},
        {"2026-11-21T09:30:00Z", 1795253400 * PL_SECOND},
        {"2026-11-21T09:30:00.25+01:30", (1795253400 - 5400) * PL_SECOND + 250 * PL_MS},
        {"2026-11-21T09:30:00-00:30", (1795253400 + 1800) * PL_SECOND},
        {"2000-02-29T23:59:59.9999999999Z", 951868799 * PL_SECOND + 999999999},
        {"1969-12-31T23:59:59Z", -PL_SECOND},
        {"1900-03-01T00:00:00Z", -INT64_C(2203891200) * PL_SECOND},
        {"2026-11-21t09:30:00z", 1795253400 * PL_SECOND},
        {"2026-11-22T09:29:00+23:59", 1795253400 * PL_SECOND},
        {"2026-11-20T09:31:00-23:59", 1795253400 * PL_SECOND},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        int64_t ns = -77;
        if (!pl_time_parse(pl_slice_z(cases[i].text), &ns) || ns != cases[i].ns)
            TEST_FAIL("%s: got %" PRId64, cases[i].text, ns);
    }
    static const char *const bad[] = {
        "",
        "2026-11-21",
        "2026-11-21T09:30:00",
        "2026-11-21 09:30:00Z",
        "2026-13-01T00:00:00Z",
        "2026-02-29T00:00:00Z",
        "1900-02-29T00:00:00Z",
        "2026-11-21T24:00:00Z",
        "2026-11-21T09:30:60Z",
        "2026-11-21T09:30:00.Z",
        "2026-11-21T09:30:00+0130",
        "2026-11-21T09:30:00+24:00",
        "2026-11-21T09:30:00+09:60",
        "2026-11-21T09:30:00ZZ",
    };
    int64_t ns;
    for (size_t i = 0; i < PL_ARRAY_LEN(bad); i++)
        if (pl_time_parse(pl_slice_z(bad[i]), &ns))
            TEST_FAIL("\"%s\" was taken", bad[i]);
}

static void check_time(int64_t ns, int digits, const char *want)
{
    char out[40];
    pl_time_text(ns, digits, out);
    CHECK_STR(out, want);
}

TEST(instants_are_written_in_utc)
{
    check_time(1795253400 * PL_SECOND, 0, "2026-11-21T09:30:00Z");
    check_time(1795253400 * PL_SECOND + 123456789, 6, "2026-11-21T09:30:00.123456Z");
    check_time(-1, 9, "1969-12-31T23:59:59.999999999Z");
    check_time(951782400 * PL_SECOND, 0, "2000-02-29T00:00:00Z");
    check_time(INT64_MIN, 0, "1677-09-21T00:12:43Z");
    check_time(INT64_MAX, 9, "2262-04-11T23:47:16.854775807Z");
}

TEST(instants_that_have_no_room_are_the_first_or_the_last)
{
    int64_t ns = 0;
    CHECK(pl_time_parse(pl_slice_z("9999-12-31T23:59:59Z"), &ns) && ns == INT64_MAX);
    CHECK(pl_time_parse(pl_slice_z("2262-04-11T23:47:16.854775808Z"), &ns) && ns == INT64_MAX);
    CHECK(pl_time_parse(pl_slice_z("0001-01-01T00:00:00Z"), &ns) && ns == INT64_MIN);
}

TEST(all_years_have_room_as_seconds)
{
    static const struct {
        const char *text;
        int64_t seconds;
        int ns;
    } cases[] = {
        {"0000-01-01T00:00:00Z", -INT64_C(62167219200), 0},
        {"0001-01-01T00:00:00Z", -INT64_C(62135596800), 0},
        {"1970-01-01T00:00:00.5Z", 0, 500000000},
        {"9999-12-31T23:59:59.999999999Z", INT64_C(253402300799), 999999999},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        int64_t seconds = -77;
        int ns = -77;
        char out[40];
        if (!pl_time_parse_wide(pl_slice_z(cases[i].text), &seconds, &ns) ||
            seconds != cases[i].seconds || ns != cases[i].ns)
            TEST_FAIL("%s: got %" PRId64 " and %d", cases[i].text, seconds, ns);
        pl_time_text_wide(seconds, ns, ns == 0 ? 0 : ns == 500000000 ? 1 : 9, out);
        CHECK_STR(out, cases[i].text);
    }
}

TEST(every_day_of_four_centuries_is_read_back)
{
    for (int64_t day = -106751; day <= 106751; day++) {
        char out[40];
        int64_t ns;
        pl_time_text(day * 86400 * PL_SECOND, 3, out);
        if (!pl_time_parse(pl_slice_z(out), &ns) || ns != day * 86400 * PL_SECOND) {
            TEST_FAIL("day %" PRId64 " became %s", day, out);
            return;
        }
    }
}

TEST_MAIN()
