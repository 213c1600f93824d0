#include "object/label.h"

#include "base/base.h"
#include "support/test.h"

#define TEN       "abcdefghij"
#define SIXTY     TEN TEN TEN TEN TEN TEN
#define TWO_FIFTY SIXTY "." SIXTY "." SIXTY "." SIXTY ".abcdef"

TEST(keys_are_names_with_an_optional_dns_prefix)
{
    static const char *const good[] = {"a",         "app",
                                       "A",         "9",
                                       "a-b_c.d",   "example.com/app",
                                       "x/y",       "a-b.c-d/Name",
                                       SIXTY "abc", TWO_FIFTY "abc/x"};
    for (size_t i = 0; i < PL_ARRAY_LEN(good); i++)
        if (pl_label_check_key(pl_slice_z(good[i]), NULL) != 0)
            TEST_FAIL("\"%s\" was refused", good[i]);
    static const struct {
        const char *key, *why;
    } bad[] = {
        {"", "empty"},
        {"/a", "prefix before '/' is empty"},
        {"a/", "name is empty"},
        {"a/b/c", "more than one"},
        {"-a", "both ends"},
        {"a-", "both ends"},
        {"a b", "both ends"},
        {".", "both ends"},
        {"\xc3\xa9", "both ends"},
        {"A.b/c", "lower case"},
        {"a_b/c", "lower case"},
        {"a..b/c", "lower case"},
        {"-a/c", "lower case"},
        {"a-.b/c", "lower case"},
        {"a./c", "lower case"},
        {SIXTY "abcd", "longer than 63"},
        {TWO_FIFTY "abcd/x", "longer than 253"},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(bad); i++) {
        struct pl_err err;
        if (pl_label_check_key(pl_slice_z(bad[i].key), &err) != PL_EINVAL)
            TEST_FAIL("\"%s\" was taken", bad[i].key);
        else if (strstr(err.message, bad[i].why) == NULL)
            TEST_FAIL("%s: not because of %s", err.message, bad[i].why);
    }
    CHECK_INT(pl_label_check_key(pl_slice("a\0b", 3), NULL), PL_EINVAL);
}

TEST(values_are_names_or_empty)
{
    static const char *const good[] = {"", "a", "1.2.3", "A_b-c.D", SIXTY "abc"};
    for (size_t i = 0; i < PL_ARRAY_LEN(good); i++)
        if (pl_label_check_value(pl_slice_z(good[i]), NULL) != 0)
            TEST_FAIL("\"%s\" was refused", good[i]);
    static const char *const bad[] = {SIXTY "abcd", "-a", "a.", "a/b", "a b", "_", "\xc3\xa9"};
    for (size_t i = 0; i < PL_ARRAY_LEN(bad); i++)
        if (pl_label_check_value(pl_slice_z(bad[i]), NULL) != PL_EINVAL)
            TEST_FAIL("\"%s\" was taken", bad[i]);
}

TEST_MAIN()
