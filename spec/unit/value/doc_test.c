#include "value/doc.h"
#include "value/scan.h"

#include "base/buf.h"

#include "support/test.h"

static struct pl_doc *doc_of(const char *json)
{
    struct pl_err err;
    struct pl_doc *doc = pl_scan_text(pl_slice_z(json), NULL, &err);
    if (doc == NULL)
        TEST_FAIL("%s: %s", json, err.message);
    return doc;
}

TEST(types_and_scalars_read_back)
{
    struct pl_doc *doc = doc_of("[null,true,false,3,-129,70000,5000000000,1.5,\"x\",[],{},[1],"
                                "{\"a\":1}]");
    static const enum pl_type types[] = {PL_NULL,   PL_BOOL,   PL_BOOL,   PL_NUMBER, PL_NUMBER,
                                         PL_NUMBER, PL_NUMBER, PL_NUMBER, PL_STRING, PL_ARRAY,
                                         PL_OBJECT, PL_ARRAY,  PL_OBJECT};
    struct pl_node root = pl_doc_root(doc);
    CHECK_INT(pl_node_len(root), sizeof(types) / sizeof(types[0]));
    for (struct pl_iter it = pl_iter(root); pl_iter_next(&it);) {
        CHECK_INT(pl_node_type(it.value), types[it.index]);
        CHECK(it.key.ptr == NULL);
    }
    CHECK(pl_node_bool(pl_node_at(root, 1)));
    CHECK(!pl_node_bool(pl_node_at(root, 2)));
    CHECK(!pl_node_bool(pl_node_at(root, 3)));
    int64_t v;
    CHECK(pl_node_int(pl_node_at(root, 4), &v) && v == -129);
    CHECK(pl_node_int(pl_node_at(root, 6), &v) && v == INT64_C(5000000000));
    CHECK(!pl_node_int(pl_node_at(root, 7), &v));
    CHECK(pl_node_double(pl_node_at(root, 7)) == 1.5);
    struct pl_scratch scratch;
    CHECK_SLICE(pl_node_number(pl_node_at(root, 5), &scratch), "70000");
    CHECK_SLICE(pl_node_str(pl_node_at(root, 8), &scratch), "x");
    CHECK(pl_node_str(pl_node_at(root, 7), &scratch).ptr == NULL);
    CHECK(pl_node_number(pl_node_at(root, 8), &scratch).ptr == NULL);
    pl_doc_unref(doc);
}

TEST(missing_is_accepted_everywhere)
{
    struct pl_node none = pl_doc_root(NULL);
    struct pl_scratch scratch;
    int64_t v;
    CHECK(pl_node_is_missing(none));
    CHECK_INT(pl_node_type(none), PL_MISSING);
    CHECK(!pl_node_bool(none) && !pl_node_int(none, &v) && pl_node_double(none) == 0);
    CHECK(pl_node_str(none, &scratch).ptr == NULL && pl_node_number(none, &scratch).ptr == NULL);
    CHECK_INT(pl_node_len(none), 0);
    CHECK(pl_node_is_missing(pl_node_dig(none, "a", "b")));
    CHECK(pl_node_is_missing(pl_node_at(none, 0)));
    struct pl_iter it = pl_iter(none);
    CHECK(!pl_iter_next(&it));
    CHECK(pl_node_equal(none, none));
    CHECK_STR(pl_type_name(PL_MISSING), "nothing");
    CHECK_STR(pl_type_name(PL_OBJECT), "object");
    pl_doc_unref(NULL);
    CHECK(pl_doc_ref(NULL) == NULL);
}

TEST(members_are_found_in_small_and_large_objects)
{
    struct pl_doc *doc = doc_of("{\"metadata\":{\"name\":\"web\",\"\":\"empty\"},\"n\":1}");
    struct pl_scratch scratch;
    struct pl_node root = pl_doc_root(doc);
    CHECK_SLICE(pl_node_str(pl_node_dig(root, "metadata", "name"), &scratch), "web");
    CHECK_SLICE(pl_node_str(pl_node_dig(root, "metadata", ""), &scratch), "empty");
    CHECK(pl_node_is_missing(pl_node_dig(root, "metadata", "nam")));
    CHECK(pl_node_is_missing(pl_node_dig(root, "n", "x")));
    CHECK(pl_node_is_missing(pl_node_at(root, 0)));
    CHECK(pl_node_str_eq(pl_node_dig(root, "metadata", "name"), pl_slice_z("web")));
    CHECK(!pl_node_str_eq(pl_node_dig(root, "n"), pl_slice_z("1")));
    pl_doc_unref(doc);
}

static void check_flat(const char *text, bool want)
{
    struct pl_doc *doc = doc_of(text);
    if (pl_node_is_flat(pl_doc_root(doc), 4) != want)
        TEST_FAIL("%s: flat should be %d", text, want);
    pl_doc_unref(doc);
}

TEST(small_objects_of_scalars_are_flat)
{
    check_flat("{\"a\":1,\"b\":\"x\",\"c\":null,\"d\":true}", true);
    check_flat("{\"a\":-70000,\"b\":1234567890123456789,\"c\":31,\"d\":\"\"}", true);
    check_flat("{\"uid\":\"01234567-89ab-cdef-0123-456789abcdef\",\"at\":\"2026-01-01T00:00:00Z\"}",
               true);
    check_flat("{\"a\":1,\"b\":2,\"c\":3,\"d\":4,\"e\":5}", false);
    check_flat("{\"a\":1,\"b\":{\"c\":2}}", false);
    check_flat("{\"a\":1,\"b\":[2]}", false);
    check_flat("{\"a\":{}}", false);
    check_flat("{\"a\":[]}", false);
    check_flat("{\"a\":1.5e300}", false); /* its text may be of any length */
    check_flat("{\"a\":\"012345678901234567890123456789012345678901234567890123456789 1\"}", true);
    check_flat("{\"a\":\"012345678901234567890123456789012345678901234567890123456789 12\"}",
               false);
    check_flat("{}", false);
    check_flat("[1]", false);
    check_flat("\"x\"", false);
    CHECK(!pl_node_is_flat(PL_NODE_MISSING, 4));
}

TEST(the_last_of_duplicate_members_wins)
{
    struct pl_doc *doc = doc_of("{\"a\":1,\"b\":[1,2,3],\"a\":{\"x\":5},\"c\":3,\"b\":\"last\"}");
    struct pl_scratch scratch;
    CHECK_INT(pl_node_len(pl_doc_root(doc)), 3);
    CHECK_INT(pl_node_type(pl_node_getz(pl_doc_root(doc), "a")), PL_OBJECT);
    CHECK_SLICE(pl_node_str(pl_node_getz(pl_doc_root(doc), "b"), &scratch), "last");
    pl_doc_unref(doc);
}

static void check_equal(const char *a, const char *b, bool want)
{
    struct pl_doc *x = doc_of(a), *y = doc_of(b);
    if (pl_node_equal(pl_doc_root(x), pl_doc_root(y)) != want)
        TEST_FAIL("%s and %s: equal should be %d", a, b, want);
    if (pl_node_equal(pl_doc_root(y), pl_doc_root(x)) != want)
        TEST_FAIL("%s and %s: equal should be %d", b, a, want);
    pl_doc_unref(x);
    pl_doc_unref(y);
}

TEST(equality_is_by_meaning)
{
    check_equal("{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}", true);
    check_equal("{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":2}", false);
    check_equal("{\"a\":1}", "{\"a\":1,\"b\":null}", false);
    check_equal("{\"a\":1,\"b\":null}", "{\"a\":1,\"c\":null}", false);
    check_equal("[1,2]", "[2,1]", false);
    check_equal("[1]", "[1,1]", false);
    check_equal("1", "1.0", true);
    check_equal("1e0", "1.0", true);
    check_equal("0", "-0.0e5", true);
    check_equal("100", "1e2", true);
    check_equal("1", "\"1\"", false);
    check_equal("0.1", "0.10", true);
    check_equal("9223372036854775808", "9223372036854775809", false);
    check_equal("[]", "{}", false);
    check_equal("null", "false", false);
    check_equal("true", "false", false);
    check_equal("\"0b2cd8f1-7c0e-4b52-8a5e-0f1d1f2a3b4c\"",
                "\"0b2cd8f1-7c0e-4b52-8a5e-0f1d1f2a3b4d\"", false);
    check_equal("\"\\u0061\"", "\"a\"", true);
}

TEST(large_objects_in_another_order_are_equal)
{
    struct pl_buf a = PL_BUF_INIT, b = PL_BUF_INIT;
    enum { COUNT = 20000 };
    for (int i = 0; i < COUNT; i++) {
        pl_buf_add_f(&a, "%c\"k%d\":%d", i == 0 ? '{' : ',', i, i);
        pl_buf_add_f(&b, "%c\"k%d\":%d", i == 0 ? '{' : ',', COUNT - 1 - i, COUNT - 1 - i);
    }
    pl_buf_add_char(&a, '}');
    pl_buf_add_char(&b, '}');
    check_equal(pl_buf_z(&a), pl_buf_z(&b), true);
    pl_buf_deinit(&a);
    pl_buf_deinit(&b);
}

TEST_MAIN()
