/* Which webhooks a request goes to: rules, selectors, match conditions, as kube-apiserver decides.
 * A rule that does not name the request's version matches all the same with matchPolicy Equivalent
 * when it names another version of the kind: the object is sent in that one. */
#include "apicall/admit.h"

#include "object/selector.h"
#include "valid/webhook_config.h"

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
        const char *slash = memchr(text.ptr != NULL ? text.ptr : "", '/', text.len);
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

static bool any_rule_has(struct pl_api_ctx *ctx, struct pl_node rules, const char *operation,
                         size_t version)
{
    struct pl_iter it = pl_iter(rules);
    while (pl_iter_next(&it))
        if (rule_has(ctx, it.value, operation, version))
            return true;
    return false;
}

static bool match_rules(struct pl_api_ctx *ctx, struct pl_node webhook, const char *operation,
                        size_t *version)
{
    struct pl_node rules = pl_node_getz(webhook, "rules");
    bool exact = pl_node_str_eq(pl_node_getz(webhook, "matchPolicy"), pl_slice_z("Exact"));
    *version = ctx->version;
    if (any_rule_has(ctx, rules, operation, ctx->version))
        return true;
    for (size_t i = 0; !exact && i < ctx->type->version_count; i++) {
        if (!any_rule_has(ctx, rules, operation, i))
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
    struct pl_api_type *type =
        pl_api_registry_find_group(ctx->api->registry, pl_slice_z(""), pl_slice_z("namespaces"));
    const struct pl_api_entry *entry = pl_api_table_find(type->table, ctx->request.ns);
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

static struct pl_cel admit_match_value_of(struct pl_arena *arena, const struct pl_tree *tree)
{
    return tree != NULL ? pl_cel_from_tree(arena, tree, NULL) : pl_cel_null();
}

static enum pl_api_match admit_match_evaluate(struct pl_api_ctx *ctx, struct pl_slice text,
                                              const struct pl_cel *values, struct pl_buf *why)
{
    size_t count;
    const struct pl_cel_var *vars = pl_webhook_condition_vars(&count);
    struct pl_cel_program *program = pl_cel_compile(text, vars, count, why);
    if (program == NULL)
        return PL_API_MATCH_FAILED;
    uint64_t cost = 0;
    struct pl_cel result = pl_cel_evaluate(program, &ctx->arena, values, PL_CEL_CALL_LIMIT, &cost);
    pl_cel_program_destroy(program);
    if (result.kind == PL_CEL_BOOL)
        return result.b ? PL_API_MATCHES : PL_API_MATCHES_NOT;
    if (pl_cel_is_error(result))
        pl_buf_add_slice(why, result.s);
    else
        pl_buf_add_z(why, "it is no bool");
    return PL_API_MATCH_FAILED;
}

static enum pl_api_match match_conditions(struct pl_api_ctx *ctx, struct pl_node conditions,
                                          const struct pl_api_admission *admission, size_t version,
                                          struct pl_buf *why)
{
    enum pl_api_match all = PL_API_MATCHES;
    if (pl_node_len(conditions) == 0)
        return all;
    const struct pl_cel values[] = {
        admit_match_value_of(&ctx->arena, admission->object),
        admit_match_value_of(&ctx->arena, admission->old),
        admit_match_value_of(&ctx->arena, pl_api_admit_request(ctx, admission, version))};
    struct pl_iter it = pl_iter(conditions);
    while (pl_iter_next(&it)) {
        struct pl_scratch a, b;
        struct pl_buf text = PL_BUF_INIT;
        enum pl_api_match one = admit_match_evaluate(
            ctx, pl_node_str(pl_node_getz(it.value, "expression"), &a), values, &text);
        if (one == PL_API_MATCH_FAILED)
            pl_buf_add_f(why, "match condition %.*s: %s",
                         PL_FMT(pl_node_str(pl_node_getz(it.value, "name"), &b)), pl_buf_z(&text));
        pl_buf_deinit(&text);
        if (one == PL_API_MATCHES_NOT) /* one that does not match outweighs any error */
            return one;
        if (one == PL_API_MATCH_FAILED)
            all = one;
    }
    return all;
}

enum pl_api_match pl_api_admit_match(struct pl_api_ctx *ctx, struct pl_node webhook,
                                     const struct pl_api_admission *admission, size_t *version,
                                     struct pl_buf *why)
{
    bool failed = false;
    if (!match_rules(ctx, webhook, admission->operation, version))
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

/* ---- the request, as reviews and conditions have it ---- */

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
    struct pl_tree *options = pl_tree_object(&ctx->arena);
    const char *kind = strcmp(operation, "CREATE") == 0   ? "CreateOptions"
                       : strcmp(operation, "UPDATE") == 0 ? "UpdateOptions"
                                                          : "DeleteOptions";
    pl_tree_set_strz(&ctx->arena, options, "kind", kind);
    pl_tree_set_strz(&ctx->arena, options, "apiVersion", "meta.k8s.io/v1");
    if (ctx->request.field_manager.len > 0)
        pl_tree_setz(&ctx->arena, options, "fieldManager",
                     pl_tree_str(&ctx->arena, ctx->request.field_manager));
    if (ctx->request.dry_run) {
        struct pl_tree *all = pl_tree_array(&ctx->arena);
        pl_tree_push(&ctx->arena, all, pl_tree_strz(&ctx->arena, "All"));
        pl_tree_setz(&ctx->arena, options, "dryRun", all);
    }
    return options;
}

struct pl_tree *pl_api_admit_request(struct pl_api_ctx *ctx,
                                     const struct pl_api_admission *admission, size_t version)
{
    struct pl_arena *arena = &ctx->arena;
    struct pl_tree *request = pl_tree_object(arena);
    const struct pl_tree *named = admission->object != NULL ? admission->object : admission->old;
    struct pl_slice name = ctx->request.name;
    if (name.len == 0 && pl_tree_text_at(named, "metadata.generateName").len == 0)
        name = pl_tree_text_at(named, "metadata.name");
    struct pl_tree *scale = admission->is_scale
                                ? pl_tree_literal(arena, "{\"group\":\"autoscaling\","
                                                         "\"version\":\"v1\",\"kind\":\"Scale\"}")
                                : NULL;
    pl_tree_setz(arena, request, "kind", scale != NULL ? scale : kind_tree(ctx, version, false));
    pl_tree_setz(arena, request, "resource", kind_tree(ctx, version, true));
    pl_tree_setz(arena, request, "requestKind",
                 scale != NULL ? pl_tree_copy(arena, scale) : kind_tree(ctx, ctx->version, false));
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
