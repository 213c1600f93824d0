/* ValidatingAdmissionPolicies: which of them match a request, with which parameters their
 * expressions are evaluated, and what follows from the results.
 *
 * Policies go in the order of their names, bindings too. The first denial is the answer, as in
 * kube-apiserver; warnings of the others are still given. A policy without a binding does nothing.
 * An expression's failure counts as failurePolicy says. A variable is evaluated once for each
 * parameter; its failure counts only where it is used. Nothing here waits or writes. */
#include "apicall/policy.h"

#include "apicall/evaluate.h"
#include "object/kind.h"
#include "object/selector.h"

#include <string.h>

#define POLICY_BUDGET 10000000 /* cost of all validations of one policy with one parameter */
#define MOST_MESSAGE  5120     /* bytes of an evaluated message */

/* A policy and one of its bindings, for one request. */
struct bound {
    struct pl_api_ctx *ctx;
    const struct pl_api_admission *admission; /* in the version that the policy matches */
    struct pl_node policy, binding; /* their specs; binding: missing while none is chosen */
    struct pl_slice policy_name, binding_name;
    size_t version; /* index of the version that the policy matches */
    bool *denied;   /* the answer is known */
};

static struct pl_slice text_of(struct bound *b, struct pl_node node, const char *member)
{
    struct pl_scratch scratch;
    struct pl_slice text = pl_node_str(pl_node_getz(node, member), &scratch);
    while (text.len > 0 && strchr(" \t\r\n", text.ptr[0]) != NULL)
        text.ptr++, text.len--;
    while (text.len > 0 && strchr(" \t\r\n", text.ptr[text.len - 1]) != NULL)
        text.len--;
    return pl_arena_copy(&b->ctx->arena, text);
}

static bool ignores_failures(const struct bound *b)
{
    return pl_node_str_eq(pl_node_getz(b->policy, "failurePolicy"), pl_slice_z("Ignore"));
}

/* ---- the answer ---- */

static int code_of(const char *reason)
{
    return strcmp(reason, "Forbidden") == 0               ? 403
           : strcmp(reason, "RequestEntityTooLarge") == 0 ? 413
                                                          : 422;
}

/* The first denial is the answer. */
static void deny(struct bound *b, struct pl_slice why, const char *reason)
{
    struct pl_api_ctx *ctx = b->ctx;
    const struct pl_tree *named =
        b->admission->object != NULL ? b->admission->object : b->admission->old;
    struct pl_slice name = pl_tree_text_at(named, "metadata.name");
    struct pl_slice group = pl_slice_z(pl_api_ctx_version(ctx)->group), by = pl_slice("", 0);
    if (*b->denied)
        return;
    *b->denied = true;
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

/* The policy can't be evaluated: the fault is the policy's, not the object's. */
static void misconfigured(struct bound *b, struct pl_slice why)
{
    if (!ignores_failures(b))
        deny(b,
             pl_arena_f(&b->ctx->arena, "failed to configure %s: %.*s",
                        b->binding_name.len > 0 ? "binding" : "policy", PL_FMT(why)),
             "Invalid");
}

/* A validation does not hold, or its expression has failed. */
static void violated(struct bound *b, struct pl_slice why, const char *reason)
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

static void policy_failed(struct bound *b, struct pl_slice why)
{
    if (!ignores_failures(b))
        violated(b, why, "Invalid");
}

/* ---- variables ---- */

/* The variables of a policy: their programs own the types. */
struct variables {
    struct pl_cel_program **programs;
    struct pl_cel_field *fields;
    struct pl_cel_entry *entries;
    struct pl_cel_type type;
    struct pl_cel_map map;
    struct pl_cel_var vars[PL_VAR_COUNT];
};

static void add_variable(struct bound *b, struct pl_api_evaluation *e, struct variables *v,
                         struct pl_node variable)
{
    struct pl_arena *arena = &b->ctx->arena;
    struct pl_cel value;
    struct pl_slice name = text_of(b, variable, "name");
    struct pl_slice text = text_of(b, variable, "expression");
    size_t i = v->type.field_count;
    struct pl_cel_program *program = pl_api_evaluate_kept(e, text, &value);
    if (pl_cel_is_error(value) && !e->is_over)
        value = pl_cel_fail(arena, "composited variable \"%.*s\" fails to evaluate: %.*s",
                            PL_FMT(name), PL_FMT(value.s));
    v->programs[i] = program;
    v->fields[i] = (struct pl_cel_field){
        name, name, program != NULL ? pl_cel_program_type(program) : NULL, true};
    v->entries[i] = (struct pl_cel_entry){pl_cel_string(name), value};
    v->type.field_count = v->map.count = i + 1;
}

static void variables_init(struct bound *b, struct pl_api_evaluation *e, struct variables *v)
{
    struct pl_arena *arena = &b->ctx->arena;
    struct pl_node list = pl_node_getz(b->policy, "variables");
    size_t most = pl_node_len(list) + 1;
    *v = (struct variables){.programs =
                                pl_arena_alloc(arena, most * sizeof(struct pl_cel_program *)),
                            .fields = pl_arena_alloc(arena, most * sizeof(struct pl_cel_field)),
                            .entries = pl_arena_alloc(arena, most * sizeof(struct pl_cel_entry)),
                            .type = {.kind = PL_CEL_OBJECT,
                                     .name = "kubernetes.variables",
                                     .max_size = PL_CEL_UNBOUNDED,
                                     .min_bytes = 2}};
    v->type.fields = v->fields;
    v->map.entries = v->entries;
    pl_condition_vars_of_policy(v->vars, !pl_node_is_missing(pl_node_getz(b->policy, "paramKind")),
                                true, &v->type);
    e->vars = v->vars;
    e->values[PL_VAR_VARIABLES] = (struct pl_cel){.kind = PL_CEL_MAP, .map = &v->map};
    struct pl_iter it = pl_iter(list);
    while (!e->is_over && pl_iter_next(&it))
        add_variable(b, e, v, it.value);
}

static void variables_deinit(struct variables *v)
{
    for (size_t i = 0; i < v->type.field_count; i++)
        pl_cel_program_destroy(v->programs[i]);
}

/* ---- validations ---- */

static const char *reason_of(struct pl_node validation)
{
    static const char *const reasons[] = {"Forbidden", "RequestEntityTooLarge"};
    for (size_t i = 0; i < PL_ARRAY_LEN(reasons); i++)
        if (pl_node_str_eq(pl_node_getz(validation, "reason"), pl_slice_z(reasons[i])))
            return reasons[i];
    return "Invalid";
}

static struct pl_slice message_of(struct bound *b, struct pl_api_evaluation *e,
                                  struct pl_node validation)
{
    struct pl_slice expression = text_of(b, validation, "messageExpression");
    struct pl_slice message = text_of(b, validation, "message");
    if (expression.len > 0) {
        struct pl_cel shown = pl_api_evaluate(e, expression);
        if (shown.kind == PL_CEL_STRING && shown.s.len > 0 && shown.s.len <= MOST_MESSAGE &&
            pl_slice_chr(shown.s, '\n') == NULL)
            return shown.s;
    }
    return message.len > 0 ? message
                           : pl_arena_f(&b->ctx->arena, "failed expression: %.*s",
                                        PL_FMT(text_of(b, validation, "expression")));
}

static void apply_validation(struct bound *b, struct pl_api_evaluation *e,
                             struct pl_node validation)
{
    struct pl_cel result = pl_api_evaluate(e, text_of(b, validation, "expression"));
    if (pl_cel_is_error(result))
        policy_failed(b, result.s);
    else if (result.kind != PL_CEL_BOOL || !result.b)
        violated(b, message_of(b, e, validation), reason_of(validation));
}

/* There is no audit log, so the annotation is dropped; but an expression that fails is a denial. */
static void apply_annotation(struct bound *b, struct pl_api_evaluation *e,
                             struct pl_node annotation)
{
    struct pl_slice text = text_of(b, annotation, "valueExpression");
    struct pl_cel result = pl_api_evaluate(e, text);
    if (result.kind == PL_CEL_STRING || result.kind == PL_CEL_NULL || ignores_failures(b))
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

static void apply_all(struct bound *b, struct pl_api_evaluation *e)
{
    struct variables v;
    variables_init(b, e, &v);
    if (e->is_over)
        policy_failed(b, v.entries[v.map.count - 1].value.s);
    struct pl_iter it = pl_iter(pl_node_getz(b->policy, "validations"));
    while (!e->is_over && pl_iter_next(&it))
        apply_validation(b, e, it.value);
    it = pl_iter(pl_node_getz(b->policy, "auditAnnotations"));
    while (!e->is_over && pl_iter_next(&it))
        apply_annotation(b, e, it.value);
    variables_deinit(&v);
}

static struct pl_cel namespace_of(struct pl_api_ctx *ctx)
{
    const struct pl_api_entry *entry = NULL;
    if (ctx->type->flags & PL_API_NAMESPACED)
        entry = pl_api_table_find(pl_api_builtin_table(ctx->api->registry, "", "namespaces"),
                                  ctx->request.ns);
    if (entry == NULL)
        return pl_cel_null();
    return pl_cel_from_tree(&ctx->arena, pl_tree_from_node(&ctx->arena, pl_doc_root(entry->doc)),
                            pl_condition_vars()[PL_VAR_NAMESPACE].type);
}

/* param: NULL is a value, too. */
static void apply_with(struct bound *b, const struct pl_tree *param)
{
    struct pl_api_ctx *ctx = b->ctx;
    struct pl_api_evaluation e;
    struct pl_cel_var vars[PL_VAR_COUNT];
    struct pl_buf why = PL_BUF_INIT;
    pl_api_evaluation_init(&e, ctx, b->admission, b->version, PL_API_CONDITIONS_BUDGET);
    pl_condition_vars_of_policy(vars, !pl_node_is_missing(pl_node_getz(b->policy, "paramKind")),
                                true, NULL);
    e.vars = vars;
    if (param != NULL)
        e.values[PL_VAR_PARAMS] = pl_cel_from_tree(&ctx->arena, param, NULL);
    enum pl_api_match match =
        pl_api_match_conditions(&e, pl_node_getz(b->policy, "matchConditions"), &why);
    if (match == PL_API_MATCH_FAILED)
        policy_failed(b, pl_arena_copy(&ctx->arena, pl_buf_slice(&why)));
    pl_buf_deinit(&why);
    if (match != PL_API_MATCHES)
        return;
    e.left = POLICY_BUDGET;
    e.values[PL_VAR_NAMESPACE] = namespace_of(ctx);
    apply_all(b, &e);
}

/* ---- parameters ---- */

static const struct pl_api_type *param_type(struct bound *b)
{
    struct pl_scratch kind_scratch, version_scratch;
    struct pl_node wanted = pl_node_getz(b->policy, "paramKind");
    struct pl_slice kind = pl_node_str(pl_node_getz(wanted, "kind"), &kind_scratch);
    struct pl_slice version = pl_node_str(pl_node_getz(wanted, "apiVersion"), &version_scratch);
    for (const struct pl_api_type *type = pl_api_registry_first(b->ctx->api->registry);
         type != NULL; type = type->next)
        for (size_t i = 0; i < type->version_count; i++) {
            char text[PL_KIND_TEXT];
            if (pl_slice_eqz(kind, type->kind) &&
                pl_slice_eq(version, pl_api_version_text(&type->versions[i], text)))
                return type;
        }
    return NULL;
}

static void apply_param(struct bound *b, const struct pl_api_entry *entry)
{
    struct pl_arena *arena = &b->ctx->arena;
    struct pl_tree *param = pl_tree_from_node(arena, pl_doc_root(entry->doc));
    struct pl_node kind = pl_node_getz(b->policy, "paramKind");
    pl_tree_setz(arena, param, "apiVersion",
                 pl_tree_from_node(arena, pl_node_getz(kind, "apiVersion")));
    pl_tree_setz(arena, param, "kind", pl_tree_from_node(arena, pl_node_getz(kind, "kind")));
    apply_with(b, param);
}

/* Returns the number of parameters. */
static size_t apply_named(struct bound *b, const struct pl_api_type *type, struct pl_slice ns,
                          struct pl_slice name)
{
    const struct pl_api_entry *entry =
        pl_api_table_find(type->table, pl_api_key(&b->ctx->arena, ns, name));
    if (entry != NULL)
        apply_param(b, entry);
    return entry != NULL;
}

static size_t apply_selected(struct bound *b, const struct pl_api_type *type, struct pl_slice ns,
                             struct pl_node wanted)
{
    struct pl_selector *selector = pl_selector_from_node(wanted, NULL);
    struct pl_api_span span = pl_api_table_span(type->table, ns);
    size_t count = 0;
    for (size_t i = span.first; selector != NULL && i < span.end; i++) {
        const struct pl_api_entry *entry = type->table->entries[i];
        if (!pl_selector_matches(selector,
                                 pl_node_dig(pl_doc_root(entry->doc), "metadata", "labels")))
            continue;
        apply_param(b, entry);
        count++;
    }
    pl_selector_destroy(selector);
    return count;
}

/* The namespace of parameters: the binding's, or the request's. False: there is none. */
static bool param_namespace(struct bound *b, const struct pl_api_type *type, struct pl_node ref,
                            struct pl_slice *ns)
{
    bool placed = type->flags & PL_API_NAMESPACED;
    *ns = text_of(b, ref, "namespace");
    if (!placed && ns->len > 0) {
        misconfigured(b, pl_slice_z("paramRef.namespace must not be provided for a cluster-scoped "
                                    "`paramKind`"));
        return false;
    }
    if (placed && ns->len == 0)
        *ns = b->ctx->request.ns;
    if (placed && ns->len == 0)
        misconfigured(b, pl_slice_z("cannot use namespaced paramRef in policy binding that matches "
                                    "cluster-scoped resources"));
    return !placed || ns->len > 0;
}

static void apply_params(struct bound *b)
{
    struct pl_node kind = pl_node_getz(b->policy, "paramKind");
    struct pl_node ref = pl_node_getz(b->binding, "paramRef");
    struct pl_slice ns, name;
    if (pl_node_type(kind) != PL_OBJECT || pl_node_type(ref) != PL_OBJECT) {
        apply_with(b, NULL);
        return;
    }
    const struct pl_api_type *type = param_type(b);
    if (type == NULL) {
        misconfigured(b, pl_arena_f(&b->ctx->arena,
                                    "failed to find resource referenced by paramKind: '%.*s, "
                                    "Kind=%.*s'",
                                    PL_FMT(text_of(b, kind, "apiVersion")),
                                    PL_FMT(text_of(b, kind, "kind"))));
        return;
    }
    if (!param_namespace(b, type, ref, &ns))
        return;
    name = text_of(b, ref, "name");
    size_t count = name.len > 0 ? apply_named(b, type, ns, name)
                                : apply_selected(b, type, ns, pl_node_getz(ref, "selector"));
    if (count == 0 &&
        pl_node_str_eq(pl_node_getz(ref, "parameterNotFoundAction"), pl_slice_z("Deny")))
        misconfigured(b, pl_slice_z("no params found for policy binding with `Deny` "
                                    "parameterNotFoundAction"));
}

/* ---- which policies ---- */

static const struct pl_api_table *policy_table(struct pl_api_ctx *ctx, const char *plural)
{
    return pl_api_builtin_table(ctx->api->registry, "admissionregistration.k8s.io", plural);
}

static bool is_matched(struct bound *b, struct pl_node match, size_t *version)
{
    struct pl_buf why = PL_BUF_INIT;
    enum pl_api_match found = pl_api_admit_match_policy(b->ctx, match, b->admission, version, &why);
    if (found == PL_API_MATCH_FAILED)
        misconfigured(b, pl_arena_copy(&b->ctx->arena, pl_buf_slice(&why)));
    pl_buf_deinit(&why);
    return found == PL_API_MATCHES;
}

static void apply_binding(struct bound *b, const struct pl_api_entry *entry)
{
    struct pl_node spec = pl_node_getz(pl_doc_root(entry->doc), "spec");
    struct pl_node match = pl_node_getz(spec, "matchResources");
    size_t version;
    if (!pl_node_str_eq(pl_node_getz(spec, "policyName"), b->policy_name))
        return;
    b->binding = spec;
    b->binding_name = pl_slice_z(entry->key);
    if (pl_node_type(match) != PL_OBJECT || is_matched(b, match, &version))
        apply_params(b);
}

/* The objects as the version that the policy matches has them; other versions of a kind that is
 * converted by a webhook are seen as they were sent. */
static struct pl_api_admission as_matched(struct bound *b, const struct pl_api_admission *sent)
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

static void apply_policy(struct pl_api_ctx *ctx, const struct pl_api_admission *admission,
                         const struct pl_api_entry *entry, bool *denied)
{
    const struct pl_api_table *bindings = policy_table(ctx, "validatingadmissionpolicybindings");
    struct bound b = {.ctx = ctx,
                      .admission = admission,
                      .policy = pl_node_getz(pl_doc_root(entry->doc), "spec"),
                      .policy_name = pl_slice_z(entry->key),
                      .denied = denied};
    if (!is_matched(&b, pl_node_getz(b.policy, "matchConstraints"), &b.version))
        return;
    struct pl_api_admission seen = as_matched(&b, admission);
    b.admission = &seen;
    for (size_t i = 0; i < bindings->count; i++)
        apply_binding(&b, bindings->entries[i]);
}

bool pl_api_policies_any(struct pl_api_ctx *ctx)
{
    return policy_table(ctx, "validatingadmissionpolicybindings")->count > 0;
}

int pl_api_policies_check(struct pl_api_ctx *ctx, const struct pl_api_admission *admission)
{
    const struct pl_api_table *policies;
    bool denied = false;
    if (!pl_api_policies_any(ctx))
        return 0;
    policies = policy_table(ctx, "validatingadmissionpolicies");
    for (size_t i = 0; i < policies->count; i++)
        apply_policy(ctx, admission, policies->entries[i], &denied);
    return denied ? -1 : 0;
}
