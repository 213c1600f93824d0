#include "object/selector.h"

#include "base/base.h"
#include "support/json.h"
#include "value/pool.h"
#include "value/scan.h"

#define SIXTY_FOUR "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static void check_text(struct pl_selector *selector, const char *want)
{
    struct pl_buf out = PL_BUF_INIT;
    REQUIRE(selector != NULL);
    pl_selector_text(selector, &out);
    CHECK_STR(pl_buf_z(&out), want);
    CHECK_INT(pl_selector_is_empty(selector), out.len == 0);
    pl_buf_deinit(&out);
    pl_selector_destroy(selector);
}

TEST(selectors_are_written_sorted_by_key)
{
    static const struct {
        const char *text, *canonical;
    } cases[] = {
        {"", ""},
        {"  ", ""},
        {"x=a,y=b,z=c", "x=a,y=b,z=c"},
        {"z=c,  y =b , x= a", "x=a,y=b,z=c"},
        {"x==a", "x==a"},
        {"x!=a", "x!=a"},
        {"x=", "x="},
        {"x= ,y", "x=,y"},
        {"x!=", "x!="},
        {"x", "x"},
        {"!x", "!x"},
        {"! x , a", "a,!x"},
        {"x in (b,a,b)", "x in (a,b)"},
        {"x in(a)", "x in (a)"},
        {"x notin (a,,b)", "x notin (,a,b)"},
        {"x in ()", "x in ()"},
        {"x in (,)", "x in ()"},
        {"x in (a,)", "x in (,a)"},
        {"x in (in,notin)", "x in (in,notin)"},
        {"in", "in"},
        {"notin in (in)", "notin in (in)"},
        {"in=notin", "in=notin"},
        {"x>1", "x>1"},
        {"x<-1", NULL},
        {"x < 9223372036854775807", "x<9223372036854775807"},
        {"\ta\n=\rb", "a=b"},
        {"x=b,x!=a,x", "x=b,x!=a,x"},
        {"example.com/a=b", "example.com/a=b"},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        struct pl_err err;
        struct pl_selector *selector = pl_selector_parse(pl_slice_z(cases[i].text), &err);
        if (cases[i].canonical == NULL) {
            CHECK(selector == NULL);
        } else if (selector == NULL) {
            TEST_FAIL("%s: %s", cases[i].text, err.message);
        } else {
            check_text(selector, cases[i].canonical);
        }
    }
}

TEST(what_is_no_selector_is_refused_where_it_goes_wrong)
{
    static const struct {
        const char *text;
        int64_t offset;
    } bad[] = {
        {",", 0},         {"x,", 2},          {"x,,y", 2},
        {"x=a,", 4},      {"x=a b", 4},       {"x a", 2},
        {"=a", 0},        {"!", 1},           {"!!x", 1},
        {"!x=a", 2},      {"x=!a", 2},        {"x===a", 3},
        {"x in", 4},      {"x in a", 5},      {"x in (", 6},
        {"x in (a", 7},   {"x in (a b)", 8},  {"x in (a=b)", 7},
        {"x in (a))", 8}, {"(x)", 0},         {"x>", 2},
        {"x>a", 2},       {"x>1.5", 2},       {"x<9223372036854775808", 2},
        {"x> 1,y<z", 7},  {"-x", 0},          {"a, b/c/d", 3},
        {"x=-a", 2},      {"x in (a,-b)", 8}, {"x=" SIXTY_FOUR, 2},
        {SIXTY_FOUR, 0},  {"x=a/b", 2},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(bad); i++) {
        struct pl_err err;
        struct pl_selector *selector = pl_selector_parse(pl_slice_z(bad[i].text), &err);
        if (selector != NULL)
            TEST_FAIL("\"%s\" was taken", bad[i].text);
        else if ((err.code != PL_EINVAL && err.code != PL_ESYNTAX) || err.offset != bad[i].offset)
            TEST_FAIL("%s: %s at %" PRId64, bad[i].text, err.message, err.offset);
        pl_selector_destroy(selector);
    }
    CHECK(pl_selector_parse(pl_slice("x=a\0b", 5), NULL) == NULL);
}

TEST(requirements_match_labels)
{
    static const struct {
        const char *selector, *labels;
        bool matches;
    } cases[] = {
        {"", "{}", true},
        {"", NULL, true},
        {"a=b", "{'a':'b','c':'d'}", true},
        {"a=b", "{'a':'c'}", false},
        {"a=b", NULL, false},
        {"a=", "{'a':''}", true},
        {"a=", "{}", false},
        {"a!=b", "{'a':'c'}", true},
        {"a!=b", "{'a':'b'}", false},
        {"a!=b", NULL, true},
        {"a", "{'a':''}", true},
        {"a", "{'b':''}", false},
        {"!a", "{'b':''}", true},
        {"!a", "{'a':''}", false},
        {"a in (x,y,z)", "{'a':'y'}", true},
        {"a in (x,y,z)", "{'a':'w'}", false},
        {"a in (x,y,z)", "{}", false},
        {"a notin (x,y,z)", "{'a':'y'}", false},
        {"a notin (x,y,z)", "{'a':'w'}", true},
        {"a notin (x,y,z)", "{}", true},
        {"a in (,x)", "{'a':''}", true},
        {"a>5", "{'a':'6'}", true},
        {"a>5", "{'a':'5'}", false},
        {"a>5", "{'a':'x'}", false},
        {"a>5", "{}", false},
        {"a<5", "{'a':'4'}", true},
        {"a<5", "{'a':'007'}", false},
        {"a=b,c=d", "{'a':'b','c':'d'}", true},
        {"a=b,c=d", "{'a':'b','c':'e'}", false},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        struct pl_selector *selector = pl_selector_parse(pl_slice_z(cases[i].selector), NULL);
        struct pl_doc *labels = cases[i].labels ? json(cases[i].labels) : NULL;
        REQUIRE(selector != NULL);
        if (pl_selector_matches(selector, pl_doc_root(labels)) != cases[i].matches)
            TEST_FAIL("%s on %s", cases[i].selector, cases[i].labels);
        pl_selector_destroy(selector);
        pl_doc_unref(labels);
    }
}

/* Pods of one template list the same names; each has two like it, so that the pool has their shape.
 */
static struct pl_doc *labelled(struct pl_pool *pool, int uid)
{
    static const char *const labels[] = {
        "'a':'1','b':'x'", "'b':'x','a':'3'", "'c':'1'", "'c':'2'", "", "'a':'3'"};
    static const char *const forms[][2] = {{"{'metadata':{'uid':'", "}}}"},
                                           {"{'kind':'Pod','metadata':{'name':'x','uid':'", "}}}"},
                                           {"{'spec':{'uid':'", "}}}"}};
    const char *const *form = forms[uid / 6 % 3];
    char text[200];
    snprintf(text, sizeof text, "%s%d','labels':{%s%s", form[0], uid, labels[uid % 6], form[1]);
    for (char *at = text; *at != '\0'; at++)
        *at = *at == '\'' ? '"' : *at;
    struct pl_scan_options options = {.pool = pool};
    struct pl_doc *doc = pl_scan_text(pl_slice_z(text), &options, NULL);
    REQUIRE(doc != NULL);
    return doc;
}

TEST(a_scan_finds_what_a_look_at_each_finds)
{
    static const char *const texts[] = {"a=3", "b=x,a!=1", "!c", "c in (1,2)", "a,!b"};
    struct pl_pool *pool = pl_pool_create();
    struct pl_doc *docs[120];
    for (int i = 0; i < 120; i++)
        docs[i] = labelled(pool, i * 7 % 120);
    for (size_t k = 0; k < PL_ARRAY_LEN(texts); k++) {
        struct pl_selector *selector = pl_selector_parse(pl_slice_z(texts[k]), NULL);
        REQUIRE(selector != NULL);
        struct pl_hint *hints = calloc(pl_selector_hints(selector), sizeof *hints);
        int found = 0;
        for (int i = 0; i < 120; i++) {
            struct pl_node object = pl_doc_root(docs[i]);
            bool matches = pl_selector_matches(selector, pl_node_dig(object, "metadata", "labels"));
            found += matches;
            if (pl_selector_scans(selector, object, hints) != matches)
                TEST_FAIL("%s: object %d", texts[k], i);
        }
        CHECK(found > 0 && found < 120);
        free(hints);
        pl_selector_destroy(selector);
    }
    for (int i = 0; i < 120; i++)
        pl_doc_unref(docs[i]);
    pl_pool_collect(pool);
    pl_pool_destroy(pool);
}

static struct pl_selector *from_node(const char *text, struct pl_err *err)
{
    struct pl_doc *doc = json(text);
    struct pl_selector *selector = pl_selector_from_node(pl_doc_root(doc), err);
    pl_doc_unref(doc);
    return selector;
}

TEST(labels_asked_for_by_a_single_value_are_told)
{
    struct pl_selector *selector = pl_selector_parse(
        pl_slice_z("e in (x),a=1,b==2,c in (3,4),!d,f,g!=5,h notin (6),i>7"), NULL);
    REQUIRE(selector != NULL);
    struct pl_buf told = PL_BUF_INIT;
    size_t at = 0;
    struct pl_slice key, value;
    while (pl_selector_single(selector, &at, &key, &value))
        pl_buf_add_f(&told, "%.*s=%.*s;", PL_FMT(key), PL_FMT(value));
    CHECK_STR(pl_buf_z(&told), "a=1;b=2;e=x;");
    pl_buf_deinit(&told);
    pl_selector_destroy(selector);
}

TEST(label_selectors_of_documents_are_read)
{
    check_text(from_node("{}", NULL), "");
    check_text(from_node("{'matchLabels':null,'matchExpressions':null}", NULL), "");
    check_text(from_node("{'matchLabels':{'b':'1','a':''}}", NULL), "a=,b=1");
    check_text(from_node("{'matchLabels':{'b':'1'},'matchExpressions':["
                         "{'key':'c','operator':'In','values':['y','x']},"
                         "{'key':'d','operator':'NotIn','values':['z']},"
                         "{'key':'e','operator':'Exists'},"
                         "{'key':'a','operator':'DoesNotExist','values':[]}]}",
                         NULL),
               "!a,b=1,c in (x,y),d notin (z),e");
}

TEST(label_selectors_that_are_none_say_why)
{
    static const struct {
        const char *text, *why;
    } bad[] = {
        {"[]", "must be an object, not array"},
        {"{'app':'x'}", "not \"app\""},
        {"{'matchLabels':[]}", "must be an object, not array"},
        {"{'matchLabels':{'a':1}}", "label \"a\" must be a string, not number"},
        {"{'matchLabels':{'-':'1'}}", "not a label key"},
        {"{'matchLabels':{'a':'-'}}", "not a label value"},
        {"{'matchExpressions':{}}", "must be an array"},
        {"{'matchExpressions':[1]}", "matchExpressions[0]"},
        {"{'matchExpressions':[{'key':'a','operator':'Gt','values':['1']}]}", "is In, NotIn"},
        {"{'matchExpressions':[{'key':'a','operator':'In'}]}", "need values"},
        {"{'matchExpressions':[{'key':'a','operator':'Exists','values':['x']}]}", "take no values"},
        {"{'matchExpressions':[{'key':'a','operator':'In','values':'x'}]}", "must be an array"},
        {"{'matchExpressions':[{'key':'a','operator':'In','values':[1]}]}", "values[0]"},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(bad); i++) {
        struct pl_err err;
        struct pl_selector *selector = from_node(bad[i].text, &err);
        if (selector != NULL)
            TEST_FAIL("%s was taken", bad[i].text);
        else if (strstr(err.message, bad[i].why) == NULL)
            TEST_FAIL("%s: %s", bad[i].text, err.message);
        pl_selector_destroy(selector);
    }
}

TEST(a_plain_map_is_a_selector_too)
{
    struct pl_doc *doc = json("{'tier':'db','app':'web'}");
    check_text(pl_selector_from_map(pl_doc_root(doc), NULL), "app=web,tier=db");
    pl_doc_unref(doc);
    doc = json("{'tier':null}");
    CHECK(pl_selector_from_map(pl_doc_root(doc), NULL) == NULL);
    pl_doc_unref(doc);
}

TEST_MAIN()
