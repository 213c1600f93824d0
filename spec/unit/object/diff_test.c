#include "object/diff.h"

#include "base/base.h"
#include "support/json.h"
#include "value/pool.h"

static struct pl_doc *pooled(struct pl_pool *pool, const char *quoted)
{
    char *text = json_text(quoted);
    struct pl_doc *doc =
        pl_scan_text(pl_slice_z(text), &(struct pl_scan_options){.pool = pool}, NULL);
    REQUIRE(doc != NULL);
    free(text);
    return doc;
}

static void check_docs(struct pl_doc *a, struct pl_doc *b, const char *want)
{
    struct pl_paths paths;
    struct pl_buf got = PL_BUF_INIT;
    pl_diff(pl_doc_root(a), pl_doc_root(b), 100, &paths);
    for (size_t i = 0; i < paths.count; i++)
        pl_buf_add_f(&got, "%s%s", i ? " " : "", paths.items[i]);
    CHECK(!paths.cut);
    CHECK_STR(pl_buf_z(&got), want);
    pl_buf_deinit(&got);
    pl_paths_deinit(&paths);
    pl_doc_unref(a);
    pl_doc_unref(b);
}

/* With separate documents, and with documents of a pool, which share values. */
static void check_diff(const char *old_text, const char *new_text, const char *want)
{
    struct pl_pool *pool = pl_pool_create();
    check_docs(json(old_text), json(new_text), want);
    check_docs(pooled(pool, old_text), json(new_text), want);
    struct pl_doc *other = pooled(pool, new_text);
    check_docs(pooled(pool, old_text), pooled(pool, new_text), want);
    check_docs(pl_doc_ref(other), pooled(pool, new_text), "");
    pl_doc_unref(other);
    pl_pool_destroy(pool);
}

TEST(a_value_is_unchanged_whether_it_is_shared_or_not)
{
    check_diff("{'metadata':{'uid':'1','labels':{'app':'some longer text','tier':'front'}},'spec':"
               "{'image':'registry.example.com/app:1','args':['first argument','second one']}}",
               "{'metadata':{'uid':'2','labels':{'app':'some longer text','tier':'front'}},'spec':"
               "{'image':'registry.example.com/app:1','args':['first argument','third one']}}",
               "metadata.uid spec.args[1]");
}

TEST(the_deepest_paths_that_differ_are_named)
{
    check_diff("{'a':1,'b':{'c':2}}", "{'a':1,'b':{'c':2}}", "");
    check_diff("{'a':1,'b':{'c':2,'d':3}}", "{'b':{'d':4,'c':2},'a':1}", "b.d");
    check_diff("{'a':1}", "{'b':1}", "a b");
    check_diff("{'a':{'x':1}}", "{'a':[1]}", "a");
    check_diff("{'a':null}", "{}", "a");
    check_diff("{'a':1}", "{'a':1.0}", "");
    check_diff("{'m':{'e.com/k':'1'}}", "{'m':{'e.com/k':'2','z':'3'}}", "m[\"e.com/k\"] m.z");
    check_diff("{'s':[{'n':'a','i':1},{'n':'b','i':2}]}", "{'s':[{'n':'a','i':1},{'n':'b','i':3}]}",
               "s[1].i");
    check_diff("{'s':[1,2]}", "{'s':[1,2,3]}", "s");
    check_diff("{'s':[]}", "{'s':{}}", "s");
}

TEST(a_document_that_is_another_one_differs_at_the_root)
{
    struct pl_doc *a = json("1"), *b = json("2");
    struct pl_paths paths;
    pl_diff(pl_doc_root(a), pl_doc_root(b), 10, &paths);
    REQUIRE(paths.count == 1);
    CHECK_STR(paths.items[0], "");
    pl_paths_deinit(&paths);
    pl_diff(PL_NODE_MISSING, pl_doc_root(b), 10, &paths);
    CHECK_INT(paths.count, 1);
    pl_paths_deinit(&paths);
    pl_diff(PL_NODE_MISSING, PL_NODE_MISSING, 10, &paths);
    CHECK_INT(paths.count, 0);
    pl_paths_deinit(&paths);
    pl_doc_unref(a);
    pl_doc_unref(b);
}

static bool see_two(void *arg, struct pl_slice path)
{
    struct pl_buf *seen = arg;
    CHECK_INT(path.ptr[path.len], 0);
    pl_buf_add_slice(seen, path);
    return seen->len < 2;
}

TEST(paths_come_one_by_one_until_nobody_wants_more)
{
    struct pl_doc *a = json("{'a':1,'b':1,'c':1}"), *b = json("{'a':2,'b':2,'c':2}");
    struct pl_buf seen = PL_BUF_INIT;
    pl_diff_each(pl_doc_root(a), pl_doc_root(b), see_two, &seen);
    CHECK_STR(pl_buf_z(&seen), "ab");
    pl_buf_deinit(&seen);
    pl_doc_unref(a);
    pl_doc_unref(b);
}

TEST(more_paths_than_the_limit_are_cut)
{
    struct pl_doc *a = json("{'a':1,'b':1,'c':1}"), *b = json("{'a':2,'b':2,'c':2}");
    struct pl_paths paths;
    pl_diff(pl_doc_root(a), pl_doc_root(b), 2, &paths);
    CHECK_INT(paths.count, 2);
    CHECK(paths.cut);
    pl_paths_deinit(&paths);
    pl_diff(pl_doc_root(a), pl_doc_root(b), 3, &paths);
    CHECK_INT(paths.count, 3);
    CHECK(!paths.cut);
    pl_paths_deinit(&paths);
    pl_doc_unref(a);
    pl_doc_unref(b);
}

TEST(a_subset_is_held_whatever_else_is_stored)
{
    static const struct {
        const char *desired, *stored;
        bool holds;
    } cases[] = {
        {"{}", "{'a':1}", true},
        {"{'a':1}", "{'b':2,'a':1.0}", true},
        {"{'a':1}", "{'a':2}", false},
        {"{'a':1}", "{}", false},
        {"{'a':null}", "{}", true},
        {"{'a':null}", "{'a':null}", true},
        {"{'a':null}", "{'a':1}", false},
        {"{'a':{'b':null}}", "{'a':{}}", true},
        {"{'a':{}}", "{'a':[]}", false},
        {"{'a':{}}", "{}", false},
        {"{'s':[{'n':1}]}", "{'s':[{'n':1,'x':2}]}", true},
        {"{'s':[{'n':1}]}", "{'s':[{'n':1},{'n':2}]}", false},
        {"{'s':[]}", "{'s':[1]}", false},
        {"{'s':[2,1]}", "{'s':[1,2]}", false},
        {"{'s':[null]}", "{'s':[null]}", true},
        {"'x'", "'x'", true},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        struct pl_doc *desired = json(cases[i].desired), *stored = json(cases[i].stored);
        if (pl_subset(pl_doc_root(desired), pl_doc_root(stored)) != cases[i].holds)
            TEST_FAIL("%s in %s", cases[i].desired, cases[i].stored);
        pl_doc_unref(desired);
        pl_doc_unref(stored);
    }
}

TEST_MAIN()
