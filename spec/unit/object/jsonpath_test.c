#include "object/jsonpath.h"

#include "support/json.h"

#include "value/write.h"

static bool add(void *arg, struct pl_node value)
{
    struct pl_buf *out = arg;
    if (out->len > 0)
        pl_buf_add_char(out, ' ');
    pl_write(out, value, PL_WRITE_COMPACT);
    return true;
}

TEST(paths_find_what_they_say_in_order)
{
    struct pl_doc *doc = json(
        "{'a':{'b.c':1,'l':[{'t':'x','n':1},{'t':'y','n':2,'ok':true},{'t':'z','n':3,'u':null}]},"
        "'m':{'k':'v','j':[1,2,3,4]},'s':'text'}");
    static const struct {
        const char *path, *want;
    } cases[] = {
        {"", "all"},
        {"{}", "all"},
        {"$", "all"},
        {".", "all"},
        {"s", "\"text\""},
        {".s", "\"text\""},
        {"{.s}", "\"text\""},
        {"{$.s}", "\"text\""},
        {".a['b.c']", "1"},
        {".a.b\\.c", "1"},
        {".m.j[0]", "1"},
        {".m.j[-1]", "4"},
        {".m.j[9]", ""},
        {".m.j[-9]", ""},
        {".m.j[1:3]", "2 3"},
        {".m.j[:2]", "1 2"},
        {".m.j[-2:]", "3 4"},
        {".m.j[0:4:2]", "1 3"},
        {".m.j[0,2]", "1 3"},
        {".m.j[*]", "1 2 3 4"},
        {".m.*", "\"v\" [1,2,3,4]"},
        {".m['k','j']", "\"v\" [1,2,3,4]"},
        {".a.l[*].t", "\"x\" \"y\" \"z\""},
        {"..n", "1 2 3"},
        {"..j[0]", "1"},
        {".a.l[?(@.t==\"y\")].n", "2"},
        {".a.l[?(@.t == 'y')].n", "2"},
        {".a.l[?(@.n>=2)].t", "\"y\" \"z\""},
        {".a.l[?(@.n!=2)].t", "\"x\" \"z\""},
        {".a.l[?(@.t<'y')].n", "1"},
        {".a.l[?(@.ok)].n", "2"},
        {".a.l[?(@.ok==true)].n", "2"},
        {".a.l[?(@.u==null)].n", "3"},
        {".a.l[?(@.n=='2')].n", ""},
        {".m.j[?(@>2)]", "3 4"},
        {".nope.x[0]..y", ""},
        {".s.x", ""},
        {".m[0]", ""},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        struct pl_buf out = PL_BUF_INIT;
        struct pl_err err;
        pl_err_clear(&err);
        struct pl_jsonpath *path = pl_jsonpath_parse(pl_slice_z(cases[i].path), &err);
        CHECK_STR(err.message, "");
        REQUIRE(path != NULL);
        CHECK_INT(pl_jsonpath_each(path, pl_doc_root(doc), add, &out, &err), 0);
        if (strcmp(cases[i].want, "all") == 0)
            CHECK(pl_node_is_same(pl_jsonpath_first(path, pl_doc_root(doc)), pl_doc_root(doc)));
        else
            CHECK_STR(pl_buf_z(&out), cases[i].want);
        pl_jsonpath_destroy(path);
        pl_buf_deinit(&out);
    }
    pl_doc_unref(doc);
}

TEST(what_is_no_path_says_where)
{
    static const char *const wrong[] = {".a[",
                                        ".a[]",
                                        ".a[1",
                                        ".a['b]",
                                        ".a[1:2:0]",
                                        ".a[x]",
                                        "..",
                                        ".a..",
                                        ".a.",
                                        ".a[?(@.t==)]",
                                        ".a[?(@.t==x)]",
                                        ".a[?(t)]",
                                        ".a[?(@.t]",
                                        ".a[?@.t]",
                                        ".a b",
                                        ".a}",
                                        "{.a} {.b}",
                                        ".a[1]b",
                                        ".a[0,]",
                                        ".a[1::-1]",
                                        "{.a",
                                        ".a[?(@.n==1.)x]"};
    for (size_t i = 0; i < PL_ARRAY_LEN(wrong); i++) {
        struct pl_err err;
        pl_err_clear(&err);
        struct pl_jsonpath *path = pl_jsonpath_parse(pl_slice_z(wrong[i]), &err);
        if (path != NULL)
            fprintf(stderr, "taken: %s\n", wrong[i]);
        CHECK(path == NULL);
        CHECK_INT(err.code, PL_ESYNTAX);
        pl_jsonpath_destroy(path);
    }
}

TEST(what_is_too_long_or_looks_at_too_much_is_refused)
{
    struct pl_buf text = PL_BUF_INIT;
    struct pl_err err;
    for (int i = 0; i < 65; i++)
        pl_buf_add_z(&text, ".a");
    CHECK(pl_jsonpath_parse(pl_buf_slice(&text), &err) == NULL);
    for (int i = 0; i < 2000; i++)
        pl_buf_add_z(&text, "aa");
    CHECK(pl_jsonpath_parse(pl_buf_slice(&text), &err) == NULL);
    pl_buf_deinit(&text);

    struct pl_buf deep = PL_BUF_INIT;
    for (int i = 0; i < 200; i++)
        pl_buf_add_char(&deep, '[');
    for (int i = 0; i < 200; i++)
        pl_buf_add_char(&deep, ']');
    struct pl_doc *doc = json(pl_buf_z(&deep));
    struct pl_jsonpath *path = pl_jsonpath_parse(pl_slice_z("..*..*..*..*..*"), &err);
    struct pl_buf out = PL_BUF_INIT;
    REQUIRE(path != NULL);
    CHECK_INT(pl_jsonpath_each(path, pl_doc_root(doc), add, &out, &err), PL_ELIMIT);
    pl_jsonpath_destroy(path);
    pl_doc_unref(doc);
    pl_buf_deinit(&deep);
    pl_buf_deinit(&out);
}

TEST_MAIN()
