/* JSON patches in kube-apiserver's way: Go reads the operations as structures first, and some that
 * RFC 6902 allows are refused. */
#include "apiserver/patch_operations.h"

#include "object/patch.h"

/* ---- reading ---- */

static const char operation_members[][8] = {"op", "from", "path", "value"};

static void note_unknown(struct pl_api_ctx *ctx, size_t index, struct pl_slice member)
{
    for (size_t i = 0; i < PL_ARRAY_LEN(operation_members); i++)
        if (pl_slice_eqz(member, operation_members[i]))
            return;
    if (ctx->strict == NULL)
        ctx->strict = pl_tree_array(&ctx->arena);
    pl_tree_push(
        &ctx->arena, ctx->strict,
        pl_tree_str(&ctx->arena, pl_arena_f(&ctx->arena, "json patch unknown field \"[%zu].%.*s\"",
                                            index, PL_FMT(member))));
}

static int fail_operation(struct pl_api_ctx *ctx, struct pl_node value, const char *of)
{
    return pl_api_bad_request(
        &ctx->status, "error decoding patch: json: cannot unmarshal %s into %s",
        pl_node_type(value) == PL_BOOL ? "bool" : pl_type_name(pl_node_type(value)), of);
}

static int check_operation(struct pl_api_ctx *ctx, size_t index, struct pl_node operation)
{
    struct pl_iter it = pl_iter(operation);
    if (pl_node_type(operation) == PL_NULL)
        return 0;
    if (pl_node_type(operation) != PL_OBJECT)
        return fail_operation(ctx, operation, "Go value of type handlers.jsonPatchOp");
    while (pl_iter_next(&it)) {
        enum pl_type type = pl_node_type(it.value);
        note_unknown(ctx, index, it.key);
        for (size_t i = 0; i < 3; i++)
            if (pl_slice_eqz(it.key, operation_members[i]) && type != PL_STRING && type != PL_NULL)
                return fail_operation(ctx, it.value,
                                      pl_arena_f(&ctx->arena,
                                                 "Go struct field jsonPatchOp.%s of type string",
                                                 operation_members[i])
                                          .ptr);
    }
    return 0;
}

int pl_api_operations_check(struct pl_api_ctx *ctx, struct pl_node root)
{
    struct pl_iter it = pl_iter(root);
    if (ctx->request.body_form != PL_API_JSON_PATCH ||
        pl_slice_eqz(ctx->request.field_validation, "Ignore"))
        return 0;
    while (pl_iter_next(&it))
        if (check_operation(ctx, it.index, it.value) != 0)
            return -1;
    return 0;
}

/* ---- applying ---- */

static bool means_whole(struct pl_node operation, const char *member)
{
    struct pl_scratch scratch;
    struct pl_slice pointer = pl_node_str(pl_node_getz(operation, member), &scratch);
    return pointer.ptr != NULL && pointer.len == 0;
}

struct pl_doc *pl_api_operations_apply(struct pl_node target, struct pl_node operations,
                                       struct pl_err *err)
{
    struct pl_iter it = pl_iter(operations);
    while (pl_iter_next(&it)) {
        struct pl_node op = pl_node_getz(it.value, "op");
        bool may_be_whole =
            pl_node_str_eq(op, pl_slice_z("test")) || pl_node_str_eq(op, pl_slice_z("replace"));
        if (!may_be_whole && (means_whole(it.value, "path") || means_whole(it.value, "from")))
            return NULL;
    }
    struct pl_doc *result = pl_patch_json(target, operations, err);
    if (result != NULL && pl_node_type(pl_doc_root(result)) != PL_OBJECT) {
        pl_doc_unref(result);
        return NULL;
    }
    return result;
}
