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

TEST_MAIN()
