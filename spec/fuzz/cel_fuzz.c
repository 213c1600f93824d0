/* Expressions from arbitrary text: compiled, estimated and evaluated on an object. The result is an
 * answer or an error, within its limit; an answer is made a document. */
#include "cel/authz.h"
#include "cel/cel.h"

#include "base/check.h"
#include "value/scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char object[] = "{\"n\":3,\"d\":1.5,\"s\":\"h\\u00e9llo\",\"list\":[\"a\",\"bb\"],"
                             "\"m\":{\"k\":[1,{\"x\":null}]}}";

static struct pl_cel_decision refuse(void *arg, const struct pl_cel_check *check,
                                     struct pl_slice verb)
{
    PL_REQUIRE(arg == NULL && (check->path.len > 0) != (check->resource.len > 0));
    return (struct pl_cel_decision){.reason = verb};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct pl_cel_type authorizer = {.kind = PL_CEL_AUTHORIZER};
    static const struct pl_cel_authorizer by = {.decide = refuse};
    struct pl_buf why = PL_BUF_INIT;
    const struct pl_cel_var vars[] = {{"self", NULL}, {"authorizer", &authorizer}};
    struct pl_cel_program *program =
        pl_cel_compile_patch(pl_slice((const char *)data, size), vars, 2, &why);
    PL_REQUIRE((program == NULL) == (why.len > 0));
    if (program != NULL) {
        struct pl_arena arena = {0};
        uint64_t cost = 0;
        struct pl_doc *doc = pl_scan_text(pl_slice_z(object), &(struct pl_scan_options){0}, NULL);
        const struct pl_cel values[] = {
            pl_cel_from_tree(&arena, pl_tree_from_node(&arena, pl_doc_root(doc)), NULL),
            pl_cel_authorizer_value(&arena, &by)};
        struct pl_cel error, result = pl_cel_evaluate(program, &arena, values, 400000, &cost);
        if (!pl_cel_is_error(result) &&
            pl_cel_to_tree(&arena, result, PL_CEL_AS_JSON, &error) == NULL)
            PL_REQUIRE(pl_cel_is_error(error));
        pl_arena_deinit(&arena);
        pl_doc_unref(doc);
    }
    pl_cel_program_destroy(program);
    pl_buf_deinit(&why);
    return 0;
}
