/* Which webhooks a request matches: rules, selectors and match conditions, as in kube-apiserver.
 * With matchPolicy Equivalent a rule also matches if it names another version of the kind; the
 * object is then sent in that version. */
#include "apicall/admit.h"

#include "apicall/evaluate.h"
#include "object/selector.h"

#include <string.h>

static bool admit_match_has(struct pl_node list, struct pl_slice wanted)
{
    struct pl_iter it = pl_iter(list);
    while (pl_iter_next(&it))
        if (pl_node_str_eq(it.value, pl_slice_z("*")) || pl_node_str_eq(it.value, wanted))
            return true;
    return false;
}

/* "pods", "pods/status", "pods/ *", "* /scale", "*", "* / *" (without the spaces). */
static bool has_resource(struct pl_node list, struct pl_slice plural, struct pl_slice sub)
{
    struct pl_iter it = pl_iter(list);
    while (pl_iter_next(&it)) {
        struct pl_scratch scratch;
        struct pl_slice text = pl_node_str(it.value, &scratch);
        const char *slash = pl_slice_chr(text, '/');
        size_t len = slash != NULL ? (size_t)(slash - text.ptr) : text.len;
        struct pl_slice first = pl_slice(text.ptr, len);
        struct pl_slice second =
            slash != NULL ? pl_slice(slash + 1, text.len - len - 1) : pl_slice("", 0);
        bool of = pl_slice_eqz(first, "*") || pl_slice_eq(first, plural);
        bool part = pl_slice_eq(second, sub) || (slash != NULL && pl_slice_eqz(second, "*"));
        if (of && part)
            return true;
    }
    return false;
}

static bool has_scope(const struct pl_api_ctx *ctx, struct pl_node rule)
{
    struct pl_node scope = pl_node_getz(rule, "scope");
    bool namespaced = ctx->type->flags & PL_API_NAMESPACED;
    if (pl_node_type(scope) != PL_STRING || pl_node_str_eq(scope, pl_slice_z("*")))
        return true;
    return pl_node_str_eq(scope, pl_slice_z(namespaced ? "Namespaced" : "Cluster"));
}

static bool rule_has(struct pl_api_ctx *ctx, struct pl_node rule, const char *operation,
                     size_t version)
{
    const struct pl_api_version *v = &ctx->type->versions[version];
    return admit_match_has(pl_node_getz(rule, "operations"), pl_slice_z(operation)) &&
           admit_match_has(pl_node_getz(rule, "apiGroups"), pl_slice_z(v->group)) &&
           admit_match_has(pl_node_getz(rule, "apiVersions"), pl_slice_z(v->name)) &&
           has_resource(pl_node_getz(rule, "resources"), pl_slice_z(ctx->type->plural),
                        ctx->request.subresource) &&
           has_scope(ctx, rule);
}

/* Rules of policies may name objects; those of webhooks do not. */
static bool any_rule_has(struct pl_api_ctx *ctx, struct pl_node rules,
                         const struct pl_api_admission *admission, size_t version)
{
    const struct pl_tree *named = admission->object != NULL ? admission->object : admission->old;
    struct pl_slice name = pl_tree_text_at(named, "metadata.name");
    struct pl_iter it = pl_iter(rules);
    while (pl_iter_next(&it)) {
        struct pl_node names = pl_node_getz(it.value, "resourceNames");
        bool is_named = pl_node_len(names) == 0;
        struct pl_iter list = pl_iter(names);
        while (!is_named && pl_iter_next(&list))
            is_named = pl_node_str_eq(list.value, name);
        if (is_named && rule_has(ctx, it.value, admission->operation, version))
            return true;
    }
    return false;
}

static bool match_rules(struct pl_api_ctx *ctx, struct pl_node webhook, const char *list,
                        const struct pl_api_admission *admission, size_t *version)
{
    struct pl_node rules = pl_node_getz(webhook, list);
    bool exact = pl_node_str_eq(pl_node_getz(webhook, "matchPolicy"), pl_slice_z("Exact"));
    *version = ctx->version;
    if (any_rule_has(ctx, rules, admission, ctx->version))
        return true;
    for (size_t i = 0; !exact && i < ctx->type->version_count; i++) {
        if (!any_rule_has(ctx, rules, admission, i))
            continue;
        *version = i;
        return true;
    }
    return false;
}

/* ---- selectors ---- */

static bool selects(struct pl_api_ctx *ctx, struct pl_node selector, struct pl_node labels,
                    bool *failed, struct pl_buf *why)
{
    struct pl_err err;
    PL_UNUSED(ctx);
    pl_err_clear(&err);
    if (pl_node_len(selector) == 0)
        return true;
    struct pl_selector *parsed = pl_selector_from_node(selector, &err);
    if (parsed == NULL) {
        *failed = true;
        pl_buf_add_z(why, err.message);
        return false;
    }
    bool matches = pl_selector_matches(parsed, labels);
    pl_selector_destroy(parsed);
    return matches;
}

static bool selects_tree(struct pl_api_ctx *ctx, struct pl_node selector,
                         const struct pl_tree *object, bool *failed, struct pl_buf *why)
{
    struct pl_tree *labels = pl_tree_dig(object, "metadata.labels");
    struct pl_doc *doc = labels != NULL ? pl_tree_doc(labels, NULL) : NULL;
    bool matches = object != NULL && selects(ctx, selector, pl_doc_root(doc), failed, why);
    pl_doc_unref(doc);
    return matches;
}

static bool match_namespace(struct pl_api_ctx *ctx, struct pl_node selector,
                            const struct pl_api_admission *admission, bool *failed,
                            struct pl_buf *why)
{
    if (pl_node_len(selector) == 0)
        return true;
    if (!ctx->type->is_custom && strcmp(ctx->type->plural, "namespaces") == 0)
        return selects_tree(ctx, selector,
                            admission->object != NULL ? admission->object : admission->old, failed,
                            why);
    if (!(ctx->type->flags & PL_API_NAMESPACED))
        return true;
    const struct pl_api_entry *entry = pl_api_table_find(
        pl_api_builtin_table(ctx->api->registry, "", "namespaces"), ctx->request.ns);
    if (entry == NULL)
        return false;
    return selects(ctx, selector, pl_node_dig(pl_doc_root(entry->doc), "metadata", "labels"),
                   failed, why);
}

static bool match_object(struct pl_api_ctx *ctx, struct pl_node selector,
                         const struct pl_api_admission *admission, bool *failed, struct pl_buf *why)
{
    return pl_node_len(selector) == 0 ||
           selects_tree(ctx, selector, admission->object, failed, why) ||
           selects_tree(ctx, selector, admission->old, failed, why);
}

/* ---- match conditions ---- */

/* One error is shown as it is, several as a list without duplicates. */
static void say_errors(struct pl_buf *why, const struct pl_tree *errors)
{
    const char *before = errors->count > 1 ? "[" : "";
    PL_TREE_FOR(item, errors)
    {
        pl_buf_add_z(why, before);
        pl_buf_add_slice(why, pl_tree_text(item->value));
        before = ", ";
    }
    pl_buf_add_z(why, errors->count > 1 ? "]" : "");
}

enum pl_api_match pl_api_match_conditions(struct pl_api_evaluation *evaluation,
                                          struct pl_node conditions, struct pl_buf *why)
{
    struct pl_arena *arena = &evaluation->ctx->arena;
    struct pl_tree *errors = pl_tree_array(arena);
    bool matches = true;
    struct pl_iter it = pl_iter(conditions);
    while (!evaluation->is_over && pl_iter_next(&it)) {
        struct pl_scratch scratch;
        struct pl_slice text = pl_node_str(pl_node_getz(it.value, "expression"), &scratch);
        struct pl_cel result = pl_api_evaluate(evaluation, text);
        if (evaluation->is_over)
            errors = pl_tree_array(arena);
        if (pl_cel_is_error(result) && !pl_tree_has_text(errors, result.s))
            pl_tree_push(arena, errors, pl_tree_str(arena, result.s));
        matches = matches && (result.kind != PL_CEL_BOOL || result.b);
    }
    if (!matches && !evaluation->is_over) /* a false condition counts more than an error */
        return PL_API_MATCHES_NOT;
    say_errors(why, errors);
    return errors->count > 0 ? PL_API_MATCH_FAILED : PL_API_MATCHES;
}

static enum pl_api_match match_conditions(struct pl_api_ctx *ctx, struct pl_node conditions,
                                          const struct pl_api_admission *admission, size_t version,
                                          struct pl_buf *why)
{
    struct pl_api_evaluation evaluation;
    if (pl_node_len(conditions) == 0)
        return PL_API_MATCHES;
    pl_api_evaluation_init(&evaluation, ctx, admission, version, PL_API_CONDITIONS_BUDGET);
    return pl_api_match_conditions(&evaluation, conditions, why);
}

enum pl_api_match pl_api_admit_match(struct pl_api_ctx *ctx, struct pl_node webhook,
                                     const struct pl_api_admission *admission, size_t *version,
                                     struct pl_buf *why)
{
    bool failed = false;
    if (!match_rules(ctx, webhook, "rules", admission, version))
        return PL_API_MATCHES_NOT;
    bool matches =
        match_namespace(ctx, pl_node_getz(webhook, "namespaceSelector"), admission, &failed, why) &&
        match_object(ctx, pl_node_getz(webhook, "objectSelector"), admission, &failed, why);
    if (failed)
        return PL_API_MATCH_FAILED;
    return matches ? match_conditions(ctx, pl_node_getz(webhook, "matchConditions"), admission,
                                      *version, why)
                   : PL_API_MATCHES_NOT;
}

enum pl_api_match pl_api_admit_match_policy(struct pl_api_ctx *ctx, struct pl_node match,
                                            const struct pl_api_admission *admission,
                                            size_t *version, struct pl_buf *why)
{
    bool failed = false;
    size_t excluded;
    bool has_rules = pl_node_len(pl_node_getz(match, "resourceRules")) > 0;
    if (match_rules(ctx, match, "excludeResourceRules", admission, &excluded))
        return PL_API_MATCHES_NOT;
    *version = ctx->version;
    if (has_rules && !match_rules(ctx, match, "resourceRules", admission, version))
        return PL_API_MATCHES_NOT;
    bool matches =
        match_namespace(ctx, pl_node_getz(match, "namespaceSelector"), admission, &failed, why) &&
        match_object(ctx, pl_node_getz(match, "objectSelector"), admission, &failed, why);
    return failed ? PL_API_MATCH_FAILED : matches ? PL_API_MATCHES : PL_API_MATCHES_NOT;
}
