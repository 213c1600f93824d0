/* Expressions compared with the results of Kubernetes 1.37's own implementation: values, errors,
 * expressions that its compiler refuses, and estimated costs (spec/data/cel). Each expression sees
 * `self`, the object, with the types of the schema. */
#include "cel/cel.h"

#include "cel/ast.h"
#include "cel/type.h"
#include "cel/value.h"

#include "base/alloc.h"
#include "support/test.h"
#include "value/scan.h"

#include <stdio.h>

struct world {
    struct pl_arena arena;
    struct pl_doc *schema, *object;
    struct pl_cel_var self;
    struct pl_tree *tree;
};

static struct pl_buf read_file(const char *path)
{
    struct pl_buf text = PL_BUF_INIT;
    FILE *file = fopen(path, "re");
    REQUIRE(file != NULL);
    char chunk[4096];
    for (size_t got; (got = fread(chunk, 1, sizeof chunk, file)) > 0;)
        pl_buf_add(&text, chunk, got);
    fclose(file);
    return text;
}

static struct pl_doc *decode(struct pl_slice text)
{
    struct pl_doc *doc =
        pl_scan_text(text, &(struct pl_scan_options){.keep_managed_fields = true}, NULL);
    REQUIRE(doc != NULL);
    return doc;
}

static struct pl_doc *read_json(const char *path)
{
    struct pl_buf text = read_file(path);
    struct pl_doc *doc = decode(pl_buf_slice(&text));
    pl_buf_deinit(&text);
    return doc;
}

static void open_world(struct world *w)
{
    *w = (struct world){.schema = read_json("spec/data/cel/schema.json"),
                        .object = read_json("spec/data/cel/object.json")};
    w->self.name = "self";
    w->self.type = pl_cel_type_from_schema(&w->arena, pl_doc_root(w->schema), true);
    w->tree = pl_tree_from_node(&w->arena, pl_doc_root(w->object));
    REQUIRE(w->self.type != NULL);
}

static void close_world(struct world *w)
{
    pl_arena_deinit(&w->arena);
    pl_doc_unref(w->schema);
    pl_doc_unref(w->object);
}

static struct pl_cel_program *compile(struct world *w, const char *before, struct pl_slice text,
                                      const char *after, struct pl_buf *why)
{
    struct pl_buf whole = PL_BUF_INIT;
    pl_buf_add_z(&whole, before);
    pl_buf_add_slice(&whole, text);
    pl_buf_add_z(&whole, after);
    struct pl_cel_program *program = pl_cel_compile(pl_buf_slice(&whole), &w->self, 1, why);
    pl_buf_deinit(&whole);
    return program;
}

static void check_value(struct world *w, struct pl_slice text, struct pl_node want)
{
    struct pl_buf why = PL_BUF_INIT;
    struct pl_arena arena = {0};
    struct pl_scratch scratch;
    uint64_t cost = 0;
    struct pl_cel_program *program = compile(w, "'%s'.format([", text, "])", &why);
    if (program == NULL) {
        TEST_FAIL("%.*s: %s", PL_FMT(text), pl_buf_z(&why));
    } else {
        struct pl_cel self = pl_cel_from_tree(&arena, w->tree, w->self.type);
        struct pl_cel got = pl_cel_evaluate(program, &arena, &self, PL_CEL_CALL_LIMIT, &cost);
        struct pl_node error = pl_node_getz(want, "error");
        bool is_fine =
            pl_cel_is_error(got) != pl_node_is_missing(error) &&
            pl_slice_eq(got.s,
                        pl_node_str(pl_node_is_missing(error) ? pl_node_getz(want, "value") : error,
                                    &scratch));
        if (!is_fine)
            TEST_FAIL("%.*s: got %s%.*s", PL_FMT(text), pl_cel_is_error(got) ? "error: " : "",
                      PL_FMT(got.s));
    }
    pl_cel_program_destroy(program);
    pl_arena_deinit(&arena);
    pl_buf_deinit(&why);
}

static void check_refused(struct world *w, struct pl_slice text, struct pl_node refused)
{
    struct pl_scratch scratch;
    struct pl_buf why = PL_BUF_INIT;
    struct pl_cel_program *program = compile(w, "type(", text, ") != string || true", &why);
    struct pl_slice part = pl_node_str(refused, &scratch);
    if (program != NULL || memmem(pl_buf_z(&why), why.len, part.ptr, part.len) == NULL)
        TEST_FAIL("%.*s: %s, want %.*s", PL_FMT(text), pl_buf_z(&why), PL_FMT(part));
    pl_cel_program_destroy(program);
    pl_buf_deinit(&why);
}

static void check_cost(struct world *w, struct pl_slice text, int64_t want)
{
    struct pl_buf why = PL_BUF_INIT;
    struct pl_cel_program *program = compile(w, "type(", text, ") != string || true", &why);
    if (program == NULL || pl_cel_program_cost(program) != (uint64_t)want)
        TEST_FAIL("%.*s: costs %" PRIu64 ", want %" PRId64 " %s", PL_FMT(text),
                  program != NULL ? pl_cel_program_cost(program) : 0, want, pl_buf_z(&why));
    pl_cel_program_destroy(program);
    pl_buf_deinit(&why);
}

TEST(expressions_are_what_kubernetes_makes_of_them)
{
    struct world w;
    size_t count = 0;
    open_world(&w);
    struct pl_buf lines = read_file("spec/data/cel/expressions.jsonl");
    for (const char *line = pl_buf_z(&lines), *end; (end = strchr(line, '\n')) != NULL;
         line = end + 1, count++) {
        struct pl_doc *doc = decode(pl_slice(line, (size_t)(end - line)));
        struct pl_node one = pl_doc_root(doc);
        struct pl_scratch scratch;
        int64_t cost;
        struct pl_slice text = pl_node_str(pl_node_getz(one, "e"), &scratch);
        struct pl_node refused = pl_node_getz(one, "refused");
        if (!pl_node_is_missing(refused))
            check_refused(&w, text, refused);
        else
            check_value(&w, text, one);
        if (pl_node_int(pl_node_getz(one, "cost"), &cost))
            check_cost(&w, text, cost);
        pl_doc_unref(doc);
    }
    CHECK(count > 200);
    pl_buf_deinit(&lines);
    close_world(&w);
}

/* ---- limits ---- */

static void check_over(struct world *w, const char *text)
{
    struct pl_buf why = PL_BUF_INIT;
    struct pl_arena arena = {0};
    uint64_t cost = 0;
    struct pl_cel_program *program = compile(w, "", pl_slice_z(text), "", &why);
    REQUIRE(program != NULL);
    struct pl_cel self = pl_cel_from_tree(&arena, w->tree, w->self.type);
    struct pl_cel got = pl_cel_evaluate(program, &arena, &self, 100000, &cost);
    CHECK(pl_cel_is_error(got));
    CHECK_SLICE(got.s, PL_CEL_OVER_LIMIT);
    pl_cel_program_destroy(program);
    pl_arena_deinit(&arena);
    pl_buf_deinit(&why);
}

TEST(what_costs_too_much_ends)
{
    struct world w;
    open_world(&w);
    check_over(&w, "lists.range(1000).all(a, lists.range(1000).all(b, a != b || a == b))");
    check_over(&w, "lists.range(5000).map(a, 'aaaaaaaaaaaaaaaaaaaa').join('x').contains('b') || "
                   "lists.range(20000).exists(a, a < 0)");
    check_over(&w, "lists.range(90000).all(a, true) || true");
    close_world(&w);
}

/* ---- long lists ---- */

/* A schema with such lists as `a` and `b`, and an object whose `b` has the elements of `a` in
 * another order. element: with %d for its number. */
static void open_lists(struct world *w, const char *type, const char *element, int count)
{
    struct pl_buf schema = PL_BUF_INIT, object = PL_BUF_INIT;
    pl_buf_add_f(&schema,
                 "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"array\",%s},"
                 "\"b\":{\"type\":\"array\",%s}}}",
                 type, type);
    for (int list = 0; list < 2; list++) {
        pl_buf_add_z(&object, list == 0 ? "{\"a\":[" : "],\"b\":[");
        for (int i = 0; i < count; i++) {
            pl_buf_add_z(&object, i > 0 ? "," : "");
            int number = list == 0 ? i : count - 1 - i;
            for (const char *at = element; *at != '\0'; at++)
                if (*at == '#')
                    pl_buf_add_f(&object, "%d", number);
                else
                    pl_buf_add_char(&object, *at);
        }
    }
    pl_buf_add_z(&object, "]}");
    *w = (struct world){.schema = decode(pl_buf_slice(&schema)),
                        .object = decode(pl_buf_slice(&object))};
    w->self.name = "self";
    w->self.type = pl_cel_type_from_schema(&w->arena, pl_doc_root(w->schema), true);
    w->tree = pl_tree_from_node(&w->arena, pl_doc_root(w->object));
    REQUIRE(w->self.type != NULL);
    pl_buf_deinit(&schema);
    pl_buf_deinit(&object);
}

static void check_true(struct world *w, const char *text)
{
    struct pl_buf why = PL_BUF_INIT;
    struct pl_arena arena = {0};
    uint64_t cost = 0;
    struct pl_cel_program *program = compile(w, "", pl_slice_z(text), "", &why);
    REQUIRE(program != NULL);
    struct pl_cel self = pl_cel_from_tree(&arena, w->tree, w->self.type);
    struct pl_cel got = pl_cel_evaluate(program, &arena, &self, PL_CEL_CALL_LIMIT, &cost);
    if (got.kind != PL_CEL_BOOL || !got.b)
        TEST_FAIL("%s: %.*s", text, PL_FMT(got.s));
    pl_cel_program_destroy(program);
    pl_arena_deinit(&arena);
    pl_buf_deinit(&why);
}

#define SET_OF_TEXTS "\"x-kubernetes-list-type\":\"set\",\"items\":{\"type\":\"string\"}"
#define MAP_LIST                                                                                   \
    "\"x-kubernetes-list-type\":\"map\",\"x-kubernetes-list-map-keys\":[\"k\",\"n\"],"             \
    "\"items\":{\"type\":\"object\",\"properties\":{\"k\":{\"type\":\"string\"},\"n\":{\"type\":"  \
    "\"integer\"},\"v\":{\"type\":\"array\",\"items\":{\"type\":\"number\"}}}}"

TEST(long_sets_are_compared_and_united_without_comparing_all_pairs)
{
    struct world w;
    open_lists(&w, SET_OF_TEXTS, "\"text-#\"", 100000);
    check_true(&w, "self.a == self.b");
    check_true(&w, "(self.a + self.b).size() == 100000");
    check_true(&w, "self.a != self.b + ['x']");
    close_world(&w);
}

TEST(long_map_lists_are_compared_and_united_by_their_keys)
{
    struct world w;
    open_lists(&w, MAP_LIST, "{\"k\":\"same\",\"n\":#,\"v\":[#,0.5]}", 20000);
    check_true(&w, "dyn(self.a) == dyn(self.b)");
    check_true(&w, "size(dyn(self.a) + dyn(self.b)) == 20000");
    check_true(&w, "dyn(self.a) != dyn(self.b.filter(x, x.n != 7))");
    close_world(&w);
}

TEST(what_is_too_deep_is_refused)
{
    struct world w;
    struct pl_buf text = PL_BUF_INIT, why = PL_BUF_INIT;
    open_world(&w);
    for (int i = 0; i < 1000; i++)
        pl_buf_add_z(&text, "(");
    CHECK(compile(&w, "", pl_buf_slice(&text), "1", &why) == NULL);
    pl_buf_clear(&text);
    for (int i = 0; i < 5000; i++)
        pl_buf_add_z(&text, "1+");
    CHECK(compile(&w, "", pl_buf_slice(&text), "1", &why) == NULL);
    CHECK(strstr(pl_buf_z(&why), "recursion limit") != NULL);
    pl_buf_clear(&text);
    for (int i = 0; i < 3000; i++) /* conditions have no limit on their length */
        pl_buf_add_z(&text, "true && ");
    struct pl_cel_program *program = compile(&w, "", pl_buf_slice(&text), "true", &why);
    CHECK(program != NULL);
    pl_cel_program_destroy(program);
    pl_buf_deinit(&text);
    pl_buf_deinit(&why);
    close_world(&w);
}

TEST(variables_that_are_not_named_are_known)
{
    struct pl_buf why = PL_BUF_INIT;
    const struct pl_cel_var vars[] = {{"self", NULL}, {"oldSelf", NULL}};
    struct pl_cel_program *program =
        pl_cel_compile(pl_slice_z("self.all(oldSelf, oldSelf > 1)"), vars, 2, &why);
    REQUIRE(program != NULL);
    CHECK(pl_cel_program_uses(program, 0));
    CHECK(!pl_cel_program_uses(program, 1)); /* that of the loop is a different one */
    CHECK_INT(pl_cel_program_type(program)->kind, PL_CEL_BOOL);
    pl_cel_program_destroy(program);
    pl_buf_deinit(&why);
}

/* How many calls of matches() have a compiled pattern in the program. */
static int kept_patterns(const struct pl_cel_expr *e)
{
    int kept = e->call.regex != NULL ? 1 : 0;
    for (size_t i = 0; pl_slice_eqz(e->call.name, "_||_") && i < e->call.count; i++)
        kept += kept_patterns(e->call.args[i]);
    return kept;
}

/* "self.matches('^(?:0){REPEAT}$') || self.matches('^(?:1){REPEAT}$') || ..." */
static bool matches_one(const char *self, int patterns, int repeat, int *kept)
{
    struct pl_buf text = PL_BUF_INIT, why = PL_BUF_INIT;
    struct pl_cel_var var = {"self", pl_cel_type_of(PL_CEL_STRING)};
    struct pl_arena arena = {0};
    for (int i = 0; i < patterns; i++)
        pl_buf_add_f(&text, "%sself.matches('^(?:<%d>){%d}$')", i > 0 ? " || " : "", i, repeat);
    struct pl_cel_program *program = pl_cel_compile(pl_buf_slice(&text), &var, 1, &why);
    REQUIRE(program != NULL);
    *kept = kept_patterns(program->root);
    struct pl_cel value = pl_cel_string(pl_slice_z(self));
    uint64_t cost = 0;
    struct pl_cel result = pl_cel_evaluate(program, &arena, &value, UINT64_MAX, &cost);
    CHECK_INT(result.kind, PL_CEL_BOOL);
    pl_cel_program_destroy(program);
    pl_arena_deinit(&arena);
    pl_buf_deinit(&text);
    pl_buf_deinit(&why);
    return result.b;
}

TEST(a_program_keeps_the_compiled_patterns_of_its_literals)
{
    int kept;
    CHECK(matches_one("<2>", 3, 1, &kept));
    CHECK_INT(kept, 3);
    CHECK(!matches_one("<3>", 3, 1, &kept));
}

TEST(patterns_beyond_the_limit_are_compiled_when_they_are_needed)
{
    enum { MANY = 400, REPEAT = 900 };
    int kept;
    struct pl_buf last = PL_BUF_INIT;
    for (int i = 0; i < REPEAT; i++)
        pl_buf_add_f(&last, "<%d>", MANY - 1);
    CHECK(matches_one(pl_buf_z(&last), MANY, REPEAT, &kept));
    CHECK(kept > 0 && kept < MANY);
    CHECK(!matches_one("<0>", MANY, REPEAT, &kept));
    pl_buf_deinit(&last);
}

TEST_MAIN()
