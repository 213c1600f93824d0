/* Role-based access control, evaluated for each request from the stored documents: a binding that
 * names the user gives the rules of its role. There is no cache that could become stale.
 *
 * system:masters may do everything, without a look at the rules. A ClusterRole with an
 * aggregationRule has the rules of the roles that it selects; they are found when they are needed.
 * A missing role gives nothing and is named when access is refused. Rules only allow, they never
 * deny. */
#include "apicall/rbac.h"

#include "object/meta.h"
#include "object/selector.h"

#define RBAC "rbac.authorization.k8s.io"

bool pl_api_user_is_in(const struct pl_api_user *user, struct pl_slice group)
{
    PL_TREE_FOR(item, user->groups)
    if (pl_slice_eq(pl_tree_text(item->value), group))
        return true;
    return false;
}

/* ---- the attributes of a request ---- */

/* The single name that a field selector selects, so that a rule for this name allows the list. */
static struct pl_slice selected_name(struct pl_api_ctx *ctx)
{
    static const char head[] = "metadata.name=";
    struct pl_slice selector = ctx->request.field_selector;
    size_t len = strlen(head);
    if (selector.len <= len || memcmp(selector.ptr, head, len) != 0)
        return pl_slice("", 0);
    struct pl_slice name = pl_slice(selector.ptr + len, selector.len - len);
    if (name.ptr[0] == '=')
        name = pl_slice(name.ptr + 1, name.len - 1);
    return pl_slice_chr(name, ',') == NULL ? name : pl_slice("", 0);
}

/* Other methods have no verb. */
static bool is_resource_method(const char *method)
{
    static const char methods[][8] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"};
    for (size_t i = 0; i < PL_ARRAY_LEN(methods); i++)
        if (strcmp(method, methods[i]) == 0)
            return true;
    return false;
}

struct pl_api_attributes pl_api_attributes_of(struct pl_api_ctx *ctx)
{
    const struct pl_api_request *request = &ctx->request;
    struct pl_api_attributes asked = {.is_resource = request->is_resource,
                                      .path = request->call.path};
    if (!request->is_resource) {
        asked.verb = pl_arena_lower(&ctx->arena, pl_slice_z(ctx->request.call.method));
        return asked;
    }
    asked.verb = pl_slice_z(pl_api_verb(request));
    if (asked.verb.len == 0 && is_resource_method(request->call.method))
        asked.verb = pl_arena_lower(&ctx->arena, pl_slice_z(request->call.method));
    asked.group = request->group;
    asked.resource = request->resource;
    asked.subresource = request->subresource;
    asked.ns = request->ns;
    asked.name = request->name;
    if (asked.name.len == 0 && strcmp(request->call.method, "GET") == 0)
        asked.name = selected_name(ctx);
    if (asked.group.len == 0 && pl_slice_eqz(asked.resource, "namespaces"))
        asked.ns = asked.name;
    return asked;
}

/* ---- rules ---- */

static bool has_or_all(const struct pl_tree *list, struct pl_slice text)
{
    return pl_tree_has_text(list, pl_slice_z("*")) || pl_tree_has_text(list, text);
}

static bool covers_path(const struct pl_tree *urls, struct pl_slice path)
{
    PL_TREE_FOR(item, urls)
    {
        struct pl_slice url = pl_tree_text(item->value);
        if (pl_slice_eq(url, path))
            return true;
        if (url.len > 0 && url.ptr[url.len - 1] == '*' && path.len >= url.len - 1 &&
            memcmp(url.ptr, path.ptr, url.len - 1) == 0)
            return true;
    }
    return false;
}

static bool covers_resource(struct pl_arena *arena, const struct pl_tree *resources,
                            const struct pl_api_attributes *asked)
{
    if (asked->subresource.len == 0)
        return has_or_all(resources, asked->resource);
    struct pl_slice sub = asked->subresource;
    return has_or_all(resources,
                      pl_arena_f(arena, "%.*s/%.*s", PL_FMT(asked->resource), PL_FMT(sub))) ||
           pl_tree_has_text(resources, pl_arena_f(arena, "*/%.*s", PL_FMT(sub)));
}

static bool rule_allows(struct pl_arena *arena, const struct pl_tree *rule,
                        const struct pl_api_attributes *asked)
{
    if (!has_or_all(pl_tree_getz(rule, "verbs"), asked->verb))
        return false;
    if (!asked->is_resource)
        return covers_path(pl_tree_getz(rule, "nonResourceURLs"), asked->path);
    const struct pl_tree *names = pl_tree_getz(rule, "resourceNames");
    return has_or_all(pl_tree_getz(rule, "apiGroups"), asked->group) &&
           covers_resource(arena, pl_tree_getz(rule, "resources"), asked) &&
           (names == NULL || names->count == 0 || pl_tree_has_text(names, asked->name));
}

static struct pl_api_table *table_of(struct pl_api *api, const char *plural)
{
    return pl_api_builtin_table(api->registry, RBAC, plural);
}

static void add_rules(struct pl_arena *arena, struct pl_tree *rules, struct pl_node role)
{
    struct pl_iter it = pl_iter(pl_node_getz(role, "rules"));
    while (pl_iter_next(&it))
        pl_tree_push(arena, rules, pl_tree_from_node(arena, it.value));
}

static bool is_selected(struct pl_node selectors, struct pl_node labels)
{
    bool selected = false;
    struct pl_iter it = pl_iter(selectors);
    while (!selected && pl_iter_next(&it)) {
        struct pl_selector *selector = pl_selector_from_node(it.value, NULL);
        selected = selector != NULL && pl_selector_matches(selector, labels);
        pl_selector_destroy(selector);
    }
    return selected;
}

#define AGGREGATES_MAX 8 /* nested, as view in edit in admin */

/* The depth is limited: roles may select each other. */
static void aggregate(struct pl_api_ctx *ctx, struct pl_tree *rules, struct pl_node role, int depth)
{
    struct pl_node selectors = pl_node_dig(role, "aggregationRule", "clusterRoleSelectors");
    const struct pl_api_table *table = table_of(ctx->api, "clusterroles");
    if (pl_node_is_missing(pl_node_getz(role, "aggregationRule"))) {
        add_rules(&ctx->arena, rules, role);
        return;
    }
    for (size_t i = 0; depth < AGGREGATES_MAX && i < table->count; i++) {
        struct pl_node other = pl_doc_root(table->entries[i]->doc);
        if (is_selected(selectors, pl_meta_labels(other)))
            aggregate(ctx, rules, other, depth + 1);
    }
}

struct pl_tree *pl_api_rbac_role(struct pl_api_ctx *ctx, struct pl_slice ns, struct pl_slice kind,
                                 struct pl_slice name)
{
    bool is_role = pl_slice_eqz(kind, "Role");
    struct pl_slice key =
        is_role ? pl_api_key(&ctx->arena, ns, name) : pl_arena_copy(&ctx->arena, name);
    const struct pl_api_entry *entry =
        pl_api_table_find(table_of(ctx->api, is_role ? "roles" : "clusterroles"), key);
    if (entry == NULL)
        return NULL;
    struct pl_tree *rules = pl_tree_array(&ctx->arena);
    aggregate(ctx, rules, pl_doc_root(entry->doc), 0);
    return rules;
}

/* ---- bindings ---- */

/* Called for each of the user's bindings. Returns true to stop. */
struct walk {
    struct pl_api_ctx *ctx;
    const struct pl_api_user *user;
    bool (*rules)(struct walk *walk, const struct pl_tree *rules);
    const struct pl_api_attributes *asked;
    struct pl_tree *all;     /* the rules found */
    struct pl_slice missing; /* a missing role */
    struct pl_node binding;  /* the current one */
    struct pl_slice ns;      /* the binding's namespace; "" for the whole cluster */
    struct pl_slice subject; /* as shown in the reason */
};

static bool is_subject(struct walk *walk, struct pl_node subject)
{
    struct pl_scratch a, b, c;
    struct pl_arena *arena = &walk->ctx->arena;
    struct pl_slice kind = pl_node_str(pl_node_getz(subject, "kind"), &a);
    struct pl_slice name = pl_node_str(pl_node_getz(subject, "name"), &b);
    bool is_user = pl_slice_eqz(kind, "User");
    if (is_user || pl_slice_eqz(kind, "Group")) {
        walk->subject = pl_arena_f(arena, "%.*s \"%.*s\"", PL_FMT(kind), PL_FMT(name));
        return is_user ? pl_slice_eq(name, walk->user->name) : pl_api_user_is_in(walk->user, name);
    }
    struct pl_slice ns = pl_node_str(pl_node_getz(subject, "namespace"), &c);
    if (!pl_slice_eqz(kind, "ServiceAccount"))
        return false;
    if (ns.len == 0)
        ns = walk->ns;
    walk->subject = pl_arena_f(arena, "ServiceAccount \"%.*s/%.*s\"", PL_FMT(name), PL_FMT(ns));
    struct pl_slice want =
        pl_arena_f(arena, "system:serviceaccount:%.*s:%.*s", PL_FMT(ns), PL_FMT(name));
    return pl_slice_eq(want, walk->user->name);
}

static bool visit(struct walk *walk, struct pl_node binding)
{
    struct pl_scratch a, b;
    bool applies = false;
    struct pl_iter it = pl_iter(pl_node_getz(binding, "subjects"));
    while (!applies && pl_iter_next(&it))
        applies = is_subject(walk, it.value);
    if (!applies)
        return false;
    struct pl_slice kind = pl_node_str(pl_node_dig(binding, "roleRef", "kind"), &a);
    struct pl_slice name = pl_node_str(pl_node_dig(binding, "roleRef", "name"), &b);
    const struct pl_tree *rules = pl_api_rbac_role(walk->ctx, walk->ns, kind, name);
    walk->binding = binding;
    if (rules != NULL)
        return walk->rules(walk, rules);
    walk->missing = pl_arena_f(&walk->ctx->arena, "%s." RBAC " \"%.*s\" not found",
                               pl_slice_eqz(kind, "Role") ? "role" : "clusterrole", PL_FMT(name));
    return false;
}

static bool walk_bindings(struct walk *walk, struct pl_slice ns)
{
    const struct pl_api_table *table = table_of(walk->ctx->api, "clusterrolebindings");
    walk->ns = pl_slice("", 0);
    for (size_t i = 0; i < table->count; i++)
        if (visit(walk, pl_doc_root(table->entries[i]->doc)))
            return true;
    if (ns.len == 0)
        return false;
    table = table_of(walk->ctx->api, "rolebindings");
    walk->ns = ns;
    struct pl_api_span span = pl_api_table_span(table, ns);
    for (size_t i = span.first; i < span.end; i++)
        if (visit(walk, pl_doc_root(table->entries[i]->doc)))
            return true;
    return false;
}

static bool any_allows(struct walk *walk, const struct pl_tree *rules)
{
    PL_TREE_FOR(item, rules)
    if (rule_allows(&walk->ctx->arena, item->value, walk->asked))
        return true;
    return false;
}

static struct pl_slice rbac_reason_of(struct walk *walk)
{
    struct pl_scratch a, b, c;
    struct pl_node ref = pl_node_getz(walk->binding, "roleRef");
    bool is_cluster = walk->ns.len == 0;
    return pl_arena_f(
        &walk->ctx->arena, "RBAC: allowed by %sRoleBinding \"%.*s%s%.*s\" of %.*s \"%.*s\" to %.*s",
        is_cluster ? "Cluster" : "",
        PL_FMT(pl_node_str(pl_node_dig(walk->binding, "metadata", "name"), &a)),
        is_cluster ? "" : "/", PL_FMT(walk->ns), PL_FMT(pl_node_str(pl_node_getz(ref, "kind"), &b)),
        PL_FMT(pl_node_str(pl_node_getz(ref, "name"), &c)), PL_FMT(walk->subject));
}

bool pl_api_rbac_allows(struct pl_api_ctx *ctx, const struct pl_api_user *user,
                        const struct pl_api_attributes *asked, struct pl_slice *reason)
{
    struct walk walk = {.ctx = ctx, .user = user, .asked = asked, .rules = any_allows};
    struct pl_slice unused = {NULL, 0};
    reason = reason != NULL ? reason : &unused;
    *reason = pl_slice("", 0);
    if (pl_api_user_is_in(user, pl_slice_z("system:masters")))
        return true;
    if (walk_bindings(&walk, asked->ns)) {
        *reason = rbac_reason_of(&walk);
        return true;
    }
    if (walk.missing.len > 0)
        *reason = pl_arena_f(&ctx->arena, "RBAC: %.*s", PL_FMT(walk.missing));
    return false;
}

static bool rbac_collect(struct walk *walk, const struct pl_tree *rules)
{
    PL_TREE_FOR(item, rules)
    pl_tree_push(&walk->ctx->arena, walk->all, item->value);
    return false;
}

struct pl_tree *pl_api_rbac_rules(struct pl_api_ctx *ctx, const struct pl_api_user *user,
                                  struct pl_slice ns)
{
    struct walk walk = {
        .ctx = ctx, .user = user, .rules = rbac_collect, .all = pl_tree_array(&ctx->arena)};
    if (pl_api_user_is_in(user, pl_slice_z("system:masters")))
        rbac_collect(&walk,
                     pl_tree_literal(&ctx->arena,
                                     "[{\"verbs\":[\"*\"],\"apiGroups\":[\"*\"],\"resources\":"
                                     "[\"*\"]},{\"verbs\":[\"*\"],\"nonResourceURLs\":[\"*\"]}]"));
    else
        walk_bindings(&walk, ns);
    return walk.all;
}

/* ---- requests ---- */

int pl_api_fail_forbidden(struct pl_api_ctx *ctx, const struct pl_api_attributes *asked,
                          struct pl_slice reason)
{
    struct pl_slice user = ctx->user.name;
    const char *colon = reason.len > 0 ? ": " : "";
    if (!asked->is_resource) {
        pl_api_fail(&ctx->status, 403, "Forbidden",
                    "forbidden: User \"%.*s\" cannot %.*s path "
                    "\"%.*s\"%s%.*s",
                    PL_FMT(user), PL_FMT(asked->verb), PL_FMT(asked->path), colon, PL_FMT(reason));
        ctx->status.has_details = true;
        return -1;
    }
    bool has_name = asked->name.len > 0, has_sub = asked->subresource.len > 0;
    struct pl_slice scope =
        asked->ns.len > 0 ? pl_arena_f(&ctx->arena, "in the namespace \"%.*s\"", PL_FMT(asked->ns))
                          : pl_slice_z("at the cluster scope");
    pl_api_fail(
        &ctx->status, 403, "Forbidden",
        "%.*s%s%.*s%s%.*s%s is forbidden: User \"%.*s\" cannot %.*s resource \"%.*s%s%.*s\" "
        "in API group \"%.*s\" %.*s%s%.*s",
        PL_FMT(asked->resource), asked->group.len > 0 ? "." : "", PL_FMT(asked->group),
        has_name ? " \"" : "", PL_FMT(asked->name), has_name ? "\"" : "", PL_FMT(user),
        PL_FMT(asked->verb), PL_FMT(asked->resource), has_sub ? "/" : "",
        PL_FMT(asked->subresource), PL_FMT(asked->group), PL_FMT(scope), colon, PL_FMT(reason));
    pl_api_fail_about(&ctx->status, asked->group, asked->resource, asked->name);
    return -1;
}

static int authorize(struct pl_api_ctx *ctx, const struct pl_api_attributes *asked)
{
    struct pl_slice reason;
    if (pl_api_rbac_allows(ctx, &ctx->user, asked, &reason))
        return 0;
    return pl_api_fail_forbidden(ctx, asked, reason);
}

int pl_api_authorize(struct pl_api_ctx *ctx)
{
    struct pl_api_attributes asked = pl_api_attributes_of(ctx);
    return authorize(ctx, &asked);
}

int pl_api_authorize_verb(struct pl_api_ctx *ctx, const char *verb)
{
    struct pl_api_attributes asked = pl_api_attributes_of(ctx);
    asked.verb = pl_slice_z(verb);
    return authorize(ctx, &asked);
}
