#include "gotype/quantity.h"

#include "support/test.h"

#include <string.h>

/* Each list is pairs: what a client sends, and what kube-apiserver 1.37 returns. */

static const char *text_of(const char *sent, bool in_milli, char out[64])
{
    enum pl_quantity is = pl_api_quantity_text(pl_slice_z(sent), in_milli, out);
    CHECK(is == PL_QUANTITY_AS_IS || is == PL_QUANTITY_CHANGED);
    return is == PL_QUANTITY_CHANGED ? out : sent;
}

static void check_all(const char *const pairs[][2], size_t count, bool in_milli)
{
    char out[64];
    for (size_t i = 0; i < count; i++)
        CHECK_STR(text_of(pairs[i][0], in_milli, out), pairs[i][1]);
}

TEST(quantities_get_their_shortest_form)
{
    static const char *const pairs[][2] = {
        {"0.5", "500m"},
        {"00.5", "500m"},
        {"1024Mi", "1Gi"},
        {"1.5Gi", "1536Mi"},
        {"1000m", "1"},
        {"1500m", "1500m"},
        {"1000", "1k"},
        {"100", "100"},
        {"128974848", "128974848"},
        {"1025Mi", "1025Mi"},
        {"-0.25", "-250m"},
        {"1.5k", "1500"},
        {".5k", "500"},
        {"5.0", "5"},
        {"0.5Mi", "512Ki"},
        {"0.1Ki", "102400m"},
        {"1.1Gi", "1181116006400m"},
        {"0.3Gi", "322122547200m"},
        {"0.0005Ki", "512m"},
        {"1024Pi", "1Ei"},
        {"+0.5", "500m"},
        {"+1024Ki", "1Mi"},
        {"1000000000000000000000m", "1E"},
    };
    check_all(pairs, PL_ARRAY_LEN(pairs), false);
}

TEST(exponents_become_multiples_of_three)
{
    static const char *const pairs[][2] = {
        {"1e3", "1e3"},      {"1E3", "1E3"},    {"1e0", "1e0"},    {"1e1", "10"},
        {"1e2", "100"},      {"1e4", "10e3"},   {"15e2", "1500"},  {"1.5e3", "1500"},
        {"1e17", "100e15"},  {"10e17", "1e18"}, {"1e19", "10e18"}, {"0.123e3", "123"},
        {"1230e2", "123e3"}, {"1e-3", "1e-3"},  {"1e-10", "1e-9"}, {"1e30", "1e30"},
    };
    check_all(pairs, PL_ARRAY_LEN(pairs), false);
}

TEST(a_canonical_number_keeps_its_spelling)
{
    static const char *const pairs[][2] = {
        {"+1", "+1"},
        {"05", "05"},
        {"5.", "5."},
        {"5.k", "5.k"},
        {"01Gi", "01Gi"},
        {"+1024", "+1024"},
        {"1e+03", "1e+03"},
        {"1.e3", "1.e3"},
        {"+1Ei", "1Ei"},
        {"+1Ti", "+1Ti"},
        {"+1234567890123456789", "1234567890123456789"},
    };
    check_all(pairs, PL_ARRAY_LEN(pairs), false);
}

TEST(zero_has_one_form)
{
    static const char *const pairs[][2] = {
        {"0", "0"},   {"-0", "0"},  {"00", "0"}, {"0Ki", "0"}, {"0m", "0"},
        {"0.0", "0"}, {"0e0", "0"}, {".", "0"},  {"+0", "0"},
    };
    check_all(pairs, PL_ARRAY_LEN(pairs), false);
}

TEST(what_is_too_small_rounds_up)
{
    static const char *const pairs[][2] = {
        {"0.1n", "1n"},
        {"1n", "1n"},
        {"0.0000000015", "2n"},
        {"1.0000000001", "1000000001n"},
        {"1.00000000000000000000000000001Ki", "1024000000001n"},
        {"0.00000000000000000000000000000000000001", "1n"},
    };
    static const char *const of_resources[][2] = {
        {"1n", "1m"},     {"1500u", "2m"}, {"0.0001", "1m"},
        {"1e-9", "1e-3"}, {"1u", "1m"},    {"1.0000000001", "1001m"},
        {"100m", "100m"}, {"1000u", "1m"}, {"1Gi", "1Gi"},
    };
    check_all(pairs, PL_ARRAY_LEN(pairs), false);
    check_all(of_resources, PL_ARRAY_LEN(of_resources), true);
}

TEST(large_numbers_are_exact_or_stay)
{
    static const char *const pairs[][2] = {
        {"8Ei", "9223372036854775807"},
        {"100000000000000000000", "100E"},
        {"12345678901234567.8", "12345678901234567800m"},
        {"9223372036854775808", "9223372036854775808"},
        {"1234567890123456789012k", "1234567890123456789012k"},
        {"99999999999999999999999999999999999999999", "99999999999999999999999999999999999999999"},
    };
    check_all(pairs, PL_ARRAY_LEN(pairs), false);
}

TEST(what_is_no_quantity_is_told_apart)
{
    static const char *const malformed[] = {"", "abc", "1_0", "1.2.3", "1Zi", "1 Gi"};
    static const char *const no_suffix[] = {"1e", "1kk", "1K", "1mi", "1Mi1", "--1", "1Ee3"};
    char out[64];
    for (size_t i = 0; i < PL_ARRAY_LEN(malformed); i++)
        CHECK_INT(pl_api_quantity_text(pl_slice_z(malformed[i]), false, out),
                  PL_QUANTITY_MALFORMED);
    for (size_t i = 0; i < PL_ARRAY_LEN(no_suffix); i++)
        CHECK_INT(pl_api_quantity_text(pl_slice_z(no_suffix[i]), false, out),
                  PL_QUANTITY_NO_SUFFIX);
}

TEST_MAIN()
