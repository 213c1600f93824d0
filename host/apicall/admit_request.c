/* The description of a request: for reviews that webhooks get, and for the variable `request` of
 * expressions. It depends only on the request, so it is the same each time that the request runs.
 */
#include "apicall/admit.h"

#include <string.h>

static struct pl_tree *kind_tree(struct pl_api_ctx *ctx, size_t version, bool resource)
{
    const struct pl_api_version *v = &ctx->type->versions[version];
    struct pl_tree *tree = pl_tree_object(&ctx->arena);
    pl_tree_set_strz(&ctx->arena, tree, "group", v->group);
    pl_tree_set_strz(&ctx->arena, tree, "version", v->name);
    pl_tree_set_strz(&ctx->arena, tree, resource ? "resource" : "kind",
                     resource ? ctx->type->plural : ctx->type->kind);
    return tree;
}

static struct pl_tree *options_tree(struct pl_api_ctx *ctx, const char *operation)
{
    struct pl_arena *arena = &ctx->arena;
    if (ctx->delete_options != NULL)
        return pl_tree_copy(arena, ctx->delete_options);
    struct pl_tree *options = pl_tree_object(arena);
    bool creates = strcmp(operation, "CREATE") == 0;
    pl_tree_set_strz(arena, options, "kind", creates ? "CreateOptions" : "UpdateOptions");
    pl_tree_set_strz(arena, options, "apiVersion", "meta.k8s.io/v1");
    if (ctx->request.dry_run)
        pl_tree_setz(arena, options, "dryRun", pl_tree_literal(arena, "[\"All\"]"));
    if (ctx->request.field_manager.len > 0)
        pl_tree_setz(arena, options, "fieldManager",
                     pl_tree_str(arena, ctx->request.field_manager));
    if (ctx->request.field_validation.len > 0)
        pl_tree_setz(arena, options, "fieldValidation",
                     pl_tree_str(arena, ctx->request.field_validation));
    return options;
}

struct pl_tree *pl_api_admit_request(struct pl_api_ctx *ctx,
                                     const struct pl_api_admission *admission, size_t version)
{
    struct pl_arena *arena = &ctx->arena;
    struct pl_tree *request = pl_tree_object(arena);
    const struct pl_tree *made = admission->object;
    struct pl_slice name = ctx->request.name; /* deletecollection names no object */
    bool generates = pl_tree_text_at(made, "metadata.generateName").len > 0;
    if (name.len == 0 && (admission->is_final || !generates))
        name = pl_tree_text_at(made, "metadata.name");
    struct pl_tree *other = admission->as != NULL ? pl_tree_literal(arena, admission->as) : NULL;
    pl_tree_setz(arena, request, "kind", other != NULL ? other : kind_tree(ctx, version, false));
    pl_tree_setz(arena, request, "resource", kind_tree(ctx, version, true));
    pl_tree_setz(arena, request, "requestKind",
                 other != NULL ? pl_tree_copy(arena, other) : kind_tree(ctx, ctx->version, false));
    pl_tree_setz(arena, request, "requestResource", kind_tree(ctx, ctx->version, true));
    if (ctx->request.subresource.len > 0) {
        struct pl_tree *sub = pl_tree_str(arena, ctx->request.subresource);
        pl_tree_setz(arena, request, "subResource", sub);
        pl_tree_setz(arena, request, "requestSubResource", sub);
    }
    if (name.len > 0)
        pl_tree_setz(arena, request, "name", pl_tree_str(arena, name));
    if (ctx->request.ns.len > 0)
        pl_tree_setz(arena, request, "namespace", pl_tree_str(arena, ctx->request.ns));
    pl_tree_set_strz(arena, request, "operation", admission->operation);
    pl_tree_setz(arena, request, "userInfo", pl_api_user_info(arena, &ctx->user));
    pl_tree_setz(arena, request, "dryRun", pl_tree_bool(arena, ctx->request.dry_run));
    pl_tree_setz(arena, request, "options", options_tree(ctx, admission->operation));
    return request;
}
