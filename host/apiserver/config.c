/* Custom objects in the versions of their managers. kube-apiserver converts the whole object to the
 * version of each entry of managedFields before it compares anything. A field that such a version
 * does not declare makes an apply fail, and an update leave managedFields as they are. Versions
 * that a webhook converts are not looked at: the webhook would have to be asked for each of them.
 */
#include "apiserver/config.h"

#include "apicall/convert.h"
#include "schema/config_check.h"
#include "schema/structural.h"

struct pl_slice pl_api_undeclared(struct pl_api_ctx *ctx, const struct pl_tree *paths)
{
    struct pl_buf list = PL_BUF_INIT;
    pl_buf_add_z(&list, paths->count > 1 ? "errors:" : "");
    PL_TREE_FOR(item, paths)
    pl_buf_add_f(&list, "%s.%.*s: field not declared in schema", paths->count > 1 ? "\n  " : "",
                 PL_FMT(item->value->text));
    struct pl_slice text = pl_arena_copy(&ctx->arena, pl_buf_slice(&list));
    pl_buf_deinit(&list);
    return text;
}

static const char *config_fault_in(struct pl_api_ctx *ctx, const struct pl_tree *object,
                                   size_t version)
{
    struct pl_tree *copy = pl_tree_copy(&ctx->arena, object);
    struct pl_tree *unknown = pl_tree_array(&ctx->arena);
    struct pl_node schema = ctx->type->versions[version].schema;
    if (pl_api_converts(ctx->type, ctx->version, version))
        return NULL;
    pl_api_structural_prune(&ctx->arena, copy, schema, unknown);
    return unknown->count > 0 ? pl_api_undeclared(ctx, unknown).ptr
                              : pl_api_config_fault(&ctx->arena, copy, schema);
}

/* The index of the version that an entry was written in; version_count: the type no longer has that
 * version. */
static size_t version_of_entry(const struct pl_api_type *type, const struct pl_tree *entry)
{
    struct pl_slice version = pl_tree_text_at(entry, "apiVersion");
    char text[PL_KIND_TEXT];
    size_t i = 0;
    while (i < type->version_count &&
           !pl_slice_eq(version, pl_api_version_text(&type->versions[i], text)))
        i++;
    return i;
}

bool pl_api_has_other_versions(const struct pl_api_ctx *ctx, const struct pl_tree *entries)
{
    PL_TREE_FOR(item, ctx->type->is_custom ? entries : NULL)
    if (version_of_entry(ctx->type, item->value) != ctx->version)
        return true;
    return false;
}

const char *pl_api_manager_fault(struct pl_api_ctx *ctx, const struct pl_tree *object,
                                 const struct pl_tree *entries)
{
    const struct pl_api_type *type = ctx->type;
    const char *fault = NULL;
    PL_TREE_FOR(item, type->is_custom && object != NULL ? entries : NULL)
    {
        size_t i = version_of_entry(type, item->value);
        if (i == ctx->version || fault != NULL)
            continue;
        fault =
            i < type->version_count
                ? config_fault_in(ctx, object, i)
                : pl_arena_f(&ctx->arena, "request to convert CR to an invalid group/version: %.*s",
                             PL_FMT(pl_tree_text_at(item->value, "apiVersion")))
                      .ptr;
    }
    return fault;
}
