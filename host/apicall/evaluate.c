/* Evaluates expressions about a request. Each evaluation has the limit of cel, and all evaluations
 * of one webhook or policy share a budget. When the budget is used up, that is an error, and
 * nothing more is evaluated. The authorizer uses RBAC, which decides requests, too (rbac.c).
 * Nothing here waits or writes. */
#include "apicall/evaluate.h"

#include "apicall/rbac.h"

#include <string.h>

static struct pl_cel_decision decide(void *arg, const struct pl_cel_check *check,
                                     struct pl_slice verb)
{
    struct pl_api_ctx *ctx = ((struct pl_api_evaluation *)arg)->ctx;
    struct pl_api_user user = ctx->user;
    struct pl_cel_decision decision = {.allowed = false};
    if (check->account.len > 0)
        user = pl_api_user_named_account(&ctx->arena, check->account_ns, check->account);
    const struct pl_api_attributes asked = {.verb = verb,
                                            .is_resource = check->path.len == 0,
                                            .path = check->path,
                                            .group = check->group,
                                            .resource = check->resource,
                                            .subresource = check->subresource,
                                            .ns = check->ns,
                                            .name = check->name};
    decision.allowed = pl_api_rbac_allows(ctx, &user, &asked, &decision.reason);
    return decision;
}

static struct pl_cel value_of(struct pl_arena *arena, const struct pl_tree *tree,
                              enum pl_condition_var var)
{
    return tree != NULL ? pl_cel_from_tree(arena, tree, pl_condition_vars()[var].type)
                        : pl_cel_null();
}

void pl_api_evaluation_init(struct pl_api_evaluation *evaluation, struct pl_api_ctx *ctx,
                            const struct pl_api_admission *admission, size_t version,
                            uint64_t budget)
{
    struct pl_arena *arena = &ctx->arena;
    struct pl_cel *values = evaluation->values;
    const struct pl_tree *request = pl_api_admit_request(ctx, admission, version);
    *evaluation = (struct pl_api_evaluation){.ctx = ctx,
                                             .vars = pl_condition_vars(),
                                             .authorizer = {.decide = decide, .arg = evaluation},
                                             .left = budget};
    const struct pl_cel_check check = {.by = &evaluation->authorizer,
                                       .group = pl_slice_z(pl_api_ctx_version(ctx)->group),
                                       .resource = pl_slice_z(ctx->type->plural),
                                       .subresource = ctx->request.subresource,
                                       .ns = ctx->request.ns,
                                       .name = pl_tree_text_at(request, "name")};
    values[PL_VAR_OBJECT] = value_of(arena, admission->object, PL_VAR_OBJECT);
    values[PL_VAR_OLD_OBJECT] = value_of(arena, admission->old, PL_VAR_OLD_OBJECT);
    values[PL_VAR_NAMESPACE] = values[PL_VAR_PARAMS] = values[PL_VAR_VARIABLES] = pl_cel_null();
    values[PL_VAR_REQUEST] = value_of(arena, request, PL_VAR_REQUEST);
    values[PL_VAR_AUTHORIZER] = pl_cel_authorizer_value(arena, &evaluation->authorizer);
    values[PL_VAR_REQUEST_RESOURCE] = pl_cel_resource_check_value(arena, &check);
}

/* An error in kube-apiserver's words. */
static struct pl_cel evaluate_fail(struct pl_arena *arena, struct pl_slice text)
{
    return (struct pl_cel){.kind = PL_CEL_ERROR, .s = pl_arena_copy(arena, text)};
}

static struct pl_cel over_budget(struct pl_api_evaluation *evaluation)
{
    evaluation->is_over = true;
    return evaluate_fail(&evaluation->ctx->arena,
                         pl_slice_z("validation failed due to running out of cost budget, no "
                                    "further validation rules will be run"));
}

struct pl_cel_program *pl_api_evaluate_kept(struct pl_api_evaluation *evaluation,
                                            struct pl_slice expression, struct pl_cel *value)
{
    struct pl_arena *arena = &evaluation->ctx->arena;
    struct pl_buf why = PL_BUF_INIT;
    uint64_t cost = 0;
    struct pl_cel_program *program =
        evaluation->makes_patches
            ? pl_cel_compile_patch(expression, evaluation->vars, PL_VAR_COUNT, &why)
            : pl_cel_compile(expression, evaluation->vars, PL_VAR_COUNT, &why);
    if (program == NULL) {
        *value = evaluate_fail(
            arena, pl_arena_f(arena, "compilation error: compilation failed: %s", pl_buf_z(&why)));
        pl_buf_deinit(&why);
        return NULL;
    }
    pl_buf_deinit(&why);
    *value = pl_cel_evaluate(program, arena, evaluation->values, PL_CEL_CALL_LIMIT, &cost);
    if (cost > evaluation->left)
        *value = over_budget(evaluation);
    else
        evaluation->left -= cost;
    return program;
}

struct pl_cel_program *pl_api_evaluate_held(struct pl_api_evaluation *evaluation,
                                            struct pl_slice expression, struct pl_cel *value)
{
    struct pl_arena *arena = &evaluation->ctx->arena;
    struct pl_cel_program *program = pl_api_evaluate_kept(evaluation, expression, value);
    if (program != NULL && pl_cel_is_error(*value) && !evaluation->is_over)
        *value = evaluate_fail(arena, pl_arena_f(arena, "expression '%.*s' resulted in error: %.*s",
                                                 PL_FMT(expression), PL_FMT(value->s)));
    return program;
}

struct pl_cel pl_api_evaluate(struct pl_api_evaluation *evaluation, struct pl_slice expression)
{
    struct pl_cel result;
    struct pl_cel_program *program = pl_api_evaluate_held(evaluation, expression, &result);
    /* the text may belong to the program */
    if (result.kind == PL_CEL_STRING || pl_cel_is_error(result))
        result.s = pl_arena_copy(&evaluation->ctx->arena, result.s);
    pl_cel_program_destroy(program);
    return result;
}

/* ---- the request, as webhooks and the variable `request` of expressions get it. It depends only
 * on the request, so it is the same each time that the request runs. ---- */

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
