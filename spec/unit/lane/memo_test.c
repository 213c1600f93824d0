#include "lane/memo.h"

#include "base/alloc.h"
#include "support/test.h"
#include "value/build.h"
#include "value/scan.h"

static struct pl_doc *doc_of(const char *json)
{
    struct pl_scan_options options = {0};
    struct pl_doc *doc = pl_scan_text(pl_slice_z(json), &options, NULL);
    REQUIRE(doc != NULL);
    return doc;
}

static int put(struct pl_memos *memos, const char *controller, const char *key, const char *json,
               struct pl_err *err)
{
    struct pl_doc *doc = json != NULL ? doc_of(json) : NULL;
    int code = pl_memos_put(memos, controller, key, doc, err);
    pl_doc_unref(doc);
    return code;
}

static void check_runs(struct pl_memos *memos, const char *controller, const char *key,
                       int64_t want)
{
    struct pl_doc *doc = pl_memos_get(memos, controller, key);
    int64_t runs = 0;
    CHECK(pl_node_int(pl_node_getz(pl_doc_root(doc), "runs"), &runs) == (want != 0));
    CHECK_INT(runs, want);
    pl_doc_unref(doc);
}

TEST(a_memo_is_of_one_controller_and_key_and_the_last_one_counts)
{
    struct pl_memos *memos = pl_memos_create();
    CHECK_INT(put(memos, "a", "d/x", "{\"runs\":1}", NULL), 0);
    CHECK_INT(put(memos, "a", "d/y", "{\"runs\":2}", NULL), 0);
    CHECK_INT(put(memos, "b", "d/x", "{\"runs\":3}", NULL), 0);
    CHECK_INT(put(memos, "a", "d/x", "{\"runs\":4}", NULL), 0);
    check_runs(memos, "a", "d/x", 4);
    check_runs(memos, "a", "d/y", 2);
    check_runs(memos, "b", "d/x", 3);
    check_runs(memos, "b", "d/y", 0);
    CHECK_INT(put(memos, "a", "d/x", NULL, NULL), 0);
    CHECK_INT(put(memos, "a", "d/x", NULL, NULL), 0);
    check_runs(memos, "a", "d/x", 0);
    CHECK_INT(pl_memos_count(memos), 2);
    pl_memos_unref(memos);
}

TEST(a_controller_that_is_gone_takes_its_memos_along_and_no_others)
{
    struct pl_memos *memos = pl_memos_create();
    put(memos, "web", "d/x", "{\"runs\":1}", NULL);
    put(memos, "web", "d/y", "{\"runs\":2}", NULL);
    put(memos, "web-2", "d/x", "{\"runs\":3}", NULL);
    pl_memos_forget(memos, "web");
    CHECK_INT(pl_memos_count(memos), 1);
    check_runs(memos, "web-2", "d/x", 3);
    pl_memos_unref(memos);
}

#define BIG_REST (sizeof "{\"runs\":1,\"text\":\"\"}" - 1)

/* {"runs": 1, "text": "xxx..."}: BIG_REST bytes more than its text. */
static struct pl_doc *big(size_t len)
{
    char *text = pl_calloc(len + 1, 1);
    memset(text, 'x', len);
    struct pl_build *b = pl_build_create(NULL);
    pl_build_object(b);
    pl_build_keyz(b, "runs");
    pl_build_int(b, 1);
    pl_build_keyz(b, "text");
    pl_build_strz(b, text);
    pl_build_end(b);
    struct pl_doc *doc = pl_build_close(b);
    pl_free(text);
    return doc;
}

TEST(what_is_too_big_is_refused_and_what_was_there_stays)
{
    struct pl_memos *memos = pl_memos_create();
    struct pl_err err;
    put(memos, "a", "d/x", "{\"runs\":7}", NULL);
    struct pl_doc *doc = big(PL_MEMO_BYTES);
    CHECK_INT(pl_memos_put(memos, "a", "d/x", doc, &err), PL_ELIMIT);
    CHECK(strstr(err.message, "more than 65536") != NULL);
    pl_doc_unref(doc);
    check_runs(memos, "a", "d/x", 7);
    doc = big(PL_MEMO_BYTES - BIG_REST + 1);
    CHECK_INT(pl_memos_put(memos, "a", "d/x", doc, &err), PL_ELIMIT);
    pl_doc_unref(doc);
    doc = big(PL_MEMO_BYTES - BIG_REST);
    CHECK_INT(pl_memos_put(memos, "a", "d/x", doc, &err), 0);
    pl_doc_unref(doc);
    check_runs(memos, "a", "d/x", 1);
    pl_memos_unref(memos);
}

TEST(all_of_them_together_have_a_limit_that_shrinking_gives_back)
{
    struct pl_memos *memos = pl_memos_create();
    struct pl_err err;
    struct pl_doc *doc = big(PL_MEMO_BYTES - BIG_REST);
    char key[32];
    int code = 0, count = 0;
    for (; code == 0 && count < 2000; count++) {
        snprintf(key, sizeof key, "d/%d", count);
        code = pl_memos_put(memos, "a", key, doc, &err);
    }
    CHECK_INT(code, PL_ELIMIT);
    CHECK(strstr(err.message, "all memos together") != NULL);
    CHECK_INT(count, PL_MEMOS_BYTES / PL_MEMO_BYTES + 1); /* the last one did not fit */
    CHECK_INT(pl_memos_count(memos), count - 1);
    CHECK_INT(put(memos, "a", "d/0", NULL, NULL), 0);
    CHECK_INT(pl_memos_put(memos, "a", key, doc, &err), 0);
    pl_doc_unref(doc);
    pl_memos_unref(memos);
}

TEST(many_memos_are_forgotten_at_once)
{
    struct pl_memos *memos = pl_memos_create();
    struct pl_doc *doc = doc_of("{\"runs\":1}");
    char key[32];
    for (int i = 0; i < 100000; i++) { /* this would take minutes if each needed a separate walk */
        snprintf(key, sizeof key, "d/%d", i);
        REQUIRE(pl_memos_put(memos, "web", key, doc, NULL) == 0);
    }
    put(memos, "dns", "d/x", "{\"runs\":2}", NULL);
    pl_memos_forget(memos, "web");
    CHECK_INT(pl_memos_count(memos), 1);
    check_runs(memos, "dns", "d/x", 2);
    pl_doc_unref(doc);
    pl_memos_unref(memos);
}

TEST_MAIN()
