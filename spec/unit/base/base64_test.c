#include "base/base64.h"

#include "support/test.h"

static const struct {
    const char *plain, *text;
} pairs[] = {
    {"", ""},
    {"f", "Zg=="},
    {"fo", "Zm8="},
    {"foo", "Zm9v"},
    {"foob", "Zm9vYg=="},
    {"fooba", "Zm9vYmE="},
    {"foobar", "Zm9vYmFy"},
    {"\xff\xfe\xfd\xfb\xef", "//79++8="},
};

TEST(encodes_the_pairs_of_rfc_4648)
{
    for (size_t i = 0; i < PL_ARRAY_LEN(pairs); i++) {
        struct pl_buf out = PL_BUF_INIT;
        pl_base64_encode(pl_slice_z(pairs[i].plain), &out);
        CHECK_SLICE(pl_buf_slice(&out), pairs[i].text);
        pl_buf_deinit(&out);
    }
}

TEST(decodes_what_it_encodes_and_appends)
{
    for (size_t i = 0; i < PL_ARRAY_LEN(pairs); i++) {
        struct pl_buf out = PL_BUF_INIT;
        pl_buf_add_z(&out, "<");
        CHECK(pl_base64_decode(pl_slice_z(pairs[i].text), &out));
        CHECK_INT(out.len, strlen(pairs[i].plain) + 1);
        CHECK_STR(pl_buf_z(&out) + 1, pairs[i].plain);
        pl_buf_deinit(&out);
    }
}

TEST(skips_line_breaks)
{
    struct pl_buf out = PL_BUF_INIT;
    CHECK(pl_base64_decode(pl_slice_z("Zm9v\r\nYm\nFy \n"), &out));
    CHECK_SLICE(pl_buf_slice(&out), "foobar");
    pl_buf_deinit(&out);
}

TEST(refuses_what_is_no_base64_and_appends_nothing)
{
    static const char *const bad[] = {"Z",     "Zg",    "Zg=",  "Zg===", "Z===",    "Zg==Zg==",
                                      "Zm9v!", "Zm9v=", "Zm=v", "====",  "Zm9vYg-_"};
    for (size_t i = 0; i < PL_ARRAY_LEN(bad); i++) {
        struct pl_buf out = PL_BUF_INIT;
        pl_buf_add_z(&out, "x");
        if (pl_base64_decode(pl_slice_z(bad[i]), &out))
            TEST_FAIL("taken as base64: %s", bad[i]);
        CHECK_SLICE(pl_buf_slice(&out), "x");
        pl_buf_deinit(&out);
    }
}

TEST_MAIN()
