/* ValidatingAdmissionPolicies: what follows from the results of their expressions.
 *
 * The first denial is the answer, as in kube-apiserver; warnings of the others are still given. An
 * expression's failure counts as failurePolicy says. */
#include "apicall/policy_impl.h"

#include "object/kind.h"

#include <string.h>

#define MOST_MESSAGE 5120 /* bytes of an evaluated message */

/* ---- the answer ---- */

static int code_of(const char *reason)
{
    return strcmp(reason, "Forbidden") == 0               ? 403
           : strcmp(reason, "RequestEntityTooLarge") == 0 ? 413
                                                          : 422;
}

/* The first denial is the answer. */
static void deny(struct pl_policy_bound *b, struct pl_slice why, const char *reason)
{
    struct pl_api_ctx *ctx = b->ctx;
    const struct pl_tree *named =
        b->admission->object != NULL ? b->admission->object : b->admission->old;
    struct pl_slice name =
        b->admission->as != NULL ? ctx->request.name : pl_tree_text_at(named, "metadata.name");
    if (b->admission->object == NULL && ctx->request.name.len == 0)
        name = pl_slice_z("Unknown"); /* the deletion of a collection */
    struct pl_slice group = pl_slice_z(pl_api_ctx_version(ctx)->group), by = pl_slice("", 0);
    bool *denied = b->result;
    if (*denied)
        return;
    *denied = true;
    if (b->binding_name.len > 0)
        by = pl_arena_f(&ctx->arena, " with binding '%.*s'", PL_FMT(b->binding_name));
    struct pl_slice text =
        pl_arena_f(&ctx->arena, "ValidatingAdmissionPolicy '%.*s'%.*s denied request: %.*s",
                   PL_FMT(b->policy_name), PL_FMT(by), PL_FMT(why));
    pl_api_fail(&ctx->status, code_of(reason), reason, "%s%s%.*s \"%.*s\" is forbidden: %.*s",
                ctx->type->plural, group.len > 0 ? "." : "", PL_FMT(group), PL_FMT(name),
                PL_FMT(text));
    pl_api_fail_about(&ctx->status, group, pl_slice_z(ctx->type->plural), name);
    pl_api_fail_cause(&ctx->status, "", pl_slice("", 0), text);
}

static void validate_misconfigured(struct pl_policy_bound *b, struct pl_slice why)
{
    deny(b, why, "Invalid");
}

/* A validation does not hold, or its expression has failed. */
static void violated(struct pl_policy_bound *b, struct pl_slice why, const char *reason)
{
    struct pl_iter it = pl_iter(pl_node_getz(b->binding, "validationActions"));
    while (pl_iter_next(&it)) {
        if (pl_node_str_eq(it.value, pl_slice_z("Deny")))
            deny(b, why, reason);
        else if (pl_node_str_eq(it.value, pl_slice_z("Warn")))
            pl_api_warn(b->ctx,
                        pl_arena_f(&b->ctx->arena,
                                   "Validation failed for ValidatingAdmissionPolicy '%.*s' "
                                   "with binding '%.*s': %.*s",
                                   PL_FMT(b->policy_name), PL_FMT(b->binding_name), PL_FMT(why)));
    }
}

static void policy_failed(struct pl_policy_bound *b, struct pl_slice why)
{
    if (!pl_policy_ignores(b))
        violated(b, why, "Invalid");
}

/* ---- validations ---- */

static const char *reason_of(struct pl_node validation)
{
    static const char reasons[][24] = {"Forbidden", "RequestEntityTooLarge"};
    for (size_t i = 0; i < PL_ARRAY_LEN(reasons); i++)
        if (pl_node_str_eq(pl_node_getz(validation, "reason"), pl_slice_z(reasons[i])))
            return reasons[i];
    return "Invalid";
}

static struct pl_slice message_of(struct pl_policy_bound *b, struct pl_api_evaluation *e,
                                  struct pl_node validation)
{
    struct pl_slice expression = pl_policy_text(b, validation, "messageExpression");
    struct pl_slice message = pl_policy_text(b, validation, "message");
    if (expression.len > 0) {
        struct pl_cel shown = pl_api_evaluate(e, expression);
        if (shown.kind == PL_CEL_STRING && shown.s.len > 0 && shown.s.len <= MOST_MESSAGE &&
            pl_slice_chr(shown.s, '\n') == NULL)
            return shown.s;
    }
    return message.len > 0 ? message
                           : pl_arena_f(&b->ctx->arena, "failed expression: %.*s",
                                        PL_FMT(pl_policy_text(b, validation, "expression")));
}

static void apply_validation(struct pl_policy_bound *b, struct pl_api_evaluation *e,
                             struct pl_node validation)
{
    struct pl_cel result = pl_api_evaluate(e, pl_policy_text(b, validation, "expression"));
    if (pl_cel_is_error(result))
        policy_failed(b, result.s);
    else if (result.kind != PL_CEL_BOOL || !result.b)
        violated(b, message_of(b, e, validation), reason_of(validation));
}

/* There is no audit log, so the annotation is dropped; but an expression that fails is a denial. */
static void apply_annotation(struct pl_policy_bound *b, struct pl_api_evaluation *e,
                             struct pl_node annotation)
{
    struct pl_slice text = pl_policy_text(b, annotation, "valueExpression");
    struct pl_cel result = pl_api_evaluate(e, text);
    if (result.kind == PL_CEL_STRING || result.kind == PL_CEL_NULL || pl_policy_ignores(b))
        return;
    struct pl_slice why =
        pl_cel_is_error(result)
            ? result.s
            : pl_arena_f(&b->ctx->arena,
                         "valueExpression '%.*s' resulted in unsupported return type: %s. Return "
                         "type must be either string or null.",
                         PL_FMT(text), pl_cel_kind_name(result.kind));
    deny(b, why, "Invalid");
}

static void apply_all(struct pl_policy_bound *b, struct pl_api_evaluation *e)
{
    struct pl_policy_variables v;
    pl_policy_variables_init(b, e, &v);
    if (e->is_over)
        policy_failed(b, v.entries[v.map.count - 1].value.s);
    struct pl_iter it = pl_iter(pl_node_getz(b->policy, "validations"));
    while (!e->is_over && pl_iter_next(&it))
        apply_validation(b, e, it.value);
    it = pl_iter(pl_node_getz(b->policy, "auditAnnotations"));
    while (!e->is_over && pl_iter_next(&it))
        apply_annotation(b, e, it.value);
    pl_policy_variables_deinit(&v);
}

/* The objects in the version that the policy matches. If a webhook converts the kind, the objects
 * stay as they were sent. */
static struct pl_api_admission as_matched(struct pl_policy_bound *b,
                                          const struct pl_api_admission *sent)
{
    struct pl_api_admission out = *sent;
    struct pl_arena *arena = &b->ctx->arena;
    char text[PL_KIND_TEXT];
    if (b->version == b->ctx->version)
        return out;
    struct pl_slice name =
        pl_arena_copy(arena, pl_api_version_text(&b->ctx->type->versions[b->version], text));
    if (sent->object != NULL) {
        out.object = pl_tree_copy(arena, sent->object);
        pl_tree_setz(arena, out.object, "apiVersion", pl_tree_str(arena, name));
    }
    if (sent->old != NULL) {
        struct pl_tree *old = pl_tree_copy(arena, sent->old);
        pl_tree_setz(arena, old, "apiVersion", pl_tree_str(arena, name));
        out.old = old;
    }
    return out;
}

static void validate(struct pl_policy_bound *b, const struct pl_tree *param)
{
    struct pl_api_admission seen = as_matched(b, b->admission);
    struct pl_api_evaluation e;
    struct pl_slice why;
    enum pl_api_match match = pl_policy_begin(b, &seen, param, &e, &why);
    if (match == PL_API_MATCH_FAILED)
        policy_failed(b, why);
    if (match == PL_API_MATCHES)
        apply_all(b, &e);
}

int pl_api_policies_check(struct pl_api_ctx *ctx, const struct pl_api_admission *admission)
{
    static const struct pl_policy_kind kind = {.policies = "validatingadmissionpolicies",
                                               .bindings = "validatingadmissionpolicybindings",
                                               .apply = validate,
                                               .misconfigured = validate_misconfigured};
    bool denied = false;
    pl_policies_apply(ctx, admission, &kind, &denied);
    return denied ? -1 : 0;
}
