#include "base/utf8.h"
#include "value/build.h"

#include "support/test.h"

TEST(every_code_point_is_one_sequence)
{
    for (uint32_t code = 0x80; code <= 0x10ffff; code += code < 0x3000 ? 1 : 17) {
        if (code >= 0xd800 && code <= 0xdfff)
            continue;
        char out[4];
        unsigned bad;
        size_t len = pl_utf8_put(out, code);
        int read = pl_utf8_sequence((const uint8_t *)out, len, &bad);
        if (read != (int)len || !pl_is_utf8(pl_slice(out, len)))
            TEST_FAIL("U+%04X: %d of %zu", code, read, len);
        for (size_t cut = 1; cut < len; cut++)
            CHECK_INT(pl_utf8_sequence((const uint8_t *)out, cut, &bad), -1);
    }
}

TEST(the_wrong_byte_is_named)
{
    static const struct {
        const char *text;
        unsigned bad;
    } cases[] = {{"\x80", 0},         {"\xc1\xbf", 0},         {"\xe0\x9f\xbf", 1},
                 {"\xed\xa0\x80", 1}, {"\xe2\x82\x28", 2},     {"\xf0\x8f\xbf\xbf", 1},
                 {"\xf4\x90\x80", 1}, {"\xf0\x9f\x98\x41", 3}, {"\xf5", 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        unsigned bad = 99;
        CHECK_INT(pl_utf8_sequence((const uint8_t *)cases[i].text, strlen(cases[i].text), &bad), 0);
        CHECK_INT(bad, cases[i].bad);
    }
}

TEST(the_length_grows_where_the_bits_do_not_fit)
{
    static const struct {
        uint32_t code;
        size_t len;
    } cases[] = {{0, 1},     {0x7f, 1},   {0x80, 2},    {0x7ff, 2},
                 {0x800, 3}, {0xffff, 3}, {0x10000, 4}, {0x10ffff, 4}};
    char out[4];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        CHECK_INT(pl_utf8_put(out, cases[i].code), cases[i].len);
}

/* ASCII is read eight bytes at a time: every length, with one other byte at every place. */
TEST(a_wrong_byte_is_found_wherever_it_stands)
{
    for (size_t len = 1; len <= 24; len++) {
        for (size_t at = 0; at < len; at++) {
            char text[26];
            memset(text, 'a', sizeof text);
            CHECK(pl_is_utf8(pl_slice(text, len)));
            text[at] = '\xc3';
            CHECK(!pl_is_utf8(pl_slice(text, len)));
            text[at + 1] = '\xa9';
            CHECK_INT(pl_is_utf8(pl_slice(text, len)), at + 1 < len);
            CHECK(pl_is_utf8(pl_slice(text, at))); /* the bytes after it do not count */
        }
    }
}

TEST(each_wrong_byte_is_replaced_and_nothing_else)
{
#define WRONG "\xef\xbf\xbd"
    static const struct {
        const char *text, *repaired;
    } cases[] = {
        {"", ""},
        {"plain \x7f", "plain \x7f"},
        {"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"},
        {"a\xff"
         "b",
         "a" WRONG "b"},
        {"\x80", WRONG},
        {"\xe2\x82(", WRONG WRONG "("},
        {"\xed\xa0\x80", WRONG WRONG WRONG},
        {"x\xe2\x82", "x" WRONG WRONG}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct pl_buf out = PL_BUF_INIT;
        pl_utf8_repair(pl_slice_z(cases[i].text), &out);
        CHECK_STR(pl_buf_z(&out), cases[i].repaired);
        pl_buf_deinit(&out);
    }
    struct pl_buf out = PL_BUF_INIT;
    pl_utf8_repair(pl_slice("\xc3\xa9\xc3\xa9", 3), &out);
    CHECK_STR(pl_buf_z(&out), "\xc3\xa9" WRONG);
    pl_buf_deinit(&out);
}

TEST_MAIN()
