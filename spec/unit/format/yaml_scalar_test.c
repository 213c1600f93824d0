#include "format/yaml_scalar.h"

#include "base/base.h"
#include "support/test.h"

TEST(words_mean_what_they_mean_to_kubectl)
{
    static const struct {
        const char *text;
        enum pl_yaml_type type;
    } cases[] = {
        {"", PL_YAML_NULL},           {"~", PL_YAML_NULL},          {"null", PL_YAML_NULL},
        {"Null", PL_YAML_NULL},       {"NULL", PL_YAML_NULL},       {"nULL", PL_YAML_STR},
        {"true", PL_YAML_TRUE},       {"True", PL_YAML_TRUE},       {"TRUE", PL_YAML_TRUE},
        {"tRUE", PL_YAML_STR},        {"yes", PL_YAML_TRUE},        {"y", PL_YAML_TRUE},
        {"on", PL_YAML_TRUE},         {"On", PL_YAML_TRUE},         {"oN", PL_YAML_STR},
        {"false", PL_YAML_FALSE},     {"no", PL_YAML_FALSE},        {"N", PL_YAML_FALSE},
        {"OFF", PL_YAML_FALSE},       {".inf", PL_YAML_NOT_FINITE}, {"-.INF", PL_YAML_NOT_FINITE},
        {".NaN", PL_YAML_NOT_FINITE}, {"-.nan", PL_YAML_STR},       {"inf", PL_YAML_STR},
        {"<<", PL_YAML_MERGE},        {"=", PL_YAML_STR},           {"yess", PL_YAML_STR},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        struct pl_buf out = PL_BUF_INIT;
        if (pl_yaml_resolve(pl_slice_z(cases[i].text), &out) != cases[i].type)
            TEST_FAIL("%s", cases[i].text);
        CHECK_INT(out.len, 0);
        pl_buf_deinit(&out);
    }
}

TEST(numbers_become_numbers_of_json_with_all_their_digits)
{
    static const struct {
        const char *text, *json;
    } cases[] = {
        {"0", "0"},
        {"-0", "-0"},
        {"12", "12"},
        {"+12", "12"},
        {"-12", "-12"},
        {"007", "7"},
        {"08", "8"},
        {"0777", "511"},
        {"0o17", "15"},
        {"0O17", "15"},
        {"0x1f", "31"},
        {"0XFF", "255"},
        {"-0x10", "-16"},
        {"0b101", "5"},
        {"-0B1", "-1"},
        {"0xffffffffffffffff", "18446744073709551615"},
        {"-0x8000000000000000", "-9223372036854775808"},
        {"1_000", "1000"},
        {"0x_ff", "255"},
        {"1_0.5_0", "10.50"},
        {"123456789012345678901234567890", "123456789012345678901234567890"},
        {"1.50", "1.50"},
        {".5", "0.5"},
        {"-.5", "-0.5"},
        {"5.", "5"},
        {".5_0", "0.50"},
        {"1e3", "1e3"},
        {"1E+3", "1e3"},
        {"1.5e-3", "1.5e-3"},
        {"1.e3", "1e3"},
        {"00.5", "0.5"},
        {"1e999", "1e999"},
        {"0.1234567890123456789012345", "0.1234567890123456789012345"},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        struct pl_buf out = PL_BUF_INIT;
        if (pl_yaml_resolve(pl_slice_z(cases[i].text), &out) != PL_YAML_NUMBER)
            TEST_FAIL("%s is no number", cases[i].text);
        CHECK_STR(pl_buf_z(&out), cases[i].json);
        pl_buf_deinit(&out);
    }
}

TEST(what_only_looks_like_a_number_is_a_string)
{
    static const char *const strings[] = {
        "-",
        "+",
        ".",
        "..",
        "1.2.3",
        "0x",
        "0xg",
        "0b2",
        "0o8",
        "1e",
        "1e+",
        "e3",
        "1 2",
        "_1",
        "._5",
        ".5_",
        "--1",
        "1-",
        "10m",
        "2026-11-21",
        "12:30:45",
        "0x10000000000000000",
        "-0x8000000000000001",
        "1,000",
        "0b",
        "1.5.",
        "+-1",
        ".e1",
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(strings); i++) {
        struct pl_buf out = PL_BUF_INIT;
        if (pl_yaml_resolve(pl_slice_z(strings[i]), &out) != PL_YAML_STR)
            TEST_FAIL("%s became %s", strings[i], pl_buf_z(&out));
        pl_buf_deinit(&out);
    }
}

TEST_MAIN()
