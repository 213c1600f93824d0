#include "value/scan.h"
#include "value/write.h"

#include "support/test.h"

static void check_write(const char *json, unsigned flags, const char *want)
{
    struct pl_doc *doc = pl_scan_text(pl_slice_z(json), NULL, NULL);
    REQUIRE(doc != NULL);
    struct pl_buf out = PL_BUF_INIT;
    pl_write(&out, pl_doc_root(doc), flags);
    CHECK_STR(pl_buf_z(&out), want);
    pl_buf_deinit(&out);
    pl_doc_unref(doc);
}

TEST(compact_json_comes_back_byte_for_byte)
{
    static const char json[] = "{\"z\":[1,-0,1.0,1e5,123456789012345678901234567890,null],\"a\":"
                               "{\"b\":{},\"c\":[]},\"s\":\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001é€\"}";
    check_write(json, PL_WRITE_COMPACT, json);
}

TEST(strings_have_the_fewest_escapes)
{
    check_write("\"\\u00e9\\/\\u007f\\ud83d\\ude00\"", PL_WRITE_COMPACT,
                "\"é/\x7f\xf0\x9f\x98\x80\"");
}

/* Strings are read in pieces of eight bytes. */
TEST(each_byte_is_written_alike_at_each_place)
{
    for (int byte = 0; byte < 256; byte++) {
        for (size_t place = 0; place < 20; place++) {
            char text[20], want[32];
            memset(text, 'a', sizeof text);
            text[place] = (char)byte;
            bool is_escaped = byte < 0x20 || byte == '"' || byte == '\\';
            struct pl_buf out = PL_BUF_INIT;
            pl_write_str(&out, pl_slice(text, sizeof text));
            const char *written = pl_buf_z(&out) + 1 + place;
            snprintf(want, sizeof want, "%.*s", (int)(sizeof text - place - 1), text + place + 1);
            if (is_escaped)
                CHECK(*written == '\\' && strstr(written, want) != NULL);
            else
                CHECK(*written == (char)byte && memcmp(written + 1, want, strlen(want)) == 0 &&
                      out.len == sizeof text + 2);
            pl_buf_deinit(&out);
        }
    }
}

TEST(sorted_orders_members_at_every_level)
{
    check_write("{\"b\":{\"d\":1,\"c\":2},\"a\":[{\"y\":1,\"x\":2}],\"ab\":3}", PL_WRITE_SORTED,
                "{\"a\":[{\"x\":2,\"y\":1}],\"ab\":3,\"b\":{\"c\":2,\"d\":1}}");
}

TEST(pretty_has_two_spaces_a_level)
{
    check_write("{\"b\":[1,{\"x\":[]}],\"a\":{}}", PL_WRITE_PRETTY | PL_WRITE_SORTED,
                "{\n  \"a\": {},\n  \"b\": [\n    1,\n    {\n      \"x\": []\n    }\n  ]\n}");
}

TEST(nothing_is_null)
{
    struct pl_buf out = PL_BUF_INIT;
    pl_write(&out, PL_NODE_MISSING, 0);
    CHECK_STR(pl_buf_z(&out), "null");
    pl_buf_deinit(&out);
}

TEST_MAIN()
