#include "object/patch_diff.h"

#include "object/patch.h"
#include "support/json.h"

static void check_patch(const char *before, const char *after, const char *want)
{
    struct pl_doc *a = json(before), *b = json(after);
    struct pl_doc *patch = pl_patch_diff(pl_doc_root(a), pl_doc_root(b));
    if (want == NULL)
        CHECK(patch == NULL);
    else if (patch == NULL)
        TEST_FAIL("no patch of %s", after);
    else
        CHECK_JSON(pl_doc_root(patch), want);
    pl_doc_unref(patch);
    pl_doc_unref(a);
    pl_doc_unref(b);
}

TEST(what_is_equal_needs_no_patch)
{
    check_patch("{'a':[1,{'b':null}],'c':{},'d':[]}", "{'d':[],'c':{},'a':[1.0,{'b':null}]}", NULL);
}

TEST(members_are_removed_changed_and_added)
{
    check_patch("{'a':1,'b':{'c':'x'},'d':0}", "{'b':{'c':'y','e':[]},'d':0,'f':null}",
                "[{'op':'remove','path':'/a'},{'op':'replace','path':'/b/c','value':'y'},"
                "{'op':'add','path':'/b/e','value':[]},{'op':'add','path':'/f','value':null}]");
}

TEST(null_is_a_value)
{
    check_patch("{'a':null}", "{'a':1}", "[{'op':'replace','path':'/a','value':1}]");
    check_patch("{'a':1}", "{'a':null}", "[{'op':'replace','path':'/a','value':null}]");
    check_patch("{'a':null}", "{}", "[{'op':'remove','path':'/a'}]");
    check_patch("{'a':[]}", "{'a':{}}", "[{'op':'replace','path':'/a','value':{}}]");
}

TEST(names_are_escaped)
{
    check_patch(
        "{'a/b':1,'~':1,'':1}", "{'a/b':2,'~':2,'':2}",
        "[{'op':'replace','path':'/a~1b','value':2},{'op':'replace','path':'/~0','value':2},"
        "{'op':'replace','path':'/','value':2}]");
}

TEST(arrays_keep_what_stays_at_both_ends)
{
    check_patch("[1,2,3]", "[1,9,2,3]", "[{'op':'add','path':'/1','value':9}]");
    check_patch("[1,2,3]", "[3]", "[{'op':'remove','path':'/1'},{'op':'remove','path':'/0'}]");
    check_patch("[1,2,3,4]", "[1,4]", "[{'op':'remove','path':'/2'},{'op':'remove','path':'/1'}]");
    check_patch("[]", "[1,2]",
                "[{'op':'add','path':'/0','value':1},{'op':'add','path':'/1','value':2}]");
    check_patch("[{'n':'a','v':1}]", "[{'n':'b'},{'n':'a','v':1}]",
                "[{'op':'add','path':'/0','value':{'n':'b'}}]");
}

TEST(untouched_numbers_are_not_mentioned)
{
    check_patch("{'a':1.000,'b':123456789012345678901234567890,'c':1e400}",
                "{'a':1.000,'b':123456789012345678901234567890,'c':1e400,'d':1}",
                "[{'op':'add','path':'/d','value':1}]");
}

/* ---- whatever the documents are, the patch makes the second of the first ---- */

static uint64_t state;

static unsigned below(unsigned n)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(state >> 33) % n;
}

static void build_value(struct pl_build *b, int depth)
{
    static const char *const names[] = {"a", "b", "c/d", "~e", "f"};
    unsigned sort = below(depth > 3 ? 3 : 5);
    if (sort == 0) {
        pl_build_null(b);
    } else if (sort < 3) {
        pl_build_int(b, below(3));
    } else if (sort == 3) {
        pl_build_array(b);
        for (unsigned i = below(5); i > 0; i--)
            build_value(b, depth + 1);
        pl_build_end(b);
    } else {
        pl_build_object(b);
        for (size_t i = 0; i < PL_ARRAY_LEN(names); i++) {
            if (below(2) == 0)
                continue;
            pl_build_keyz(b, names[i]);
            build_value(b, depth + 1);
        }
        pl_build_end(b);
    }
}

static struct pl_doc *random_doc(void)
{
    struct pl_build *b = pl_build_create(NULL);
    build_value(b, 0);
    return pl_build_close(b);
}

TEST(every_patch_applies)
{
    state = 27;
    for (int i = 0; i < 20000; i++) {
        struct pl_doc *a = random_doc(), *b = random_doc();
        struct pl_doc *patch = pl_patch_diff(pl_doc_root(a), pl_doc_root(b));
        CHECK((patch == NULL) == pl_node_equal(pl_doc_root(a), pl_doc_root(b)));
        struct pl_err err = {.code = 0};
        struct pl_doc *made =
            patch != NULL ? pl_patch_json(pl_doc_root(a), pl_doc_root(patch), &err) : NULL;
        if (patch != NULL && (made == NULL || !pl_node_equal(pl_doc_root(made), pl_doc_root(b))))
            TEST_FAIL("round %d: %s", i, err.message);
        pl_doc_unref(made);
        pl_doc_unref(patch);
        pl_doc_unref(a);
        pl_doc_unref(b);
    }
}

TEST_MAIN()
