#include "value/scan.h"
#include "value/write.h"

#include "base/alloc.h"

#include "support/test.h"

/* Collects what a scan gives as lines of text: "TYPE json". */
struct seen {
    struct pl_buf text;
    int stop_after; /* documents; 0: never */
    int docs;
};

static int on_doc(void *arg, struct pl_slice type, struct pl_doc *doc)
{
    struct seen *seen = arg;
    pl_buf_add_slice(&seen->text, type);
    pl_buf_add_char(&seen->text, ' ');
    pl_write(&seen->text, pl_doc_root(doc), 0);
    pl_buf_add_char(&seen->text, '\n');
    pl_doc_unref(doc);
    return ++seen->docs == seen->stop_after ? PL_ECANCELED : 0;
}

static int on_list(void *arg, struct pl_doc *list)
{
    struct seen *seen = arg;
    pl_buf_add_z(&seen->text, "LIST ");
    pl_write(&seen->text, pl_doc_root(list), 0);
    pl_buf_add_char(&seen->text, '\n');
    pl_doc_unref(list);
    return 0;
}

/* In chunks of `chunk` bytes; 0: at once. Returns the code. */
static int scan_all(enum pl_scan_form form, const char *json, size_t chunk, struct seen *seen,
                    struct pl_err *err)
{
    struct pl_scan_sink sink = {.on_doc = on_doc, .on_list = on_list, .arg = seen};
    struct pl_scan *scan = pl_scan_create(form, NULL, &sink);
    size_t len = strlen(json);
    int code = 0;
    for (size_t at = 0; at < len && code == 0; at += chunk) {
        chunk = chunk == 0 || chunk > len - at ? len - at : chunk;
        /* A copy of exactly that size, so that a read past its end shows. */
        char *copy = pl_memdup0(json + at, chunk);
        copy = pl_realloc(copy, chunk);
        code = pl_scan_feed(scan, pl_slice(copy, chunk), err);
        pl_free(copy);
    }
    if (code == 0)
        code = pl_scan_end(scan, err);
    pl_scan_destroy(scan);
    return code;
}

static void check_scan(enum pl_scan_form form, const char *json, const char *want)
{
    for (size_t chunk = 0; chunk < 12; chunk++) {
        struct seen seen = {PL_BUF_INIT, 0, 0};
        struct pl_err err;
        pl_err_clear(&err);
        CHECK_INT(scan_all(form, json, chunk, &seen, &err), 0);
        CHECK_STR(err.message, "");
        CHECK_STR(pl_buf_z(&seen.text), want);
        pl_buf_deinit(&seen.text);
    }
}

static void check_scan_error(enum pl_scan_form form, const char *json, int64_t offset)
{
    for (size_t chunk = 0; chunk < 12; chunk++) {
        struct seen seen = {PL_BUF_INIT, 0, 0};
        struct pl_err err;
        CHECK_INT(scan_all(form, json, chunk, &seen, &err), PL_ESYNTAX);
        if (err.offset != offset)
            TEST_FAIL("%s in chunks of %zu: offset %" PRId64 ", want %" PRId64 " (%s)", json, chunk,
                      err.offset, offset, err.message);
        pl_buf_deinit(&seen.text);
    }
}

TEST(values_come_one_after_the_other)
{
    check_scan(PL_SCAN_VALUES, "", "");
    check_scan(PL_SCAN_VALUES, " {\"a\":1}\n[2] 3 \"x\"true\n4",
               " {\"a\":1}\n [2]\n 3\n \"x\"\n true\n 4\n");
}

TEST(a_list_gives_its_items_and_then_itself)
{
    check_scan(
        PL_SCAN_LIST,
        "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[{\"a\":1}"
        " , {\"b\":[]}],\"more\":[1]} \n",
        " {\"a\":1}\n {\"b\":[]}\n"
        "LIST {\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"7\"},\"more\":[1]}\n");
    check_scan(PL_SCAN_LIST, "{\"items\":[],\"a\":1}", "LIST {\"a\":1}\n");
    check_scan(PL_SCAN_LIST, "{\"items\":null}", "LIST {}\n");
    check_scan(PL_SCAN_LIST, "{}", "LIST {}\n");
}

static void on_metadata(void *arg, const struct pl_doc *metadata)
{
    struct seen *seen = arg;
    pl_buf_add_z(&seen->text, "METADATA ");
    pl_write(&seen->text, pl_doc_root(metadata), 0);
    pl_buf_add_char(&seen->text, '\n');
}

TEST(a_list_s_metadata_is_shown_as_soon_as_it_has_come)
{
    static const char *const json[] = {
        "{\"kind\":\"L\",\"metadata\":{\"continue\":\"t\"},\"items\":[1]}",
        "{\"items\":[1],\"metadata\":7,\"metadata\":null}",
    };
    static const char *const want[] = {
        "METADATA {\"continue\":\"t\"}\n 1\nLIST "
        "{\"kind\":\"L\",\"metadata\":{\"continue\":\"t\"}}\n",
        " 1\nMETADATA 7\nMETADATA null\nLIST {\"metadata\":null}\n",
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(json); i++) {
        struct seen seen = {PL_BUF_INIT, 0, 0};
        struct pl_scan_sink sink = {
            .on_doc = on_doc, .on_list = on_list, .on_metadata = on_metadata, .arg = &seen};
        struct pl_scan *scan = pl_scan_create(PL_SCAN_LIST, NULL, &sink);
        CHECK_INT(pl_scan_feed(scan, pl_slice_z(json[i]), NULL), 0);
        CHECK_INT(pl_scan_end(scan, NULL), 0);
        pl_scan_destroy(scan);
        CHECK_STR(pl_buf_z(&seen.text), want[i]);
        pl_buf_deinit(&seen.text);
    }
}

TEST(a_watch_gives_objects_with_their_type_in_any_order)
{
    check_scan(PL_SCAN_WATCH,
               "{\"type\":\"ADDED\",\"object\":{\"a\":1}}\n"
               "{\"object\":{\"b\":2},\"extra\":[{}],\"type\":\"DELETED\"}\n",
               "ADDED {\"a\":1}\nDELETED {\"b\":2}\n");
}

TEST(managed_fields_are_left_out_in_metadata_only)
{
    static const char json[] =
        "{\"metadata\":{\"name\":\"x\",\"managedFields\":[{\"f:a\":{\"k:{\\\"n\\\":1}\":{}}}],"
        "\"uid\":\"u\"},\"managedFields\":1,\"spec\":{\"managedFields\":2,"
        "\"metadata\":{\"managedFields\":3}}}";
    check_scan(PL_SCAN_VALUES, json,
               " {\"metadata\":{\"name\":\"x\",\"uid\":\"u\"},\"managedFields\":1,"
               "\"spec\":{\"managedFields\":2,\"metadata\":{\"managedFields\":3}}}\n");
    struct pl_scan_options keep = {.keep_managed_fields = true};
    struct pl_doc *doc = pl_scan_text(pl_slice_z(json), &keep, NULL);
    struct pl_buf out = PL_BUF_INIT;
    pl_write(&out, pl_doc_root(doc), 0);
    CHECK_STR(pl_buf_z(&out), json);
    pl_buf_deinit(&out);
    pl_doc_unref(doc);
}

TEST(documents_get_the_api_version_and_kind_that_they_lack)
{
    static const struct {
        const char *json, *want;
    } cases[] = {
        {"{\"a\":1}", "{\"a\":1,\"apiVersion\":\"v1\",\"kind\":\"Pod\"}"},
        {"{}", "{\"apiVersion\":\"v1\",\"kind\":\"Pod\"}"},
        {"{\"kind\":\"X\",\"a\":{}}", "{\"kind\":\"X\",\"a\":{},\"apiVersion\":\"v1\"}"},
        {"{\"apiVersion\":\"y\",\"kind\":\"X\"}", "{\"apiVersion\":\"y\",\"kind\":\"X\"}"},
        {"{\"a\":{\"kind\":1}}", "{\"a\":{\"kind\":1},\"apiVersion\":\"v1\",\"kind\":\"Pod\"}"},
        {"[{}]", "[{}]"},
    };
    for (size_t i = 0; i < 2 * PL_ARRAY_LEN(cases); i++) {
        struct pl_scan_options options = {.api_version = "v1", .kind = "Pod"};
        options.refuse_duplicates = i % 2 == 1;
        struct pl_err err = {0};
        struct pl_doc *doc = pl_scan_text(pl_slice_z(cases[i / 2].json), &options, &err);
        struct pl_buf out = PL_BUF_INIT;
        CHECK_STR(err.message, "");
        pl_write(&out, pl_doc_root(doc), 0);
        CHECK_STR(pl_buf_z(&out), cases[i / 2].want);
        pl_buf_deinit(&out);
        pl_doc_unref(doc);
    }
}

TEST(or_in_place_of_their_own)
{
    static const struct {
        const char *json, *want;
    } cases[] = {
        {"{\"a\":1}", "{\"a\":1,\"apiVersion\":\"v1\",\"kind\":\"Pod\"}"},
        {"{\"kind\":\"X\",\"apiVersion\":[{\"kind\":1}],\"a\":{\"kind\":2}}",
         "{\"a\":{\"kind\":2},\"apiVersion\":\"v1\",\"kind\":\"Pod\"}"},
        {"{\"metadata\":{\"uid\":\"u\"},\"kind\":null}",
         "{\"metadata\":{\"uid\":\"u\"},\"apiVersion\":\"v1\",\"kind\":\"Pod\"}"},
        {"[{\"kind\":1}]", "[{\"kind\":1}]"},
    };
    struct pl_scan_options options = {.api_version = "v1", .kind = "Pod", .replace_kind = true};
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        struct pl_doc *doc = pl_scan_text(pl_slice_z(cases[i].json), &options, NULL);
        struct pl_buf out = PL_BUF_INIT;
        pl_write(&out, pl_doc_root(doc), 0);
        CHECK_STR(pl_buf_z(&out), cases[i].want);
        pl_buf_deinit(&out);
        pl_doc_unref(doc);
    }
}

TEST(a_list_s_own_values_get_no_kind)
{
    struct seen seen = {PL_BUF_INIT, 0, 0};
    struct pl_scan_sink sink = {.on_doc = on_doc, .on_list = on_list, .arg = &seen};
    struct pl_scan_options options = {.api_version = "v1", .kind = "Pod"};
    struct pl_scan *scan = pl_scan_create(PL_SCAN_LIST, &options, &sink);
    CHECK_INT(pl_scan_feed(scan, pl_slice_z("{\"metadata\":{},\"items\":[{}]}"), NULL), 0);
    CHECK_INT(pl_scan_end(scan, NULL), 0);
    CHECK_STR(pl_buf_z(&seen.text),
              " {\"apiVersion\":\"v1\",\"kind\":\"Pod\"}\nLIST {\"metadata\":{}}\n");
    pl_scan_destroy(scan);
    pl_buf_deinit(&seen.text);
}

TEST(what_is_left_out_must_still_be_json)
{
    check_scan_error(PL_SCAN_VALUES, "{\"metadata\":{\"managedFields\":[{\"a\":01}]}}", 36);
    check_scan_error(PL_SCAN_VALUES, "{\"metadata\":{\"managedFields\":[\"\xff\"]}}", 31);
}

TEST(errors_carry_the_offset_over_all_chunks)
{
    check_scan_error(PL_SCAN_VALUES, "{\"a\":1}{\"b\" 1}", 12);
    check_scan_error(PL_SCAN_VALUES, "[1,]", 3);
    check_scan_error(PL_SCAN_VALUES, "[\"a\tb\"]", 3);
    check_scan_error(PL_SCAN_VALUES, "[\"\\x\"]", 3);
    check_scan_error(PL_SCAN_VALUES, "[\"\\ud800x\"]", 2);
    check_scan_error(PL_SCAN_VALUES, "{\"a\":tru}", 8);
    check_scan_error(PL_SCAN_VALUES, "[1", 2);
    check_scan_error(PL_SCAN_LIST, "{\"items\":{}}", 9);
    check_scan_error(PL_SCAN_LIST, "[]", 0);
    check_scan_error(PL_SCAN_LIST, "{\"items\":[]}x", 12);
    check_scan_error(PL_SCAN_LIST, "{\"items\":[],\"items\":[]}", 12);
    check_scan_error(PL_SCAN_LIST, "", 0);
    check_scan_error(PL_SCAN_WATCH, "{\"type\":\"ADDED\"}", 15);
    check_scan_error(PL_SCAN_WATCH, "{\"object\":{}}", 12);
    check_scan_error(PL_SCAN_WATCH, "{\"type\":1,\"object\":{}}", 8);
}

TEST(halves_of_surrogate_pairs_are_replaced_on_demand)
{
    static const char *const cases[][2] = {
        {"\"\\ud800\"", "\xef\xbf\xbd"},
        {"\"a\\udc00b\"", "a\xef\xbf\xbd"
                          "b"},
        {"\"\\ud800\\u0041\"", "\xef\xbf\xbd"
                               "A"},
        {"\"\\ud800\\n\"", "\xef\xbf\xbd\n"},
        {"\"\\ud800\\ud83d\\ude00\"", "\xef\xbf\xbd\xf0\x9f\x98\x80"},
        {"\"\\ude00\\ud83d\"", "\xef\xbf\xbd\xef\xbf\xbd"},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        struct pl_scan_options options = {.replace_surrogates = true};
        struct pl_scratch scratch;
        struct pl_doc *doc = pl_scan_text(pl_slice_z(cases[i][0]), &options, NULL);
        CHECK(pl_slice_eqz(pl_node_str(pl_doc_root(doc), &scratch), cases[i][1]));
        pl_doc_unref(doc);
        CHECK(pl_scan_text(pl_slice_z(cases[i][0]), NULL, NULL) == NULL);
    }
    CHECK(pl_scan_text(pl_slice_z("\"\\ud8\""),
                       &(struct pl_scan_options){.replace_surrogates = true}, NULL) == NULL);
}

TEST(an_error_is_sticky)
{
    struct seen seen = {PL_BUF_INIT, 0, 0};
    struct pl_scan_sink sink = {.on_doc = on_doc, .on_list = on_list, .arg = &seen};
    struct pl_scan *scan = pl_scan_create(PL_SCAN_VALUES, NULL, &sink);
    struct pl_err first, second;
    CHECK_INT(pl_scan_feed(scan, pl_slice_z("]"), &first), PL_ESYNTAX);
    CHECK_INT(pl_scan_feed(scan, pl_slice_z("{}"), &second), PL_ESYNTAX);
    CHECK_STR(second.message, first.message);
    CHECK_INT(pl_scan_end(scan, NULL), PL_ESYNTAX);
    CHECK(!pl_scan_is_between(scan));
    pl_scan_destroy(scan);
    pl_scan_destroy(NULL);
}

TEST(the_sink_can_stop_the_scan)
{
    struct seen seen = {PL_BUF_INIT, 2, 0};
    struct pl_err err;
    CHECK_INT(scan_all(PL_SCAN_VALUES, "1 2 3 4 ", 0, &seen, &err), PL_ECANCELED);
    CHECK_STR(pl_buf_z(&seen.text), " 1\n 2\n");
    pl_buf_deinit(&seen.text);
}

TEST(between_means_a_stream_may_end)
{
    struct seen seen = {PL_BUF_INIT, 0, 0};
    struct pl_scan_sink sink = {.on_doc = on_doc, .on_list = on_list, .arg = &seen};
    struct pl_scan *scan = pl_scan_create(PL_SCAN_WATCH, NULL, &sink);
    CHECK(pl_scan_is_between(scan));
    CHECK_INT(pl_scan_feed(scan, pl_slice_z("{\"type\":\"A\",\"object\":{}"), NULL), 0);
    CHECK(!pl_scan_is_between(scan));
    CHECK_INT(pl_scan_feed(scan, pl_slice_z("}\n"), NULL), 0);
    CHECK(pl_scan_is_between(scan));
    pl_scan_destroy(scan);
    pl_buf_deinit(&seen.text);
}

TEST(duplicates_can_be_refused_with_their_place)
{
    struct pl_scan_options strict = {.refuse_duplicates = true};
    struct pl_err err;
    CHECK(pl_scan_text(pl_slice_z("{\"a\":{\"x\":1,\"y\":2},\"b\":1,\"a\":2}"), &strict, &err) ==
          NULL);
    CHECK_INT(err.code, PL_ESYNTAX);
    CHECK_INT(err.offset, 25);
    CHECK(pl_scan_text(pl_slice_z("[{\"q\":{}},{\"a\":{\"x\":1,\"x\":2}}]"), &strict, &err) ==
          NULL);
    CHECK_INT(err.offset, 22);
    struct pl_doc *doc = pl_scan_text(pl_slice_z("[{\"a\":1},{\"a\":1}]"), &strict, &err);
    CHECK(doc != NULL);
    pl_doc_unref(doc);
}

TEST(duplicates_of_a_list_can_be_refused_at_its_end)
{
    struct pl_scan_options options = {0};
    struct pl_slice list = pl_slice_z("{\"c\":1,\"items\":[],\"c\":2}");
    for (int strict = 1; strict >= 0; strict--) {
        struct seen seen = {0};
        struct pl_scan_sink sink = {.on_doc = on_doc, .on_list = on_list, .arg = &seen};
        struct pl_err err = {0};
        options.refuse_duplicates = strict;
        struct pl_scan *scan = pl_scan_create(PL_SCAN_LIST, &options, &sink);
        CHECK_INT(pl_scan_feed(scan, list, &err), strict ? PL_ESYNTAX : 0);
        CHECK_INT(err.offset, strict ? 23 : 0);
        pl_scan_destroy(scan);
        pl_buf_deinit(&seen.text);
    }
}

TEST(text_is_one_value_with_white_space_around)
{
    struct pl_err err;
    struct pl_doc *doc = pl_scan_text(pl_slice_z(" \n[1] \t"), NULL, &err);
    CHECK(doc != NULL);
    pl_doc_unref(doc);
    CHECK(pl_scan_text(pl_slice_z("1 2"), NULL, &err) == NULL);
    CHECK_INT(err.offset, 2);
    CHECK(pl_scan_text(pl_slice_z(""), NULL, &err) == NULL);
    CHECK_INT(err.offset, 0);
    CHECK(pl_scan_text(pl_slice_z("\xef\xbb\xbf{}"), NULL, &err) == NULL);
    CHECK_INT(err.offset, 0);
}

TEST(depth_is_limited)
{
    struct pl_buf json = PL_BUF_INIT;
    struct pl_err err;
    for (int i = 0; i < PL_SCAN_DEPTH; i++)
        pl_buf_add_char(&json, '[');
    for (int i = 0; i < PL_SCAN_DEPTH; i++)
        pl_buf_add_char(&json, ']');
    struct pl_doc *doc = pl_scan_text(pl_buf_slice(&json), NULL, &err);
    CHECK(doc != NULL);
    pl_doc_unref(doc);
    pl_buf_clear(&json);
    for (int i = 0; i < 100000; i++)
        pl_buf_add_z(&json, "{\"a\":");
    CHECK(pl_scan_text(pl_buf_slice(&json), NULL, &err) == NULL);
    CHECK_INT(err.code, PL_ELIMIT);
    CHECK_INT(err.offset, PL_SCAN_DEPTH * 5);
    struct pl_scan_options shallow = {.max_depth = 1};
    CHECK(pl_scan_text(pl_slice_z("[[]]"), &shallow, &err) == NULL);
    CHECK_INT(err.code, PL_ELIMIT);
    pl_buf_deinit(&json);
}

static int count_doc(void *arg, struct pl_slice type, struct pl_doc *doc)
{
    PL_UNUSED(type);
    ++*(int *)arg;
    pl_doc_unref(doc);
    return 0;
}

TEST(a_document_is_limited_but_a_stream_is_not)
{
    int docs = 0;
    struct pl_scan_sink sink = {.on_doc = count_doc, .arg = &docs};
    struct pl_scan_options small = {.max_bytes = 1000};
    struct pl_scan *scan = pl_scan_create(PL_SCAN_LIST, &small, &sink);
    char item[900];
    memset(item, 'x', sizeof(item));
    memcpy(item, "{\"a\":\"", 6);
    memcpy(item + sizeof(item) - 3, "\"},", 3);
    CHECK_INT(pl_scan_feed(scan, pl_slice_z("{\"items\":["), NULL), 0);
    for (int i = 0; i < 100; i++)
        CHECK_INT(pl_scan_feed(scan, pl_slice(item, sizeof(item)), NULL), 0);
    CHECK_INT(docs, 100);
    CHECK_INT(pl_scan_feed(scan, pl_slice_z("[\""), NULL), 0);
    memset(item, 'x', sizeof(item));
    int code = 0;
    struct pl_err err;
    for (int i = 0; i < 3 && code == 0; i++)
        code = pl_scan_feed(scan, pl_slice(item, sizeof(item)), &err);
    CHECK_INT(code, PL_ELIMIT);
    pl_scan_destroy(scan);
}

TEST_MAIN()
