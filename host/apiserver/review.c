/* Reviews use the code that decides about requests: RBAC for access and rules, authentication for
 * tokens. They are answered at once and never stored. Refusals and their messages are
 * kube-apiserver's. */
#include "apiserver/review.h"

#include "gotype/go_struct.h"

#include "apicall/body.h"
#include "apicall/rbac.h"
#include "apicall/review_selector.h"
#include "apiserver/steps.h"

#include <string.h>

static const char *json_of(struct pl_arena *arena, const struct pl_tree *value)
{
    struct pl_buf text = PL_BUF_INIT;
    pl_tree_write(&text, value);
    const char *copy = pl_arena_copy(arena, pl_buf_slice(&text)).ptr;
    pl_buf_deinit(&text);
    return copy;
}

static void fault(struct pl_api_faults *faults, const char *field, const struct pl_tree *value,
                  const char *why)
{
    pl_api_fault(faults, "FieldValueInvalid", pl_slice_z(field), "Invalid value: %s: %s",
                 json_of(faults->arena, value), why);
}

static const struct pl_tree *attributes(const struct pl_tree *spec, const char *name)
{
    const struct pl_tree *value = pl_tree_getz(spec, name);
    return pl_tree_is(value, PL_OBJECT) ? value : NULL;
}

/* ---- refused reviews ---- */

static void check_subject(struct pl_api_faults *faults, const struct pl_tree *spec)
{
    const struct pl_tree *groups = pl_tree_getz(spec, "groups");
    if (pl_tree_text_at(spec, "user").len == 0 && (groups == NULL || groups->count == 0))
        fault(faults, "spec.user", pl_tree_strz(faults->arena, ""),
              "at least one of user or group must be specified");
}

static void check_attributes(struct pl_api_faults *faults, const struct pl_tree *spec)
{
    const struct pl_tree *path = attributes(spec, "nonResourceAttributes");
    bool resource = attributes(spec, "resourceAttributes") != NULL;
    if (resource == (path != NULL))
        pl_api_fault(faults, "FieldValueInvalid", pl_slice_z("spec"),
                     "Invalid value: %.*s: exactly one of nonResourceAttributes or "
                     "resourceAttributes must be specified",
                     PL_FMT(pl_go_struct(faults->arena, "*@NonResourceAttributes", path)));
}

static void check_metadata(struct pl_api_ctx *ctx, struct pl_api_faults *faults,
                           const struct pl_tree *object)
{
    bool namespaced = ctx->type->flags & PL_API_NAMESPACED;
    struct pl_tree *meta = pl_tree_copy(&ctx->arena, pl_tree_getz(object, "metadata"));
    pl_tree_removez(meta, "managedFields");
    pl_tree_removez(meta, "creationTimestamp");
    if (namespaced)
        pl_tree_removez(meta, "namespace");
    if (meta != NULL && meta->count > 0)
        fault(faults, "metadata", meta,
              namespaced ? "must be empty except for namespace" : "must be empty");
}

static void check_local(struct pl_api_ctx *ctx, struct pl_api_faults *faults,
                        const struct pl_tree *spec)
{
    const struct pl_tree *resource = attributes(spec, "resourceAttributes");
    const struct pl_tree *path = attributes(spec, "nonResourceAttributes");
    struct pl_slice ns = pl_tree_text_at(resource, "namespace");
    if (resource != NULL && !pl_slice_eq(ns, ctx->request.ns))
        fault(faults, "spec.resourceAttributes.namespace", pl_tree_str(&ctx->arena, ns),
              "must match metadata.namespace");
    if (path != NULL)
        pl_api_fault(faults, "FieldValueInvalid", pl_slice_z("spec.nonResourceAttributes"),
                     "Invalid value: %.*s: disallowed on this kind of request",
                     PL_FMT(pl_go_struct(faults->arena, "*@NonResourceAttributes", path)));
}

static int check_access(struct pl_api_ctx *ctx, const struct pl_tree *object, bool self)
{
    struct pl_api_faults faults = {.arena = &ctx->arena};
    const struct pl_tree *spec = pl_tree_getz(object, "spec");
    check_attributes(&faults, spec);
    if (!self)
        check_subject(&faults, spec);
    check_metadata(ctx, &faults, object);
    pl_review_selectors_check(&faults, attributes(spec, "resourceAttributes"));
    if (ctx->type->flags & PL_API_NAMESPACED)
        check_local(ctx, &faults, spec);
    return pl_api_fail_faults(&ctx->status, &faults, pl_slice_z(pl_api_ctx_version(ctx)->group),
                              pl_slice("", 0), pl_slice("", 0)); /* kube-apiserver's message */
}

/* ---- the answers: a status, or NULL and the reason ---- */

static struct pl_api_user subject_of(const struct pl_tree *spec)
{
    return (struct pl_api_user){.name = pl_tree_text_at(spec, "user"),
                                .uid = pl_tree_text_at(spec, "uid"),
                                .groups = pl_tree_getz(spec, "groups")};
}

static struct pl_api_attributes asked_of(const struct pl_tree *spec)
{
    const struct pl_tree *path = attributes(spec, "nonResourceAttributes");
    const struct pl_tree *about = attributes(spec, "resourceAttributes");
    if (path != NULL)
        return (struct pl_api_attributes){.verb = pl_tree_text_at(path, "verb"),
                                          .path = pl_tree_text_at(path, "path")};
    return (struct pl_api_attributes){
        .is_resource = true,
        .verb = pl_tree_text_at(about, "verb"),
        .group = pl_tree_text_at(about, "group"),
        .resource = pl_tree_text_at(about, "resource"),
        .subresource = pl_tree_text_at(about, "subresource"),
        .ns = pl_tree_text_at(about, "namespace"),
        .name = pl_tree_text_at(about, "name"),
    };
}

static struct pl_tree *review_access(struct pl_api_ctx *ctx, const struct pl_tree *object)
{
    bool self = strcmp(ctx->type->kind, "SelfSubjectAccessReview") == 0;
    const struct pl_tree *spec = pl_tree_getz(object, "spec");
    if (check_access(ctx, object, self) != 0)
        return NULL;
    struct pl_api_user user = self ? ctx->user : subject_of(spec);
    struct pl_api_attributes asked = asked_of(spec);
    struct pl_slice reason;
    struct pl_tree *status = pl_tree_object(&ctx->arena);
    bool allowed = pl_api_rbac_allows(ctx, &user, &asked, &reason);
    struct pl_slice ignored =
        pl_review_selectors_ignored(&ctx->arena, attributes(spec, "resourceAttributes"));
    pl_tree_setz(&ctx->arena, status, "allowed", pl_tree_bool(&ctx->arena, allowed));
    if (reason.len > 0)
        pl_tree_setz(&ctx->arena, status, "reason", pl_tree_str(&ctx->arena, reason));
    if (ignored.len > 0)
        pl_tree_setz(&ctx->arena, status, "evaluationError", pl_tree_str(&ctx->arena, ignored));
    return status;
}

static void copy_member(struct pl_arena *arena, struct pl_tree *to, const struct pl_tree *from,
                        const char *name)
{
    struct pl_tree *value = pl_tree_getz(from, name);
    if (value != NULL)
        pl_tree_setz(arena, to, name, pl_tree_copy(arena, value));
}

/* A rule may hold resources and URLs; the answer lists them separately. */
static void add_rule(struct pl_arena *arena, const struct pl_tree *rule, struct pl_tree *resources,
                     struct pl_tree *paths)
{
    static const char members[][16] = {"apiGroups", "resources", "resourceNames"};
    struct pl_tree *copy = pl_tree_object(arena);
    copy_member(arena, copy, rule, "verbs");
    if (pl_tree_getz(rule, "nonResourceURLs") != NULL) {
        copy_member(arena, copy, rule, "nonResourceURLs");
        pl_tree_push(arena, paths, copy);
        return;
    }
    for (size_t i = 0; i < PL_ARRAY_LEN(members); i++)
        copy_member(arena, copy, rule, members[i]);
    pl_tree_push(arena, resources, copy);
}

static struct pl_tree *review_rules(struct pl_api_ctx *ctx, const struct pl_tree *object)
{
    struct pl_arena *arena = &ctx->arena;
    struct pl_slice ns = pl_tree_text_at(object, "spec.namespace");
    if (ns.len == 0) {
        pl_api_bad_request(&ctx->status, "no namespace on request");
        return NULL;
    }
    struct pl_tree *status = pl_tree_object(arena), *resources = pl_tree_array(arena);
    struct pl_tree *paths = pl_tree_array(arena);
    PL_TREE_FOR(item, pl_api_rbac_rules(ctx, &ctx->user, ns))
    add_rule(arena, item->value, resources, paths);
    pl_tree_setz(arena, status, "resourceRules", resources);
    pl_tree_setz(arena, status, "nonResourceRules", paths);
    pl_tree_setz(arena, status, "incomplete", pl_tree_bool(arena, false));
    return status;
}

static struct pl_tree *review_token(struct pl_api_ctx *ctx, const struct pl_tree *object)
{
    struct pl_arena *arena = &ctx->arena;
    struct pl_slice token = pl_tree_text_at(object, "spec.token");
    struct pl_api_user user;
    if (token.len == 0) {
        pl_api_bad_request(&ctx->status, "token is required for TokenReview in authentication");
        return NULL;
    }
    if (!pl_api_user_of_token(ctx, token, &user))
        return pl_tree_literal(arena, "{\"user\":{},\"error\":\"invalid bearer token\"}");
    struct pl_tree *status = pl_tree_literal(arena, "{\"authenticated\":true}");
    struct pl_tree *audiences = pl_tree_dig(object, "spec.audiences");
    pl_tree_setz(arena, status, "user", pl_api_user_info(arena, &user));
    if (audiences != NULL && audiences->count > 0)
        pl_tree_setz(arena, status, "audiences", pl_tree_copy(arena, audiences));
    else if (user.extra != NULL) /* a token of a service account */
        pl_tree_setz(arena, status, "audiences",
                     pl_tree_literal(arena, "[\"https://kubernetes.default.svc\"]"));
    return status;
}

static struct pl_tree *review_self(struct pl_api_ctx *ctx, const struct pl_tree *object)
{
    PL_UNUSED(object);
    struct pl_tree *status = pl_tree_object(&ctx->arena);
    pl_tree_setz(&ctx->arena, status, "userInfo", pl_api_user_info(&ctx->arena, &ctx->user));
    return status;
}

static const struct {
    const char *kind;
    struct pl_tree *(*answer)(struct pl_api_ctx *ctx, const struct pl_tree *object);
} reviews[] = {
    {"LocalSubjectAccessReview", review_access},
    {"SelfSubjectAccessReview", review_access},
    {"SubjectAccessReview", review_access},
    {"SelfSubjectRulesReview", review_rules},
    {"TokenReview", review_token},
    {"SelfSubjectReview", review_self},
};

/* The object of the answer: metadata, spec, status. */
static struct pl_tree *in_order(struct pl_api_ctx *ctx, const struct pl_tree *object)
{
    static const char members[][12] = {"apiVersion", "kind", "metadata", "spec", "status"};
    struct pl_tree *out = pl_tree_object(&ctx->arena);
    for (size_t i = 0; i < PL_ARRAY_LEN(members); i++) {
        struct pl_tree *value = pl_tree_getz(object, members[i]);
        if (value != NULL)
            pl_tree_setz(&ctx->arena, out, members[i], value);
    }
    return out;
}

/* Like a new object: managedFields name the writer; only a SelfSubjectReview has a creation time.
 */
static void review_describe(struct pl_api_ctx *ctx, struct pl_tree *object)
{
    struct pl_arena *arena = &ctx->arena;
    if (strcmp(ctx->type->kind, "SelfSubjectReview") == 0)
        pl_tree_setz(arena, pl_api_meta_of(ctx, object), "creationTimestamp", pl_api_ctx_now(ctx));
    if (strcmp(ctx->type->kind, "SelfSubjectRulesReview") == 0) {
        pl_tree_setz(arena, object, "spec", pl_tree_object(arena)); /* as in kube-apiserver */
        return;
    }
    struct pl_api_writer writer = pl_api_writer_of(ctx);
    struct pl_tree *blank = pl_tree_literal(arena, "{\"metadata\":{},\"spec\":{}}");
    pl_api_set_managed(ctx, object,
                       pl_api_managed_update(&writer, pl_tree_array(arena), blank, object));
}

int pl_api_review(struct pl_api_ctx *ctx)
{
    struct pl_tree *object = pl_api_decode(ctx), *status = NULL;
    if (object == NULL || pl_api_check_place(ctx, object) != 0)
        return -1;
    pl_api_body_default(ctx, object); /* empty members are absent ones */
    pl_tree_removez(object, "status");
    for (size_t i = 0; i < PL_ARRAY_LEN(reviews); i++)
        if (strcmp(reviews[i].kind, ctx->type->kind) == 0)
            status = reviews[i].answer(ctx, object);
    if (status == NULL)
        return -1;
    if (ctx->type->flags & PL_API_NAMESPACED)
        pl_tree_setz(&ctx->arena, pl_api_meta_of(ctx, object), "namespace",
                     pl_tree_str(&ctx->arena, ctx->request.ns));
    review_describe(ctx, object);
    pl_tree_setz(&ctx->arena, object, "status", status);
    return pl_api_answer_dry(ctx, 201, in_order(ctx, object));
}
