/* Validation of ValidatingAdmissionPolicies and their bindings: which requests match, parameters,
 * variables, expressions. Every expression is compiled with the types of the variables that it may
 * use, so that apicall/policy can evaluate whatever is accepted here. */
#include "valid/kinds.h"

#include "base/text.h"
#include "cel/cel.h"
#include "valid/conditions.h"

#include <string.h>

#define MOST_ANNOTATIONS 20
#define MOST_ANNOTATION  5120 /* bytes of an annotation's expression */

#define SPEC PL_MEMBER(NULL, "spec")

/* ---- which requests match ---- */

static void policy_check_rules(struct pl_api_faults *f, const struct pl_spot *at,
                               const struct pl_tree *rules)
{
    size_t i = 0;
    PL_EACH(item, rules)
    {
        const struct pl_spot *rule = PL_INDEX(at, i++);
        const struct pl_spot *names_at = PL_MEMBER(rule, "resourceNames");
        const struct pl_tree *names = pl_tree_getz(item->value, "resourceNames");
        size_t k = 0;
        PL_EACH(name, names)
        {
            for (const struct pl_tree_item *before = names->first; before != name;
                 before = before->next)
                if (pl_tree_equal(before->value, name->value)) {
                    pl_bad_duplicate(f, PL_INDEX(names_at, k), name->value);
                    break;
                }
            k++;
        }
        pl_webhook_rule(f, rule, item->value);
    }
}

static void check_match(struct pl_api_faults *f, const struct pl_spot *at,
                        const struct pl_tree *match)
{
    pl_must_be(f, PL_MEMBER(at, "matchPolicy"), pl_tree_getz(match, "matchPolicy"),
               "Equivalent,Exact");
    pl_selector(f, PL_MEMBER(at, "namespaceSelector"), pl_tree_getz(match, "namespaceSelector"),
                NULL);
    pl_selector(f, PL_MEMBER(at, "objectSelector"), pl_tree_getz(match, "objectSelector"), NULL);
    policy_check_rules(f, PL_MEMBER(at, "resourceRules"), pl_tree_getz(match, "resourceRules"));
    policy_check_rules(f, PL_MEMBER(at, "excludeResourceRules"),
                       pl_tree_getz(match, "excludeResourceRules"));
}

static void check_param_kind(struct pl_api_faults *f, const struct pl_spot *at,
                             const struct pl_tree *kind)
{
    const struct pl_tree *whole = pl_tree_getz(kind, "apiVersion");
    struct pl_slice version = pl_tree_text(whole);
    const struct pl_spot *spot = PL_MEMBER(at, "apiVersion");
    const char *slash = pl_slice_chr(version, '/');
    size_t group = slash != NULL ? (size_t)(slash - version.ptr) : 0;
    struct pl_slice rest = slash != NULL ? pl_slice(slash + 1, version.len - group - 1) : version;
    if (version.len == 0)
        pl_bad_required(f, spot, "");
    else if (pl_slice_chr(rest, '/') != NULL)
        pl_bad_value(f, spot, whole, "unexpected GroupVersion string: %.*s", PL_FMT(version));
    else {
        pl_subdomain(f, spot, pl_tree_str(f->arena, pl_slice(version.ptr, group)), NULL);
        if (rest.len == 0)
            pl_bad_value(f, spot, whole, "version must be specified");
        else
            pl_dns1035(f, spot, pl_tree_str(f->arena, rest), NULL);
    }
    if (pl_tree_text_at(kind, "kind").len == 0)
        pl_bad_required(f, PL_MEMBER(at, "kind"), "");
    else
        pl_mixed_dns1035(f, PL_MEMBER(at, "kind"), pl_tree_getz(kind, "kind"));
}

/* ---- expressions ---- */

struct scope {
    struct pl_api_faults *f;
    bool has_params;
    bool has_variables;           /* the policy has some */
    bool makes_patches;           /* the expressions are those of mutations */
    struct pl_cel_type variables; /* the type of `variables`, as far as they have been checked */
    struct pl_cel_field *fields;
    struct pl_cel_program **programs; /* of the variables; their types live in them */
};

static void bad_expression(struct scope *s, const struct pl_spot *at, struct pl_slice text,
                           const char *what, const char *why)
{
    pl_bad_value(s->f, at, pl_tree_str(s->f->arena, text), "%s%s", what, why);
}

/* The program, or NULL with a fault. */
static struct pl_cel_program *compile(struct scope *s, const struct pl_spot *at,
                                      struct pl_slice text, bool has_authorizer)
{
    struct pl_cel_var vars[PL_VAR_COUNT];
    struct pl_buf why = PL_BUF_INIT;
    pl_condition_vars_of_policy(vars, s->has_params, has_authorizer,
                                s->has_variables ? &s->variables : NULL);
    struct pl_cel_program *program = s->makes_patches
                                         ? pl_cel_compile_patch(text, vars, PL_VAR_COUNT, &why)
                                         : pl_cel_compile(text, vars, PL_VAR_COUNT, &why);
    if (program == NULL)
        bad_expression(s, at, text, "compilation failed: ", pl_buf_z(&why));
    pl_buf_deinit(&why);
    return program;
}

/* The expression must be of the type `want`; or_null: null is a value, too. */
static void check_typed(struct scope *s, const struct pl_spot *at, struct pl_slice text,
                        enum pl_cel_kind want, bool or_null, bool has_authorizer)
{
    struct pl_cel_program *program = compile(s, at, text, has_authorizer);
    if (program == NULL)
        return;
    enum pl_cel_kind is = pl_cel_program_type(program)->kind;
    struct pl_buf why = PL_BUF_INIT;
    if (is != want && !(or_null && is == PL_CEL_NULL)) {
        pl_buf_add_z(&why, or_null                 ? "one of [string null_type]"
                           : want == PL_CEL_STRING ? "string"
                                                   : "bool");
        pl_buf_add_z(&why, " but got ");
        pl_cel_type_write(&why, pl_cel_program_type(program));
        bad_expression(s, at, text, "must evaluate to ", pl_buf_z(&why));
    }
    pl_buf_deinit(&why);
    pl_cel_program_destroy(program);
}

static bool is_identifier(struct pl_slice name)
{
    return pl_is_c_identifier(name) &&
           !pl_is_among(name, "true,false,null,in,as,break,const,continue,else,for,"
                              "function,if,import,let,loop,package,namespace,return,var,"
                              "void,while");
}

static void check_variable(struct scope *s, const struct pl_spot *at,
                           const struct pl_tree *variable)
{
    struct pl_slice name = pl_tree_text_at(variable, "name");
    struct pl_slice text = pl_tree_text_at(variable, "expression");
    if (pl_slice_trim(name).len == 0)
        pl_bad_required(s->f, PL_MEMBER(at, "name"), "name is not specified");
    else if (!is_identifier(name))
        pl_bad_value(s->f, PL_MEMBER(at, "name"), pl_tree_getz(variable, "name"),
                     "must be a valid CEL identifier");
    if (pl_slice_trim(text).len == 0) {
        pl_bad_required(s->f, PL_MEMBER(at, "expression"), "expression is not specified");
        return;
    }
    struct pl_cel_program *program = compile(s, PL_MEMBER(at, "expression"), text, true);
    const struct pl_cel_type *type = program != NULL ? pl_cel_program_type(program) : NULL;
    size_t i = s->variables.field_count++;
    s->programs[i] = program;
    s->fields[i] = (struct pl_cel_field){name, name, type, true};
}

/* ---- validations ---- */

static void check_message(struct scope *s, const struct pl_spot *at, const struct pl_tree *value)
{
    struct pl_slice text = pl_tree_text(value);
    if (text.len > 0 && pl_slice_trim(text).len == 0)
        pl_bad_value(s->f, at, value, "must be non-empty if specified");
    else if (pl_slice_has_break(pl_slice_trim(text)))
        pl_bad_value(s->f, at, value, "must not contain line breaks");
}

static void check_validation(struct scope *s, const struct pl_spot *at,
                             const struct pl_tree *validation)
{
    struct pl_slice text = pl_tree_text_at(validation, "expression");
    struct pl_slice shown = pl_tree_text_at(validation, "messageExpression");
    if (pl_slice_trim(text).len == 0)
        pl_bad_required(s->f, PL_MEMBER(at, "expression"), "expression is not specified");
    else
        check_typed(s, PL_MEMBER(at, "expression"), text, PL_CEL_BOOL, false, true);
    if (shown.len > 0 && pl_slice_trim(shown).len == 0)
        pl_bad_value(s->f, PL_MEMBER(at, "messageExpression"),
                     pl_tree_getz(validation, "messageExpression"),
                     "must be non-empty if specified");
    else if (shown.len > 0)
        check_typed(s, PL_MEMBER(at, "messageExpression"), shown, PL_CEL_STRING, false, false);
    check_message(s, PL_MEMBER(at, "message"), pl_tree_getz(validation, "message"));
    pl_if_set(s->f, PL_MEMBER(at, "reason"), pl_tree_getz(validation, "reason"),
              "Forbidden,Invalid,RequestEntityTooLarge");
}

static void check_annotation(struct scope *s, const struct pl_spot *at, struct pl_slice policy,
                             const struct pl_tree *annotation)
{
    struct pl_arena *arena = s->f->arena;
    struct pl_slice text = pl_tree_text_at(annotation, "valueExpression");
    struct pl_slice key = pl_tree_text_at(annotation, "key");
    struct pl_slice whole = pl_arena_f(arena, "%.*s/%.*s", PL_FMT(policy), PL_FMT(key));
    const struct pl_spot *text_at = PL_MEMBER(at, "valueExpression");
    if (policy.len == 0)
        pl_bad_value(s->f, PL_MEMBER(at, "key"), pl_tree_getz(annotation, "key"),
                     "requires metadata.name be non-empty");
    else
        pl_qualified(s->f, PL_MEMBER(at, "key"), pl_tree_str(arena, whole), "always");
    if (pl_slice_trim(text).len == 0)
        pl_bad_required(s->f, text_at, "valueExpression is not specified");
    else if (pl_slice_trim(text).len > MOST_ANNOTATION)
        pl_bad_required(s->f, text_at, "must not exceed 5120 bytes in length");
    else
        check_typed(s, text_at, pl_slice_trim(text), PL_CEL_STRING, true, true);
}

static void policy_check_annotations(struct scope *s, const struct pl_spot *at,
                                     struct pl_slice policy, const struct pl_tree *list)
{
    size_t i = 0;
    if (list != NULL && list->count > MOST_ANNOTATIONS) {
        pl_bad_value(s->f, at, list, "must not have more than %d auditAnnotations",
                     MOST_ANNOTATIONS);
        return;
    }
    PL_EACH(item, list)
    {
        const struct pl_spot *place = PL_INDEX(at, i++);
        struct pl_slice key = pl_tree_text_at(item->value, "key");
        check_annotation(s, place, policy, item->value);
        for (const struct pl_tree_item *before = list->first; before != item; before = before->next)
            if (pl_slice_eq(pl_tree_text_at(before->value, "key"), key)) {
                pl_bad_duplicate(s->f, PL_MEMBER(place, "key"), pl_tree_getz(item->value, "key"));
                break;
            }
    }
}

/* ---- policies ---- */

static void check_expressions(struct scope *s, const struct pl_tree *object)
{
    const struct pl_tree *spec = pl_tree_getz(object, "spec");
    const struct pl_tree *validations = pl_tree_getz(spec, "validations");
    const struct pl_tree *annotations = pl_tree_getz(spec, "auditAnnotations");
    const struct pl_spot *list = PL_MEMBER(SPEC, "validations");
    const struct pl_spot *annotations_at = PL_MEMBER(SPEC, "auditAnnotations");
    static const char none[] = "validations or auditAnnotations must contain at least one item";
    size_t i = 0;
    if (pl_is_empty(validations) && pl_is_empty(annotations)) {
        pl_bad_required(s->f, list, none);
        pl_bad_required(s->f, annotations_at, none);
    }
    PL_EACH(item, validations)
    check_validation(s, PL_INDEX(list, i++), item->value);
    policy_check_annotations(s, annotations_at, pl_tree_text_at(object, "metadata.name"),
                             annotations);
}

static void check_variables(struct scope *s, const struct pl_tree *object)
{
    const struct pl_tree *list = pl_tree_dig(object, "spec.variables");
    const struct pl_spot *at = PL_MEMBER(SPEC, "variables");
    size_t i = 0, count = pl_tree_is(list, PL_ARRAY) ? list->count : 0;
    s->fields = pl_arena_alloc(s->f->arena, (count + 1) * sizeof(*s->fields));
    s->programs = pl_arena_alloc(s->f->arena, (count + 1) * sizeof(struct pl_cel_program *));
    s->variables.fields = s->fields;
    PL_EACH(item, list)
    check_variable(s, PL_INDEX(at, i++), item->value);
}

static void policy_check_conditions(struct pl_api_faults *f, const struct pl_tree *spec,
                                    const struct pl_tree *old, bool has_params)
{
    struct pl_cel_var vars[PL_VAR_COUNT];
    const struct pl_tree *is = pl_tree_getz(spec, "matchConditions");
    const struct pl_tree *was = pl_tree_getz(old, "matchConditions");
    if (was != NULL && pl_tree_equal(is, was))
        return;
    pl_condition_vars_of_policy(vars, has_params, true, NULL);
    pl_webhook_conditions(f, PL_MEMBER(SPEC, "matchConditions"), is, was, vars);
}

static void check_policy(struct scope *s, const struct pl_tree *object, const struct pl_tree *old)
{
    const struct pl_tree *spec = pl_tree_getz(object, "spec");
    const struct pl_tree *kind = pl_tree_getz(spec, "paramKind");
    const struct pl_tree *match = pl_tree_getz(spec, "matchConstraints");
    const struct pl_spot *match_at = PL_MEMBER(SPEC, "matchConstraints");
    struct pl_api_faults *f = s->f;
    s->has_params = kind != NULL;
    s->has_variables = !pl_is_empty(pl_tree_getz(spec, "variables"));
    s->variables = (struct pl_cel_type){.kind = PL_CEL_OBJECT,
                                        .name = "kubernetes.variables",
                                        .max_size = PL_CEL_UNBOUNDED,
                                        .min_bytes = 2};
    pl_must_be(f, PL_MEMBER(SPEC, "failurePolicy"), pl_tree_getz(spec, "failurePolicy"),
               "Fail,Ignore");
    if (kind != NULL)
        check_param_kind(f, PL_MEMBER(SPEC, "paramKind"), kind);
    if (match == NULL)
        pl_bad_required(f, match_at, "");
    else
        check_match(f, match_at, match);
    if (match != NULL && pl_is_empty(pl_tree_getz(match, "resourceRules")))
        pl_bad_required(f, PL_MEMBER(match_at, "resourceRules"), "");
    policy_check_conditions(f, spec, pl_tree_getz(old, "spec"), s->has_params);
    check_variables(s, object);
}

static void scope_deinit(struct scope *s)
{
    for (size_t i = 0; i < s->variables.field_count; i++)
        pl_cel_program_destroy(s->programs[i]);
}

void pl_valid_policy(struct pl_api_faults *f, const struct pl_tree *object,
                     const struct pl_tree *old)
{
    struct scope s = {.f = f};
    check_policy(&s, object, old);
    check_expressions(&s, object);
    scope_deinit(&s);
}

/* ---- policies that change objects ---- */

/* at: a policy's or a binding's rules; only creations and updates can be changed. */
static void check_operations(struct pl_api_faults *f, const struct pl_spot *at,
                             const struct pl_tree *match)
{
    const struct pl_spot *spot = PL_MEMBER(PL_MEMBER(at, "resourceRules"), "operations");
    PL_EACH(rule, pl_tree_getz(match, "resourceRules"))
    PL_EACH(item, pl_tree_getz(rule->value, "operations"))
    pl_must_be(f, spot, item->value, "*,CONNECT,CREATE,UPDATE");
}

static void check_patch(struct scope *s, const struct pl_spot *at, struct pl_slice text,
                        const char *want)
{
    struct pl_buf is = PL_BUF_INIT;
    text = pl_slice_trim(text);
    if (text.len == 0) {
        pl_bad_required(s->f, at, "");
        return;
    }
    struct pl_cel_program *program = compile(s, at, text, true);
    if (program == NULL)
        return;
    pl_cel_type_write(&is, pl_cel_program_type(program));
    if (!pl_slice_eqz(pl_buf_slice(&is), want))
        pl_bad_value(s->f, at, pl_tree_str(s->f->arena, text), "must evaluate to %s but got %s",
                     want, pl_buf_z(&is));
    pl_buf_deinit(&is);
    pl_cel_program_destroy(program);
}

static void check_mutation(struct scope *s, const struct pl_spot *at,
                           const struct pl_tree *mutation)
{
    struct pl_api_faults *f = s->f;
    static const char types[][2][20] = {{"ApplyConfiguration", "applyConfiguration"},
                                        {"JSONPatch", "jsonPatch"}};
    const struct pl_tree *type = pl_tree_getz(mutation, "patchType");
    pl_needs_one(f, PL_MEMBER(at, "patchType"), type, "ApplyConfiguration,JSONPatch");
    for (size_t i = 0; i < PL_ARRAY_LEN(types); i++) {
        const char *member = types[i][1], *other = types[1 - i][1];
        const struct pl_tree *patch = pl_tree_getz(mutation, member);
        if (!pl_slice_eqz(pl_tree_text(type), types[i][0]))
            continue;
        if (patch == NULL)
            pl_bad_required(
                f, PL_MEMBER(at, member),
                pl_arena_f(f->arena, "must be specified when patchType is %s", types[i][0]).ptr);
        else
            check_patch(s, PL_MEMBER(PL_MEMBER(at, member), "expression"),
                        pl_tree_text_at(patch, "expression"),
                        i == 0 ? "Object" : "list(JSONPatch)");
        if (pl_tree_getz(mutation, other) != NULL)
            pl_bad_value(f, PL_MEMBER(at, other),
                         pl_tree_str(f->arena, pl_arena_f(f->arena, "{%s}", other)),
                         "must not be specified when patchType is %s", types[i][0]);
    }
}

void pl_valid_mutating_policy(struct pl_api_faults *f, const struct pl_tree *object,
                              const struct pl_tree *old)
{
    const struct pl_tree *spec = pl_tree_getz(object, "spec");
    const struct pl_tree *mutations = pl_tree_getz(spec, "mutations");
    struct scope s = {.f = f};
    size_t i = 0;
    check_policy(&s, object, old);
    s.has_variables = s.makes_patches = true;
    check_operations(f, PL_MEMBER(SPEC, "matchConstraints"),
                     pl_tree_getz(spec, "matchConstraints"));
    if (pl_is_empty(mutations))
        pl_bad_required(f, PL_MEMBER(SPEC, "mutations"),
                        "mutations must contain at least one item");
    PL_EACH(item, mutations)
    check_mutation(&s, PL_INDEX(PL_MEMBER(SPEC, "mutations"), i++), item->value);
    pl_needs_one(f, PL_MEMBER(SPEC, "reinvocationPolicy"), pl_tree_getz(spec, "reinvocationPolicy"),
                 "IfNeeded,Never");
    scope_deinit(&s);
}

/* ---- bindings ---- */

static void check_params(struct pl_api_faults *f, const struct pl_spot *at,
                         const struct pl_tree *params)
{
    static const char both[] = "name and selector are mutually exclusive";
    const struct pl_tree *selector = pl_tree_getz(params, "selector");
    bool has_name = pl_tree_text_at(params, "name").len > 0;
    if (has_name && selector != NULL) {
        pl_bad_forbidden(f, PL_MEMBER(at, "name"), both);
        pl_bad_forbidden(f, PL_MEMBER(at, "selector"), both);
    }
    pl_selector(f, PL_MEMBER(at, "selector"), selector, NULL);
    if (!has_name && selector == NULL)
        pl_bad_required(f, at, "one of name or selector must be specified");
    pl_needs_one(f, PL_MEMBER(at, "parameterNotFoundAction"),
                 pl_tree_getz(params, "parameterNotFoundAction"), "Deny,Allow");
}

static void check_actions(struct pl_api_faults *f, const struct pl_spot *at,
                          const struct pl_tree *actions)
{
    struct pl_map seen = PL_MAP_INIT;
    size_t i = 0;
    PL_EACH(item, actions)
    {
        pl_if_set(f, PL_INDEX(at, i), item->value, "Audit,Deny,Warn");
        if (pl_comes_again(&seen, item->value, NULL))
            pl_bad_duplicate(f, PL_INDEX(at, i), item->value);
        i++;
    }
    pl_map_deinit(&seen);
    if (actions != NULL && pl_tree_has_text(actions, pl_slice_z("Deny")) &&
        pl_tree_has_text(actions, pl_slice_z("Warn")))
        pl_bad_value(f, at, actions,
                     "must not contain both Deny and Warn (repeating the same validation failure "
                     "information in the API response and headers serves no purpose)");
    if (pl_is_empty(actions))
        pl_bad_required(f, at, "");
}

static void check_binding(struct pl_api_faults *f, const struct pl_tree *spec)
{
    const struct pl_tree *params = pl_tree_getz(spec, "paramRef");
    const struct pl_tree *match = pl_tree_getz(spec, "matchResources");
    pl_need(f, PL_MEMBER(SPEC, "policyName"), pl_tree_getz(spec, "policyName"), "");
    pl_subdomain(f, PL_MEMBER(SPEC, "policyName"), pl_tree_getz(spec, "policyName"), NULL);
    if (params != NULL)
        check_params(f, PL_MEMBER(SPEC, "paramRef"), params);
    if (match != NULL)
        check_match(f, PL_MEMBER(SPEC, "matchResources"), match);
}

void pl_valid_policy_binding(struct pl_api_faults *f, const struct pl_tree *object,
                             const struct pl_tree *old)
{
    const struct pl_tree *spec = pl_tree_getz(object, "spec");
    PL_UNUSED(old);
    check_binding(f, spec);
    check_actions(f, PL_MEMBER(SPEC, "validationActions"), pl_tree_getz(spec, "validationActions"));
}

void pl_valid_mutating_binding(struct pl_api_faults *f, const struct pl_tree *object,
                               const struct pl_tree *old)
{
    const struct pl_tree *spec = pl_tree_getz(object, "spec");
    PL_UNUSED(old);
    check_binding(f, spec);
    check_operations(f, PL_MEMBER(SPEC, "matchResources"), pl_tree_getz(spec, "matchResources"));
}
