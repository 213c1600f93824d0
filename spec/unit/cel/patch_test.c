/* Expressions that change objects: the types Object and JSONPatch, and their values as documents.
 * Messages were checked against kube-apiserver 1.37. */
#include "cel/cel.h"

#include "base/alloc.h"
#include "support/json.h"

#include <stdlib.h>

static const struct pl_cel_var no_vars[] = {{"object", NULL}};

/* The value of the expression as a document, or the error. object: the variable, may be NULL; type:
 * its type in the expression. */
static void check_as(const char *text, enum pl_cel_document form, const char *object,
                     const struct pl_cel_type *type, const char *want)
{
    struct pl_arena arena = {0};
    struct pl_buf out = PL_BUF_INIT;
    uint64_t cost = 0;
    struct pl_cel value = pl_cel_null(), error = pl_cel_null();
    if (object != NULL)
        value = pl_cel_from_tree(&arena, pl_tree_literal(&arena, object), type);
    struct pl_cel_program *program = pl_cel_compile_patch(pl_slice_z(text), no_vars, 1, &out);
    if (program != NULL) {
        struct pl_cel made = pl_cel_evaluate(program, &arena, &value, PL_CEL_CALL_LIMIT, &cost);
        struct pl_tree *tree =
            pl_cel_is_error(made) ? NULL : pl_cel_to_tree(&arena, made, form, &error);
        if (tree != NULL)
            pl_tree_write(&out, tree);
        else
            pl_buf_add_slice(&out, pl_cel_is_error(made) ? made.s : error.s);
    }
    CHECK_STR(pl_buf_z(&out), want);
    pl_cel_program_destroy(program);
    pl_buf_deinit(&out);
    pl_arena_deinit(&arena);
}

static void check(const char *text, const char *want)
{
    check_as(text, PL_CEL_AS_OBJECT, NULL, NULL, want);
}

static void check_type(const char *text, const char *want)
{
    struct pl_buf out = PL_BUF_INIT;
    struct pl_cel_program *program = pl_cel_compile_patch(pl_slice_z(text), no_vars, 1, &out);
    REQUIRE(program != NULL);
    pl_cel_type_write(&out, pl_cel_program_type(program));
    CHECK_STR(pl_buf_z(&out), want);
    pl_cel_program_destroy(program);
    pl_buf_deinit(&out);
}

static void check_names(const char *text, const char *want)
{
    struct pl_arena arena = {0};
    struct pl_buf why = PL_BUF_INIT;
    uint64_t cost = 0;
    struct pl_cel object = pl_cel_null();
    struct pl_cel_program *program = pl_cel_compile_patch(pl_slice_z(text), no_vars, 1, &why);
    REQUIRE(program != NULL);
    struct pl_cel made = pl_cel_evaluate(program, &arena, &object, PL_CEL_CALL_LIMIT, &cost);
    CHECK(pl_cel_names_fit(&arena, made, &why) == (want[0] == '\0'));
    CHECK_STR(pl_buf_z(&why), want);
    pl_cel_program_destroy(program);
    pl_buf_deinit(&why);
    pl_arena_deinit(&arena);
}

TEST(objects_become_documents)
{
    check("Object{}", "{}");
    check("Object{spec: Object.spec{replicas: 1 + 2, list: ['a'], map: {'b': true}}}",
          "{\"spec\":{\"replicas\":3,\"list\":[\"a\"],\"map\":{\"b\":true}}}");
    check("Object{?a: optional.none(), ?b: optional.of(1), c: null, d: 1.5, e: b'x'}",
          "{\"b\":1,\"c\":null,\"d\":1.5,\"e\":\"eA==\"}");
    check("Object{a: 9007199254740993, b: 3.0, c: 7u}", "{\"a\":9007199254740993,\"b\":3,\"c\":7}");
}

TEST(values_of_json_patches)
{
    check_as("[JSONPatch{op: 'add', path: '/a/' + jsonpatch.escapeKey('b/c~d'), value: "
             "Object.a{x: 1}}]",
             PL_CEL_AS_JSON, NULL, NULL,
             "[{\"op\":\"add\",\"path\":\"/a/b~1c~0d\",\"value\":{\"x\":1}}]");
    check_as("[9007199254740993]", PL_CEL_AS_JSON, NULL, NULL, "[\"9007199254740993\"]");
    check_as("type(1)", PL_CEL_AS_JSON, NULL, NULL,
             "type conversion error from 'type' to '*structpb.Value'");
    check_as("{1: 2}", PL_CEL_AS_JSON, NULL, NULL,
             "type conversion error from 'map(dyn, dyn)' to '*structpb.Value'");
}

TEST(go_structures_are_no_values_of_json_patches)
{
    const char *object = "{\"labels\":{\"a\":\"b\"},\"list\":[\"x\",\"y\"]}";
    const struct pl_cel_type *go = pl_cel_type_of_go();
    check_as("object.labels", PL_CEL_AS_JSON, object, NULL, "{\"a\":\"b\"}");
    check_as("object.labels", PL_CEL_AS_OBJECT, object, go, "{\"a\":\"b\"}");
    check_as("object.labels", PL_CEL_AS_JSON, object, go,
             "type conversion error from 'map(dyn, dyn)' to '*structpb.Value'");
    check_as("object.list", PL_CEL_AS_JSON, object, go,
             "type conversion error from 'list(dyn)' to '*structpb.Value'");
    check_as("object.labels.a", PL_CEL_AS_JSON, object, go, "\"b\"");
    check_as("object.list.filter(x, x != 'y')", PL_CEL_AS_JSON, object, go, "[\"x\"]");
}

TEST(types_of_expressions)
{
    check_type("Object{a: 1}", "Object");
    check_type("Object.spec.x{a: 1}", "Object.spec.x");
    check_type("true ? [] : [JSONPatch{op: 'add'}]", "list(JSONPatch)");
    check_type("true ? [JSONPatch{op: 'add'}] : []", "list(JSONPatch)");
    check_type("[]", "list(dyn)");
    check_type("[1].map(x, JSONPatch{op: string(x)})", "list(JSONPatch)");
    check_type("Object{a: 1}.a", "dyn");
}

TEST(mistakes_are_found_before_anything_runs)
{
    check("Thing{a: 1}", "ERROR: <input>:1:6: undeclared reference to 'Thing' (in container '')\n"
                         " | Thing{a: 1}\n | .....^");
    check("JSONPatch{x: 1}", "ERROR: <input>:1:12: expected type of field 'x' is '' but provided "
                             "type is 'int'\n | JSONPatch{x: 1}\n | ...........^");
    check("JSONPatch{op: 1}", "ERROR: <input>:1:13: expected type of field 'op' is 'string' but "
                              "provided type is 'int'\n | JSONPatch{op: 1}\n | ............^");
    struct pl_buf why = PL_BUF_INIT;
    CHECK(pl_cel_compile(pl_slice_z("Object{}"), no_vars, 1, &why) == NULL);
    CHECK(pl_cel_compile(pl_slice_z("jsonpatch.escapeKey('a')"), no_vars, 1, &why) == NULL);
    pl_buf_deinit(&why);
}

TEST(malformed_objects_are_refused)
{
    static const char *const texts[] = {
        "Object{",        "Object{a}", "Object{a: }",     "1{a: 1}",      "Object{a: 1 b}",
        "Object{'a': 1}", "f(1){}",    "Object{a: 1,, }", "Object{?: 1}", "[1]{a: 1}"};
    for (size_t i = 0; i < PL_ARRAY_LEN(texts); i++) {
        struct pl_buf why = PL_BUF_INIT;
        CHECK(pl_cel_compile_patch(pl_slice_z(texts[i]), no_vars, 1, &why) == NULL);
        CHECK(why.len > 0);
        pl_buf_deinit(&why);
    }
}

TEST(types_are_named_after_their_place)
{
    check_names("Object{spec: Object.spec{a: [Object.spec.a{b: 1}]}}", "");
    check_names("Object.spec.x{y: Object.spec.x.y{}}", "");
    check_names("Object{spec: Object.status{}}",
                "unexpected type name \"Object.status\", expected \"Object.spec\", which matches "
                "field name path from root Object type");
    check_names("Object{a: [Object.b{}]}",
                "unexpected type name \"Object.b\", expected \"Object.a\", which matches field "
                "name path from root Object type");
}

TEST_MAIN()
