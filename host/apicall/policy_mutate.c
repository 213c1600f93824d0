/* MutatingAdmissionPolicies: which of them run, in which order, and what follows from failures.
 *
 * All policies are matched with the object as it was sent; each is evaluated with the object as the
 * one before has left it. A failed mutation changes nothing, and the next one follows; all failures
 * together are the answer, unless failurePolicy ignores them. One with reinvocationPolicy IfNeeded
 * runs once more if the object has changed, also by itself. */
#include "apicall/policy_impl.h"

#include "apicall/convert.h"
#include "apicall/policy_patch.h"

#include <string.h>

/* All policies for one request. */
struct mutations {
    struct pl_api_admission *admission; /* in the request's version; its object is replaced */
    struct pl_api_policies_again *again;
    struct pl_tree *errors; /* causes of the status; NULL: none */
    const char *reason;     /* of the first error */
    bool has_patched;       /* a mutation has succeeded, even if nothing is different */
    bool has_failed;        /* the status is filled in, or the request waits */
    bool as_go;             /* from now on kube-apiserver evaluates Go structures, not JSON */
    const struct pl_cel_type *old_type; /* of oldObject, once it has been evaluated */
    bool has_old_type;
};

static void note(struct pl_policy_bound *b, struct pl_slice why, const char *reason)
{
    struct mutations *m = b->result;
    struct pl_arena *arena = &b->ctx->arena;
    struct pl_tree *cause = pl_tree_object(arena);
    struct pl_slice by = b->binding_name.len > 0
                             ? pl_arena_f(arena, "policy '%.*s' with binding '%.*s'",
                                          PL_FMT(b->policy_name), PL_FMT(b->binding_name))
                             : pl_arena_f(arena, "policy \"%.*s\"", PL_FMT(b->policy_name));
    if (pl_policy_ignores(b))
        return;
    if (m->errors == NULL) {
        m->errors = pl_tree_array(arena);
        m->reason = reason;
    }
    pl_tree_setz(arena, cause, "message",
                 pl_tree_str(arena, pl_arena_f(arena, "%.*s denied request: %.*s", PL_FMT(by),
                                               PL_FMT(why))));
    pl_tree_push(arena, m->errors, cause);
}

static void mutate_misconfigured(struct pl_policy_bound *b, struct pl_slice why)
{
    note(b, why, "Forbidden");
}

/* ---- running again ---- */

static void again_require(struct pl_arena *arena, struct pl_api_policies_again *again)
{
    PL_TREE_FOR(item, again->invoked)
    pl_tree_push(arena, again->due, item->value);
    again->invoked = pl_tree_array(arena);
}

static struct pl_slice key_of(struct pl_policy_bound *b)
{
    return pl_arena_f(&b->ctx->arena, "%.*s %.*s %.*s", PL_FMT(b->policy_name),
                      PL_FMT(b->binding_name), PL_FMT(b->param_key));
}

static void note_changed(struct pl_policy_bound *b)
{
    struct mutations *m = b->result;
    again_require(&b->ctx->arena, m->again);
    m->again->wanted = true;
}

/* ---- one policy with one parameter ---- */

/* Sets how the expression sees the objects: kinds that are Go structures in kube-apiserver are seen
 * as such once a match condition has been evaluated. */
static void see_objects(struct pl_policy_bound *b, const struct pl_api_admission *now,
                        const struct pl_tree *param, struct pl_api_evaluation *e)
{
    struct mutations *m = b->result;
    struct pl_arena *arena = &b->ctx->arena;
    const struct pl_cel_type *go = b->ctx->type->is_custom ? NULL : pl_cel_type_of_go();
    const struct pl_cel_type *type = m->as_go ? go : NULL;
    if (!m->has_old_type)
        m->old_type = type;
    m->has_old_type = true;
    e->values[PL_VAR_OBJECT] = pl_cel_from_tree(arena, now->object, type);
    if (now->old != NULL)
        e->values[PL_VAR_OLD_OBJECT] = pl_cel_from_tree(arena, now->old, m->old_type);
    if (param != NULL)
        e->values[PL_VAR_PARAMS] = pl_cel_from_tree(
            arena, param, pl_policy_param_is_custom(b) ? NULL : pl_cel_type_of_go());
}

/* One mutation of the policy, with its variables. */
static void apply_mutation(struct pl_policy_bound *b, struct pl_api_admission *now,
                           const struct pl_tree *param, struct pl_node mutation)
{
    struct mutations *m = b->result;
    struct pl_api_ctx *ctx = b->ctx;
    struct pl_api_evaluation e;
    struct pl_policy_variables v;
    struct pl_slice why = pl_slice("", 0);
    pl_policy_evaluation_init(b, now, param, &e);
    see_objects(b, now, param, &e);
    pl_policy_variables_init(b, &e, &v);
    e.makes_patches = true;
    struct pl_tree *changed = NULL;
    int code = pl_policy_patch(ctx, &e, now, mutation, &changed, &why);
    pl_policy_variables_deinit(&v);
    if (code != 0) {
        m->has_failed = true;
    } else if (why.len > 0) {
        note(b, why, "Invalid");
    } else {
        m->has_patched = true;
        now->object = changed;
    }
}

/* The objects in the version that the policy matches. -1 while they wait. */
static int in_version_of(struct pl_policy_bound *b, const struct pl_api_admission *from,
                         struct pl_api_admission *to)
{
    struct pl_api_ctx *ctx = b->ctx;
    struct pl_tree *old = NULL;
    *to = *from;
    if (b->version == ctx->version || from->as != NULL)
        return 0;
    to->object = pl_tree_copy(&ctx->arena, from->object);
    if (from->old != NULL)
        old = pl_tree_copy(&ctx->arena, from->old);
    to->old = old;
    if (pl_api_convert(ctx, &to->object, ctx->version, b->version) != 0)
        return -1;
    if (old != NULL && pl_api_convert(ctx, &old, ctx->version, b->version) != 0)
        return -1;
    to->old = old;
    return 0;
}

static int run_mutations(struct pl_policy_bound *b, struct pl_api_admission *now,
                         const struct pl_tree *param)
{
    struct mutations *m = b->result;
    struct pl_tree *before = now->object;
    struct pl_iter it = pl_iter(pl_node_getz(b->policy, "mutations"));
    while (!m->has_failed && pl_iter_next(&it))
        apply_mutation(b, now, param, it.value);
    if (m->has_failed)
        return -1;
    if (!pl_tree_equal(before, now->object))
        note_changed(b);
    if (b->version != b->ctx->version && now->as == NULL &&
        pl_api_convert(b->ctx, &now->object, b->version, b->ctx->version) != 0)
        return -1;
    m->admission->object = now->object;
    return 0;
}

static void mutate(struct pl_policy_bound *b, const struct pl_tree *param)
{
    struct mutations *m = b->result;
    struct pl_api_policies_again *again = m->again;
    struct pl_api_admission now;
    struct pl_api_evaluation e;
    struct pl_slice why, key = key_of(b);
    if (m->has_failed || in_version_of(b, m->admission, &now) != 0) {
        m->has_failed = true;
        return;
    }
    m->as_go |= pl_node_len(pl_node_getz(b->policy, "matchConditions")) > 0;
    enum pl_api_match match = pl_policy_begin(b, &now, param, &e, &why);
    if (match == PL_API_MATCH_FAILED)
        note(b, why, "Invalid");
    if (match != PL_API_MATCHES || (again->is_again && !pl_tree_has_text(again->due, key)))
        return;
    if (run_mutations(b, &now, param) != 0)
        m->has_failed = true;
    else if (pl_node_str_eq(pl_node_getz(b->policy, "reinvocationPolicy"), pl_slice_z("IfNeeded")))
        pl_tree_push(&b->ctx->arena, again->invoked, pl_tree_str(&b->ctx->arena, key));
}

/* ---- all policies ---- */

static int refuse(struct pl_api_ctx *ctx, const struct pl_api_admission *admission,
                  const struct mutations *m)
{
    struct pl_slice name = admission->as != NULL
                               ? ctx->request.name
                               : pl_tree_text_at(admission->object, "metadata.name");
    if (name.len == 0)
        name = pl_tree_text_at(admission->object, "metadata.generateName");
    struct pl_slice first = pl_tree_text_at(pl_tree_at(m->errors, 0), "message");
    pl_api_fail(&ctx->status, 403, m->reason, "%.*s", PL_FMT(first));
    pl_api_fail_about(&ctx->status, pl_slice_z(pl_api_ctx_version(ctx)->group),
                      pl_slice_z(ctx->type->plural), name);
    ctx->status.causes = m->errors;
    return -1;
}

int pl_api_policies_mutate(struct pl_api_ctx *ctx, struct pl_api_admission *admission,
                           struct pl_api_policies_again *again)
{
    static const struct pl_policy_kind kind = {.policies = "mutatingadmissionpolicies",
                                               .bindings = "mutatingadmissionpolicybindings",
                                               .apply = mutate,
                                               .misconfigured = mutate_misconfigured};
    struct mutations m = {.admission = admission, .again = again};
    struct pl_api_admission sent = *admission;
    if (admission->object == NULL) /* there is nothing to change in a deletion */
        return 0;
    if (again->due == NULL) {
        again->due = pl_tree_array(&ctx->arena);
        again->invoked = pl_tree_array(&ctx->arena);
    }
    if (again->is_again && !pl_tree_equal(again->left, admission->object))
        again_require(&ctx->arena, again);
    pl_policies_apply(ctx, &sent, &kind, &m);
    if (m.has_failed)
        return -1;
    if (m.has_patched) {
        again_require(&ctx->arena, again);
        again->wanted = true;
    }
    again->left = admission->object;
    return m.errors != NULL ? refuse(ctx, admission, &m) : 0;
}
