/* Policies of both kinds: which of them match a request, with which parameters their expressions
 * are evaluated, their conditions and variables. What follows from the results is in
 * policy_validate.c and policy_mutate.c.
 *
 * Policies go in the order of their names, bindings too. A policy without a binding does nothing. A
 * variable is evaluated once for each parameter; its failure counts only where it is used. Nothing
 * here waits or writes. */
#include "apicall/policy_impl.h"

#include "object/kind.h"
#include "object/selector.h"

#include <string.h>

struct pl_slice pl_policy_text(struct pl_policy_bound *b, struct pl_node node, const char *member)
{
    struct pl_scratch scratch;
    struct pl_slice text = pl_node_str(pl_node_getz(node, member), &scratch);
    return pl_arena_copy(&b->ctx->arena, pl_slice_trim(text));
}

bool pl_policy_ignores(const struct pl_policy_bound *b)
{
    return pl_node_str_eq(pl_node_getz(b->policy, "failurePolicy"), pl_slice_z("Ignore"));
}

/* The policy can't be evaluated: the fault is the policy's, not the object's. */
static void misconfigured(struct pl_policy_bound *b, struct pl_slice why)
{
    if (!pl_policy_ignores(b))
        b->kind->misconfigured(b, pl_arena_f(&b->ctx->arena, "failed to configure %s: %.*s",
                                             b->binding_name.len > 0 ? "binding" : "policy",
                                             PL_FMT(why)));
}

/* ---- variables ---- */

static void add_variable(struct pl_policy_bound *b, struct pl_api_evaluation *e,
                         struct pl_policy_variables *v, struct pl_node variable)
{
    struct pl_arena *arena = &b->ctx->arena;
    struct pl_cel value;
    struct pl_slice name = pl_policy_text(b, variable, "name");
    struct pl_slice text = pl_policy_text(b, variable, "expression");
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

void pl_policy_variables_init(struct pl_policy_bound *b, struct pl_api_evaluation *e,
                              struct pl_policy_variables *v)
{
    struct pl_arena *arena = &b->ctx->arena;
    struct pl_node list = pl_node_getz(b->policy, "variables");
    size_t most = pl_node_len(list) + 1;
    *v = (struct pl_policy_variables){
        .programs = pl_arena_alloc(arena, most * sizeof(struct pl_cel_program *)),
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

void pl_policy_variables_deinit(struct pl_policy_variables *v)
{
    for (size_t i = 0; i < v->type.field_count; i++)
        pl_cel_program_destroy(v->programs[i]);
}

/* ---- conditions ---- */

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

void pl_policy_evaluation_init(struct pl_policy_bound *b, const struct pl_api_admission *admission,
                               const struct pl_tree *param, struct pl_api_evaluation *e)
{
    pl_api_evaluation_init(e, b->ctx, admission, b->version, PL_POLICY_BUDGET);
    e->values[PL_VAR_NAMESPACE] = namespace_of(b->ctx);
    if (param != NULL)
        e->values[PL_VAR_PARAMS] = pl_cel_from_tree(&b->ctx->arena, param, NULL);
}

enum pl_api_match pl_policy_begin(struct pl_policy_bound *b,
                                  const struct pl_api_admission *admission,
                                  const struct pl_tree *param, struct pl_api_evaluation *e,
                                  struct pl_slice *why)
{
    struct pl_cel_var vars[PL_VAR_COUNT];
    struct pl_buf faults = PL_BUF_INIT;
    pl_policy_evaluation_init(b, admission, param, e);
    pl_condition_vars_of_policy(vars, !pl_node_is_missing(pl_node_getz(b->policy, "paramKind")),
                                true, NULL);
    struct pl_cel ns = e->values[PL_VAR_NAMESPACE];
    e->values[PL_VAR_NAMESPACE] = pl_cel_null();
    e->vars = vars;
    e->left = PL_API_CONDITIONS_BUDGET;
    enum pl_api_match match =
        pl_api_match_conditions(e, pl_node_getz(b->policy, "matchConditions"), &faults);
    *why = pl_arena_copy(&b->ctx->arena, pl_buf_slice(&faults));
    pl_buf_deinit(&faults);
    e->vars = pl_condition_vars();
    e->left = PL_POLICY_BUDGET;
    e->values[PL_VAR_NAMESPACE] = ns;
    return match;
}

/* ---- parameters ---- */

static const struct pl_api_type *param_type(struct pl_policy_bound *b)
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

bool pl_policy_param_is_custom(struct pl_policy_bound *b)
{
    const struct pl_api_type *type = param_type(b);
    return type != NULL && type->is_custom;
}

static void apply_param(struct pl_policy_bound *b, const struct pl_api_entry *entry)
{
    struct pl_arena *arena = &b->ctx->arena;
    struct pl_tree *param = pl_tree_from_node(arena, pl_doc_root(entry->doc));
    struct pl_node kind = pl_node_getz(b->policy, "paramKind");
    pl_tree_setz(arena, param, "apiVersion",
                 pl_tree_from_node(arena, pl_node_getz(kind, "apiVersion")));
    pl_tree_setz(arena, param, "kind", pl_tree_from_node(arena, pl_node_getz(kind, "kind")));
    b->param_key = pl_slice_z(entry->key);
    b->kind->apply(b, param);
}

/* Returns the number of parameters. */
static size_t apply_named(struct pl_policy_bound *b, const struct pl_api_type *type,
                          struct pl_slice ns, struct pl_slice name)
{
    const struct pl_api_entry *entry =
        pl_api_table_find(type->table, pl_api_key(&b->ctx->arena, ns, name));
    if (entry != NULL)
        apply_param(b, entry);
    return entry != NULL;
}

static size_t apply_selected(struct pl_policy_bound *b, const struct pl_api_type *type,
                             struct pl_slice ns, struct pl_node wanted)
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
static bool param_namespace(struct pl_policy_bound *b, const struct pl_api_type *type,
                            struct pl_node ref, struct pl_slice *ns)
{
    bool placed = type->flags & PL_API_NAMESPACED;
    *ns = pl_policy_text(b, ref, "namespace");
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

static void apply_params(struct pl_policy_bound *b)
{
    struct pl_node kind = pl_node_getz(b->policy, "paramKind");
    struct pl_node ref = pl_node_getz(b->binding, "paramRef");
    struct pl_slice ns, name;
    if (pl_node_type(kind) != PL_OBJECT || pl_node_type(ref) != PL_OBJECT) {
        b->kind->apply(b, NULL);
        return;
    }
    const struct pl_api_type *type = param_type(b);
    if (!param_namespace(b, type, ref, &ns))
        return;
    name = pl_policy_text(b, ref, "name");
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

static bool is_matched(struct pl_policy_bound *b, struct pl_node match, size_t *version)
{
    struct pl_buf why = PL_BUF_INIT;
    enum pl_api_match found = pl_api_admit_match_policy(b->ctx, match, b->admission, version, &why);
    if (found == PL_API_MATCH_FAILED)
        misconfigured(b, pl_arena_copy(&b->ctx->arena, pl_buf_slice(&why)));
    pl_buf_deinit(&why);
    return found == PL_API_MATCHES;
}

static bool lacks_param_type(struct pl_policy_bound *b)
{
    return pl_node_type(pl_node_getz(b->policy, "paramKind")) == PL_OBJECT && param_type(b) == NULL;
}

static bool binds(const struct pl_policy_bound *b, const struct pl_api_entry *entry)
{
    struct pl_node spec = pl_node_getz(pl_doc_root(entry->doc), "spec");
    return pl_node_str_eq(pl_node_getz(spec, "policyName"), b->policy_name);
}

/* This fault counts as soon as the policy has any binding, whatever that matches. */
static void tell_no_param_type(struct pl_policy_bound *b, const struct pl_api_table *bindings)
{
    struct pl_node kind = pl_node_getz(b->policy, "paramKind");
    for (size_t i = 0; i < bindings->count; i++)
        if (binds(b, bindings->entries[i])) {
            misconfigured(b, pl_arena_f(&b->ctx->arena,
                                        "failed to find resource referenced by paramKind: '%.*s, "
                                        "Kind=%.*s'",
                                        PL_FMT(pl_policy_text(b, kind, "apiVersion")),
                                        PL_FMT(pl_policy_text(b, kind, "kind"))));
            return;
        }
}

static void apply_binding(struct pl_policy_bound *b, const struct pl_api_entry *entry)
{
    struct pl_node spec = pl_node_getz(pl_doc_root(entry->doc), "spec");
    struct pl_node match = pl_node_getz(spec, "matchResources");
    size_t version;
    if (!binds(b, entry))
        return;
    b->binding = spec;
    b->binding_name = pl_slice_z(entry->key);
    b->param_key = pl_slice("", 0);
    if (pl_node_type(match) != PL_OBJECT || is_matched(b, match, &version))
        apply_params(b);
}

static void apply_policy(struct pl_policy_bound *b, const struct pl_api_entry *entry)
{
    const struct pl_api_table *bindings = policy_table(b->ctx, b->kind->bindings);
    b->policy = pl_node_getz(pl_doc_root(entry->doc), "spec");
    b->policy_name = pl_slice_z(entry->key);
    b->binding_name = b->param_key = pl_slice("", 0);
    if (!is_matched(b, pl_node_getz(b->policy, "matchConstraints"), &b->version))
        return;
    if (lacks_param_type(b)) {
        tell_no_param_type(b, bindings);
        return;
    }
    for (size_t i = 0; i < bindings->count; i++)
        apply_binding(b, bindings->entries[i]);
}

void pl_policies_apply(struct pl_api_ctx *ctx, const struct pl_api_admission *admission,
                       const struct pl_policy_kind *kind, void *result)
{
    struct pl_policy_bound b = {.ctx = ctx, .admission = admission, .kind = kind, .result = result};
    if (policy_table(ctx, kind->bindings)->count == 0)
        return;
    const struct pl_api_table *policies = policy_table(ctx, kind->policies);
    for (size_t i = 0; i < policies->count; i++)
        apply_policy(&b, policies->entries[i]);
}

bool pl_api_policies_any(struct pl_api_ctx *ctx)
{
    return policy_table(ctx, "validatingadmissionpolicybindings")->count > 0 ||
           policy_table(ctx, "mutatingadmissionpolicybindings")->count > 0;
}
