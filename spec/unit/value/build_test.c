#include "value/build.h"
#include "value/scan.h"
#include "value/write.h"

#include "support/test.h"

static void check_json(struct pl_doc *doc, const char *want)
{
    struct pl_buf out = PL_BUF_INIT;
    pl_write(&out, pl_doc_root(doc), PL_WRITE_COMPACT);
    CHECK_STR(pl_buf_z(&out), want);
    pl_buf_deinit(&out);
}

TEST(builds_every_kind_of_value_in_order)
{
    struct pl_build *b = pl_build_create(NULL);
    pl_build_object(b);
    pl_build_keyz(b, "null");
    pl_build_null(b);
    pl_build_keyz(b, "list");
    pl_build_array(b);
    pl_build_bool(b, true);
    pl_build_bool(b, false);
    pl_build_int(b, INT64_MIN);
    pl_build_int(b, INT64_MAX);
    pl_build_number(b, pl_slice_z("1.50"));
    pl_build_strz(b, "x\n");
    pl_build_object(b);
    pl_build_end(b);
    pl_build_array(b);
    pl_build_end(b);
    pl_build_end(b);
    pl_build_end(b);
    struct pl_doc *doc = pl_build_finish(b);
    check_json(doc, "{\"null\":null,\"list\":[true,false,-9223372036854775808,"
                    "9223372036854775807,1.50,\"x\\n\",{},[]]}");
    pl_doc_unref(doc);
    pl_build_destroy(b);
}

static void check_double(double value, const char *want)
{
    struct pl_build *b = pl_build_create(NULL);
    pl_build_double(b, value);
    struct pl_doc *doc = pl_build_finish(b);
    check_json(doc, want);
    CHECK(pl_node_double(pl_doc_root(doc)) == value);
    pl_doc_unref(doc);
    pl_build_destroy(b);
}

TEST(members_are_put_with_their_values)
{
    struct pl_build *b = pl_build_create(NULL);
    pl_build_object(b);
    pl_build_put_bool(b, "b", true);
    pl_build_put_int(b, "i", -7);
    pl_build_put_str(b, "s", pl_slice("text and more", 4));
    pl_build_put_strz(b, "z", "");
    pl_build_end(b);
    struct pl_doc *doc = pl_build_finish(b);
    check_json(doc, "{\"b\":true,\"i\":-7,\"s\":\"text\",\"z\":\"\"}");
    pl_doc_unref(doc);
    pl_build_destroy(b);
}

TEST(doubles_have_the_fewest_digits_and_integers_no_exponent)
{
    check_double(0.1, "0.1");
    check_double(1.0 / 3, "0.3333333333333333");
    check_double(0.1 + 0.2, "0.30000000000000004");
    check_double(5e-324, "5e-324");
    check_double(-1.5e-310, "-1.5e-310");
    check_double(1e15, "1000000000000000");
    check_double(-9007199254740992.0, "-9007199254740992");
    check_double(1e16, "10000000000000000");
    check_double(1e20, "100000000000000000000");
    check_double(1e300, "1e+300");
    check_double(-0.0, "0");
}

TEST(a_builder_is_empty_after_finish_and_may_be_left_half_built)
{
    struct pl_build *b = pl_build_create(NULL);
    for (int i = 0; i < 3; i++) {
        pl_build_array(b);
        pl_build_int(b, i);
        pl_build_end(b);
        struct pl_doc *doc = pl_build_finish(b);
        CHECK_INT(pl_node_len(pl_doc_root(doc)), 1);
        pl_doc_unref(doc);
    }
    pl_build_object(b);
    pl_build_keyz(b, "half");
    pl_build_destroy(b);
    pl_build_destroy(NULL);
}

TEST(nodes_of_other_documents_are_copied_and_outlive_them)
{
    struct pl_doc *from = pl_scan_text(pl_slice_z("{\"a\":{\"b\":[1,\"two\",{}]}}"), NULL, NULL);
    struct pl_build *b = pl_build_create(NULL);
    pl_build_array(b);
    pl_build_node(b, pl_node_getz(pl_doc_root(from), "a"));
    pl_build_node(b, PL_NODE_MISSING);
    pl_build_end(b);
    struct pl_doc *part = pl_doc_from_node(pl_node_dig(pl_doc_root(from), "a", "b"), NULL);
    pl_doc_unref(from);
    struct pl_doc *doc = pl_build_finish(b);
    check_json(doc, "[{\"b\":[1,\"two\",{}]},null]");
    check_json(part, "[1,\"two\",{}]");
    CHECK(pl_doc_from_node(PL_NODE_MISSING, NULL) == NULL);
    pl_doc_unref(doc);
    pl_doc_unref(part);
    pl_build_destroy(b);
}

TEST(containers_of_every_width_read_back)
{
    static const int counts[] = {1, 31, 32, 33, 47, 48, 49, 255, 256, 5000};
    struct pl_build *b = pl_build_create(NULL);
    for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
        pl_build_object(b);
        for (int i = 0; i < counts[c]; i++) {
            char key[32];
            snprintf(key, sizeof(key), "key-%d", i * 7919 % counts[c]);
            pl_build_keyz(b, key);
            pl_build_array(b);
            for (int j = 0; j < i % 70; j++)
                pl_build_int(b, j * 100);
            pl_build_end(b);
        }
        pl_build_end(b);
        struct pl_doc *doc = pl_build_finish(b);
        struct pl_node root = pl_doc_root(doc);
        CHECK_INT(pl_node_len(root), counts[c]);
        for (int i = 0; i < counts[c]; i++) {
            char key[32];
            snprintf(key, sizeof(key), "key-%d", i * 7919 % counts[c]);
            struct pl_node list = pl_node_getz(root, key);
            CHECK_INT(pl_node_len(list), i % 70);
            int64_t last = -1;
            if (i % 70 > 0) {
                CHECK(pl_node_int(pl_node_at(list, (size_t)(i % 70) - 1), &last));
                CHECK_INT(last, (i % 70 - 1) * 100);
            }
            CHECK(pl_node_is_missing(pl_node_at(list, (size_t)(i % 70))));
        }
        CHECK(pl_node_is_missing(pl_node_getz(root, "key-")));
        pl_doc_unref(doc);
    }
    pl_build_destroy(b);
}

TEST(number_and_utf8_checks_agree_with_the_grammar)
{
    CHECK(pl_is_json_number(pl_slice_z("-0.5e+10")));
    CHECK(!pl_is_json_number(pl_slice_z("")));
    CHECK(!pl_is_json_number(pl_slice_z("01")));
    CHECK(!pl_is_json_number(pl_slice_z("1.")));
    CHECK(!pl_is_json_number(pl_slice_z("1 ")));
    CHECK(!pl_is_json_number(pl_slice_z("NaN")));
    CHECK(!pl_is_json_number(pl_slice("1\0", 2)));
    CHECK(pl_is_utf8(pl_slice_z("plain ascii of some length, äöü €  \xf0\x9f\x98\x80")));
    CHECK(pl_is_utf8(pl_slice_z("\xf4\x8f\xbf\xbf")));
    CHECK(!pl_is_utf8(pl_slice_z("\xc0\xaf")));
    CHECK(!pl_is_utf8(pl_slice_z("\xed\xa0\x80")));
    CHECK(!pl_is_utf8(pl_slice_z("\xf4\x90\x80\x80")));
    CHECK(!pl_is_utf8(pl_slice_z("abcdefgh\xe2\x82")));
}

TEST(what_is_not_utf8_is_replaced_byte_by_byte)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"", ""},
        {"aä€\xf0\x9f\x98\x80", "aä€\xf0\x9f\x98\x80"},
        {"\xff", "\xef\xbf\xbd"},
        {"a\xc3(", "a\xef\xbf\xbd("},
        {"cut \xe2\x82", "cut \xef\xbf\xbd\xef\xbf\xbd"},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        struct pl_buf out = PL_BUF_INIT;
        pl_utf8_repair(pl_slice_z(cases[i].text), &out);
        CHECK_STR(pl_buf_z(&out), cases[i].want);
        CHECK(pl_is_utf8(pl_buf_slice(&out)));
        pl_buf_deinit(&out);
    }
}

TEST_MAIN()
