#include "format/yaml.h"

#include "base/base.h"
#include "support/json.h"

/* All documents as JSON, one a line. */
static void check_slice(struct pl_slice text, const char *want)
{
    struct pl_docs docs = {0};
    struct pl_err err = {.message = ""};
    struct pl_buf got = PL_BUF_INIT;
    char *wanted = json_text(want);
    if (pl_yaml_decode(text, &docs, &err) != 0)
        TEST_FAIL("%.*s: %s", PL_FMT(text), err.message);
    for (size_t i = 0; i < docs.count; i++) {
        if (i != 0)
            pl_buf_add_char(&got, '\n');
        pl_write(&got, pl_doc_root(docs.items[i]), PL_WRITE_COMPACT);
    }
    CHECK_STR(pl_buf_z(&got), wanted);
    pl_buf_deinit(&got);
    pl_docs_deinit(&docs);
    free(wanted);
}

static void check(const char *text, const char *want)
{
    check_slice(pl_slice_z(text), want);
}

TEST(block_and_flow_style_are_read)
{
    check("a: 1\nb:\n- x\n- k: z\n  w: {q: [1, 2]}\n",
          "{'a':1,'b':['x',{'k':'z','w':{'q':[1,2]}}]}");
    check("[]", "[]");
    check("{}", "{}");
    check("a:\nb: ~\n", "{'a':null,'b':null}");
    check("just text", "'just text'");
    check("{a: 1, b}", "{'a':1,'b':null}");
    check("? a\n: 1\n? b\n", "{'a':1,'b':null}");
    check("# a comment\na: 'x #y' # more\nb: \"z\" #\n", "{'a':'x #y','b':'z'}");
}

TEST(scalars_have_the_types_that_kubectl_gives_them)
{
    check("[yes, 'yes', \"no\", off, ~, 0o17, 1_000, .5, 2026-11-21, 1.50]",
          "[true,'yes','no',false,null,15,1000,0.5,'2026-11-21',1.50]");
    check("[!!str 5, !!int \"5\", !!float 3, !!bool yes, !!null '', ! 5, !!binary aGk=]",
          "['5',5,3,true,null,'5','hi']");
    check("[!mine x, !mine [1], !!timestamp 2026-11-21]", "['x',[1],'2026-11-21']");
    check("big: 123456789012345678901234567890\n", "{'big':123456789012345678901234567890}");
}

TEST(keys_become_strings)
{
    check("1: a\n0x10: b\ntrue: c\n'null': d\n1.10: e\n2026-11-21: f\n",
          "{'1':'a','16':'b','true':'c','null':'d','1.10':'e','2026-11-21':'f'}");
    check("on: push\nn: x\n", "{'true':'push','false':'x'}");
}

TEST(strings_of_several_lines_are_kept_or_folded)
{
    check("a: |\n  x\n   y\n\n  z\nb: |-\n  x\nc: |+\n  x\n\nd: >\n  x\n  y\n",
          "{'a':'x\\n y\\n\\nz\\n','b':'x','c':'x\\n\\n','d':'x y\\n'}");
    check("a: \"x\\u00e9\\n\\x41\\0\"\n", "{'a':'x\xc3\xa9\\nA\\u0000'}");
}

TEST(several_documents_are_read_and_empty_ones_left_out)
{
    check("a: 1\n---\n---\n# nothing\n---\nb: 2\n...\n---\n", "{'a':1}\n{'b':2}");
    check("", "");
    check("# nothing\n", "");
    check("---\nnull\n", "null");
    check("\xef\xbb\xbf"
          "a: 1\n",
          "{'a':1}");
    check("%YAML 1.2\n---\na: 1\n", "{'a':1}");
}

TEST(a_byte_order_mark_at_the_beginning_is_no_text)
{
    check("\xef\xbb\xbf"
          "a: 1\nb: 2\n",
          "{'a':1,'b':2}");
    check("\xef\xbb\xbf{\"a\":\"\\ud83d\\ude00\"}", "{'a':'\xf0\x9f\x98\x80'}");
    check("\xef\xbb\xbf", "");
}

TEST(aliases_and_merge_keys_are_followed)
{
    check("a: &x {p: 1, q: [2]}\nb: *x\nc: [*x, *x]\n",
          "{'a':{'p':1,'q':[2]},'b':{'p':1,'q':[2]},'c':[{'p':1,'q':[2]},{'p':1,'q':[2]}]}");
    check("a: &x 1\nb: &x 2\nc: *x\n", "{'a':1,'b':2,'c':2}");
    check("&k a: 1\nb: *k\n", "{'a':1,'b':'a'}");
    check("a: &x {p: 1, q: 2}\nb:\n  <<: *x\n  q: 3\n", "{'a':{'p':1,'q':2},'b':{'q':3,'p':1}}");
    check("b:\n  q: 3\n  <<: {p: 1, q: 2}\n", "{'b':{'q':3,'p':1}}");
    check("b:\n  <<: [{p: 1}, {p: 2, q: 2}]\n", "{'b':{'p':1,'q':2}}");
    check("a: &x {p: 1}\nb: &y {<<: *x, q: 2}\nc: {<<: *y}\n",
          "{'a':{'p':1},'b':{'q':2,'p':1},'c':{'q':2,'p':1}}");
    check("'<<': 1\n", "{'<<':1}");
    check("[<<]", "['<<']");
}

TEST(json_is_read_with_its_surrogate_pairs)
{
    check("{\"a\":\"\\ud83d\\ude00\",\"metadata\":{\"managedFields\":[1]}}",
          "{'a':'\xf0\x9f\x98\x80','metadata':{'managedFields':[1]}}");
    check(" [1,\t2]\n", "[1,2]");
}

static void check_error(const char *text, int code, const char *message)
{
    struct pl_docs docs = {0};
    struct pl_err err = {.message = ""};
    int line = 0;
    CHECK_INT(pl_yaml_decode(pl_slice_z(text), &docs, &err), code);
    CHECK_STR(err.message, message);
    sscanf(message, "line %d", &line);
    CHECK_INT(err.line, line);
    CHECK_INT(docs.count, 0);
}

TEST(what_is_wrong_is_refused_with_its_line)
{
    check_error("a: 1\nb: 2\na: 3\n", PL_ESYNTAX, "line 3: the key \"a\" exists already");
    check_error("1: a\n'1': b\n", PL_ESYNTAX, "line 2: the key \"1\" exists already");
    check_error("{\"a\":1,\"a\":2}", PL_ESYNTAX, "line 1: the key \"a\" exists already");
    check_error("ok: 1\n---\na: [1\nb: 2\n", PL_ESYNTAX,
                "line 4: did not find expected ',' or ']' while parsing a flow sequence");
    check_error("a:\n\tb: 1\n", PL_ESYNTAX,
                "line 2: found character that cannot start any token while scanning for the next "
                "token");
    check_error("? [a]\n: 1\n", PL_ESYNTAX, "line 1: a key must be a scalar");
    check_error("x: 1\n~: 1\n", PL_ESYNTAX, "line 2: a key must not be null");
    check_error("a: *x\n", PL_ESYNTAX, "line 1: the alias has no anchor before it");
    check_error("a: &x [*x]\n", PL_ESYNTAX, "line 1: the alias stands for what it is part of");
    check_error("a: &x {<<: *x}\n", PL_ESYNTAX, "line 1: the alias stands for what it is part of");
    check_error("a: 1\n---\nb: *x\n", PL_ESYNTAX, "line 3: the alias has no anchor before it");
    check_error("<<: 1\n", PL_ESYNTAX, "line 1: \"<<\" takes a mapping or a sequence of mappings");
    check_error("<<: [[]]\n", PL_ESYNTAX,
                "line 1: \"<<\" takes a mapping or a sequence of mappings");
    check_error("a:\n  - .nan\n", PL_ESYNTAX, "line 2: JSON has no infinity and no NaN");
    check_error("!!int x", PL_ESYNTAX, "line 1: the value is not !!int");
    check_error("!!int 1.5", PL_ESYNTAX, "line 1: the value is not !!int");
    check_error("!!bool 1", PL_ESYNTAX, "line 1: the value is not !!bool");
    check_error("!!float x", PL_ESYNTAX, "line 1: the value is not !!float");
    check_error("!!null x", PL_ESYNTAX, "line 1: the value is not !!null");
    check_error("!!binary '*'", PL_ESYNTAX, "line 1: the !!binary value is not base64");
    check_error("!!binary /w==", PL_ESYNTAX,
                "line 1: the !!binary value is not UTF-8, as JSON must be");
    check_error("a: 1\nb: \xff\n", PL_ESYNTAX, "line 2: invalid leading UTF-8 octet");
}

TEST(what_inflates_is_stopped)
{
    struct pl_buf text = PL_BUF_INIT;
    struct pl_docs docs = {0};
    struct pl_err err;
    pl_buf_add_z(&text, "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
    for (int i = 1; i < 9; i++) {
        pl_buf_add_f(&text, "a%d: &a%d [", i, i);
        for (int k = 0; k < 10; k++)
            pl_buf_add_f(&text, "%s*a%d", k ? "," : "", i - 1);
        pl_buf_add_z(&text, "]\n");
    }
    CHECK_INT(pl_yaml_decode(pl_buf_slice(&text), &docs, &err), PL_ELIMIT);

    pl_buf_clear(&text);
    for (int i = 0; i < 600; i++)
        pl_buf_add_char(&text, '[');
    CHECK_INT(pl_yaml_decode(pl_buf_slice(&text), &docs, &err), PL_ELIMIT);

    /* Nesting by aliases: each level is one deeper than the value of its alias. */
    pl_buf_clear(&text);
    pl_buf_add_z(&text, "a0: &a0 []\n");
    for (int i = 1; i < 600; i++)
        pl_buf_add_f(&text, "a%d: &a%d [*a%d]\n", i, i, i - 1);
    CHECK_INT(pl_yaml_decode(pl_buf_slice(&text), &docs, &err), PL_ELIMIT);
    pl_buf_deinit(&text);
}

/* ---- writing ---- */

static void check_encode(const char *text, const char *want)
{
    struct pl_doc *doc = json(text);
    struct pl_buf got = PL_BUF_INIT;
    struct pl_docs docs = {0};
    struct pl_err err = {.message = ""};
    pl_yaml_encode(pl_doc_root(doc), &got);
    if (want != NULL)
        CHECK_STR(pl_buf_z(&got), want);
    if (pl_yaml_decode(pl_buf_slice(&got), &docs, &err) != 0)
        TEST_FAIL("%s: %s", pl_buf_z(&got), err.message);
    else if (docs.count != 1 || !pl_node_equal(pl_doc_root(docs.items[0]), pl_doc_root(doc)))
        TEST_FAIL("%s is read back as something else: %s", text, pl_buf_z(&got));
    pl_docs_deinit(&docs);
    pl_buf_deinit(&got);
    pl_doc_unref(doc);
}

TEST(documents_are_written_as_kubectl_prints_them)
{
    check_encode("{'a':1,'b':{'c':[],'d':{}},'e':[{'f':1,'g':[2,[3,4]]},[5],'x'],'h':null,"
                 "'i':true}",
                 "a: 1\n"
                 "b:\n"
                 "  c: []\n"
                 "  d: {}\n"
                 "e:\n"
                 "- f: 1\n"
                 "  g:\n"
                 "  - 2\n"
                 "  - - 3\n"
                 "    - 4\n"
                 "- - 5\n"
                 "- x\n"
                 "h: null\n"
                 "i: true\n");
    check_encode("[]", "[]\n");
    check_encode("'x'", "x\n");
    check_encode("12345678901234567890.50", "12345678901234567890.50\n");
}

TEST(strings_are_quoted_only_where_they_must)
{
    static const char *const plain[] = {
        "a",     "a b",  "--flag=x", "-x",  "a:b",      "a#b",  "/a/b",   "10.0.0.1",   "10m",
        "1.2.3", "a, b", "it's",     "x=y", "\xc3\xa9", "a[0]", "$(VAR)", "nginx:1.27", "<none>"};
    static const char *const quoted[] = {
        "",         "true",       "yes",   "null",    "~",       "12",      "1.5",     "0x1f",
        "- a",      "-",          "? a",   ": a",     "a: b",    "a:",      "a #b",    "#a",
        "[a",       "{a",         "*a",    "&a",      "!a",      "|",       ">",       "%a",
        "@a",       "`a",         " a",    "a ",      "<<",      "=",       "---",     "...",
        "12:30:45", "2026-11-21", "a\\tb", "\\u0007", "\\ufeff", "\\u0085", "\\u2028", "1_000",
        ".inf",     "on",         "'",     ",a"};
    for (size_t i = 0; i < PL_ARRAY_LEN(plain); i++) {
        char text[64], want[64];
        snprintf(text, sizeof(text), "\"%s\"", plain[i]);
        snprintf(want, sizeof(want), "%s\n", plain[i]);
        struct pl_doc *doc = pl_scan_text(pl_slice_z(text), NULL, NULL);
        struct pl_buf got = PL_BUF_INIT;
        pl_yaml_encode(pl_doc_root(doc), &got);
        CHECK_STR(pl_buf_z(&got), want);
        pl_buf_deinit(&got);
        pl_doc_unref(doc);
        if (strchr(plain[i], '\'') != NULL)
            continue;
        snprintf(text, sizeof(text), "{'k':'%s','%s':['%s']}", plain[i], plain[i], plain[i]);
        check_encode(text, NULL);
    }
    for (size_t i = 0; i < PL_ARRAY_LEN(quoted); i++) {
        char text[64];
        snprintf(text, sizeof(text), "\"%s\"", quoted[i]);
        struct pl_doc *doc = pl_scan_text(pl_slice_z(text), NULL, NULL);
        struct pl_buf got = PL_BUF_INIT;
        pl_yaml_encode(pl_doc_root(doc), &got);
        if (got.ptr[0] != '"')
            TEST_FAIL("%s was written as %s", text, pl_buf_z(&got));
        pl_buf_deinit(&got);
        pl_doc_unref(doc);
        if (strchr(quoted[i], '\'') != NULL)
            continue;
        snprintf(text, sizeof(text), "{'k':'%s','%s':['%s']}", quoted[i], quoted[i], quoted[i]);
        check_encode(text, NULL);
    }
}

TEST(strings_of_several_lines_are_written_as_blocks)
{
    check_encode("{'a':'x\\n y\\n\\nz\\n'}", "a: |\n  x\n   y\n\n  z\n");
    check_encode("{'a':'x\\ny'}", "a: |-\n  x\n  y\n");
    check_encode("{'a':'x\\n\\n\\n','b':1}", "a: |+\n  x\n\n\nb: 1\n");
    check_encode("{'a':'  x\\ny\\n'}", "a: |2\n    x\n  y\n");
    check_encode("{'a':'\\n\\n x\\n'}", "a: |2\n\n\n   x\n");
    check_encode("['x\\ny\\n']", "- |\n  x\n  y\n");
    check_encode("{'a':[['x\\ny\\n',{'b':' x\\ny\\n'}]]}",
                 "a:\n- - |\n    x\n    y\n  - b: |2\n       x\n      y\n");
    check_encode("{'a':'x: y # z\\n- \\t\\n'}", "a: |\n  x: y # z\n  - \t\n");
    check_encode("{'a':'\\n'}", "a: \"\\n\"\n");
    check_encode("{'a':'x\\r\\ny'}", "a: \"x\\r\\ny\"\n");
    check_encode("{'a':'x\\n\\u0007'}", "a: \"x\\n\\x07\"\n");
    check_encode("'x\\ny\\n'", "\"x\\ny\\n\"\n");
    check_encode("{'a\\nb':1}", "\"a\\nb\": 1\n");
    check_encode("{'a':'x  \\n  \\n y'}", NULL);
}

TEST(long_keys_are_written_apart)
{
    struct pl_buf text = PL_BUF_INIT;
    for (int nested = 0; nested < 4; nested++) {
        static const char *const values[] = {"1", "{'x':1}", "[1,[2]]", "'a\\nb\\n'"};
        pl_buf_clear(&text);
        pl_buf_add_z(&text, "{'o':[{'");
        for (int i = 0; i < 2000; i++)
            pl_buf_add_char(&text, 'k');
        pl_buf_add_f(&text, "':%s,'z':1}]}", values[nested]);
        check_encode(pl_buf_z(&text), NULL);
    }
    pl_buf_deinit(&text);
}

TEST_MAIN()
