/* Prevents privilege escalation. The writer of a role must have each of its rights, or the verb
 * "escalate" on it. The writer of a binding must have the rights of its role, or the verb "bind" on
 * the role. Rules are split into single rights (one verb, group, resource and name), and one rule
 * of the writer must cover each. Missing rights are reported as rules, as kube-apiserver does. */
#include "apicall/rbac.h"

#include <stdlib.h>

#define RIGHTS_MAX 20000 /* per role; more are refused */

static bool is_kind(const struct pl_api_ctx *ctx, const char *kind)
{
    return strcmp(ctx->type->kind, kind) == 0;
}

static bool covers_all(const struct pl_tree *list, struct pl_slice text)
{
    PL_TREE_FOR(item, list)
    {
        struct pl_slice have = pl_tree_text(item->value);
        if (pl_slice_eq(have, text) || pl_slice_eqz(have, "*"))
            return true;
    }
    return false;
}

/* Only "*" covers all resources; "*" with a subresource is also covered by itself. */
static bool covers_resource(struct pl_arena *arena, const struct pl_tree *list,
                            struct pl_slice text)
{
    if (covers_all(list, text))
        return true;
    const char *slash = pl_slice_chr(text, '/');
    if (slash == NULL)
        return false;
    struct pl_slice any = pl_arena_f(arena, "*%.*s", (int)(text.ptr + text.len - slash), slash);
    return covers_all(list, any);
}

static bool covers_url(const struct pl_tree *list, struct pl_slice url)
{
    PL_TREE_FOR(item, list)
    {
        struct pl_slice have = pl_tree_text(item->value);
        bool open = have.len > 0 && have.ptr[have.len - 1] == '*';
        if (pl_slice_eq(have, url) ||
            (open && url.len >= have.len - 1 && memcmp(have.ptr, url.ptr, have.len - 1) == 0))
            return true;
    }
    return false;
}

/* A single right: only url, or group, resource and perhaps a name. */
struct right {
    struct pl_slice verb, url, group, resource, name;
};

static bool rbac_escalation_covers(struct pl_arena *arena, const struct pl_tree *rule,
                                   const struct right *right)
{
    if (!covers_all(pl_tree_getz(rule, "verbs"), right->verb))
        return false;
    if (right->url.ptr != NULL)
        return covers_url(pl_tree_getz(rule, "nonResourceURLs"), right->url);
    const struct pl_tree *names = pl_tree_getz(rule, "resourceNames");
    bool any_name = names == NULL || names->count == 0;
    return covers_all(pl_tree_getz(rule, "apiGroups"), right->group) &&
           covers_resource(arena, pl_tree_getz(rule, "resources"), right->resource) &&
           (any_name || (right->name.len > 0 && covers_all(names, right->name)));
}

struct check {
    struct pl_api_ctx *ctx;
    struct pl_tree *have;    /* the writer's rules */
    struct pl_tree *missing; /* texts of missing rights, by the object of their verbs */
    size_t rights;
};

static void note_missing(struct check *check, const struct right *right)
{
    struct pl_arena *arena = &check->ctx->arena;
    struct pl_slice about =
        right->url.ptr != NULL
            ? pl_arena_f(arena, "NonResourceURLs:[\"%.*s\"], ", PL_FMT(right->url))
            : pl_arena_f(arena, "APIGroups:[\"%.*s\"], Resources:[\"%.*s\"], %s%.*s%s",
                         PL_FMT(right->group), PL_FMT(right->resource),
                         right->name.len > 0 ? "ResourceNames:[\"" : "", PL_FMT(right->name),
                         right->name.len > 0 ? "\"], " : "");
    struct pl_tree *verbs = pl_tree_get(check->missing, about);
    if (verbs == NULL) {
        verbs = pl_tree_array(arena);
        pl_tree_set(arena, check->missing, about, verbs);
    }
    pl_tree_push(arena, verbs, pl_tree_str(arena, right->verb));
}

static void check_right(struct check *check, const struct right *right)
{
    if (++check->rights > RIGHTS_MAX)
        return;
    PL_TREE_FOR(item, check->have)
    if (rbac_escalation_covers(&check->ctx->arena, item->value, right))
        return;
    note_missing(check, right);
}

static void rbac_escalation_check_names(struct check *check, struct right right,
                                        const struct pl_tree *names)
{
    if (names == NULL || names->count == 0)
        check_right(check, &right);
    PL_TREE_FOR(name, names)
    {
        right.name = pl_tree_text(name->value);
        check_right(check, &right);
    }
}

static void rbac_escalation_check_rule(struct check *check, const struct pl_tree *rule)
{
    const struct pl_tree *names = pl_tree_getz(rule, "resourceNames");
    PL_TREE_FOR(group, pl_tree_getz(rule, "apiGroups"))
    PL_TREE_FOR(resource, pl_tree_getz(rule, "resources"))
    PL_TREE_FOR(verb, pl_tree_getz(rule, "verbs"))
    rbac_escalation_check_names(check,
                                (struct right){.verb = pl_tree_text(verb->value),
                                               .group = pl_tree_text(group->value),
                                               .resource = pl_tree_text(resource->value)},
                                names);
    PL_TREE_FOR(url, pl_tree_getz(rule, "nonResourceURLs"))
    PL_TREE_FOR(verb, pl_tree_getz(rule, "verbs"))
    check_right(
        check, &(struct right){.verb = pl_tree_text(verb->value), .url = pl_tree_text(url->value)});
}

static void rbac_escalation_add_quoted(struct pl_buf *out, const struct pl_tree *texts)
{
    pl_buf_add_char(out, '[');
    PL_TREE_FOR(item, texts)
    pl_buf_add_f(out, "%s\"%.*s\"", item == texts->first ? "" : " ",
                 PL_FMT(pl_tree_text(item->value)));
    pl_buf_add_char(out, ']');
}

static int by_text(const void *a, const void *b)
{
    return pl_slice_cmp(*(const struct pl_slice *)a, *(const struct pl_slice *)b);
}

static void add_missing(struct pl_buf *out, const struct check *check)
{
    size_t count = 0;
    struct pl_arena *arena = &check->ctx->arena;
    struct pl_slice *texts = pl_arena_alloc(arena, (check->missing->count + 1) * sizeof(*texts));
    PL_TREE_FOR(item, check->missing)
    {
        struct pl_buf text = PL_BUF_INIT;
        pl_buf_add_f(&text, "\n{%.*sVerbs:", PL_FMT(item->key));
        rbac_escalation_add_quoted(&text, item->value);
        pl_buf_add_char(&text, '}');
        texts[count++] = pl_arena_copy(arena, pl_buf_slice(&text));
        pl_buf_deinit(&text);
    }
    qsort(texts, count, sizeof(*texts), by_text);
    for (size_t i = 0; i < count; i++)
        pl_buf_add_slice(out, texts[i]);
}

static int rbac_escalation_fail(struct pl_api_ctx *ctx, const struct pl_tree *object,
                                struct pl_slice why)
{
    struct pl_slice group = pl_slice_z(pl_api_ctx_version(ctx)->group);
    struct pl_slice name = pl_tree_text_at(object, "metadata.name");
    pl_api_fail(&ctx->status, 403, "Forbidden", "%s.%.*s \"%.*s\" is forbidden: %.*s",
                ctx->type->plural, PL_FMT(group), PL_FMT(name), PL_FMT(why));
    pl_api_fail_about(&ctx->status, group, pl_slice_z(ctx->type->plural), name);
    return -1;
}

static int fail_escalation(const struct check *check, const struct pl_tree *object)
{
    struct pl_buf text = PL_BUF_INIT;
    const struct pl_api_user *user = &check->ctx->user;
    pl_buf_add_f(&text, "user \"%.*s\" (groups=", PL_FMT(user->name));
    rbac_escalation_add_quoted(&text, user->groups);
    pl_buf_add_z(&text, ") is attempting to grant RBAC permissions not currently held:");
    add_missing(&text, check);
    int code = rbac_escalation_fail(check->ctx, object, pl_buf_slice(&text));
    pl_buf_deinit(&text);
    return code;
}

static int check_rules(struct pl_api_ctx *ctx, const struct pl_tree *object,
                       const struct pl_tree *rules)
{
    struct check check = {.ctx = ctx,
                          .have = pl_api_rbac_rules(ctx, &ctx->user, ctx->request.ns),
                          .missing = pl_tree_object(&ctx->arena)};
    PL_TREE_FOR(item, rules)
    rbac_escalation_check_rule(&check, item->value);
    if (check.rights > RIGHTS_MAX)
        return rbac_escalation_fail(ctx, object, pl_slice_z("it gives too many rights to compare"));
    return check.missing->count == 0 ? 0 : fail_escalation(&check, object);
}

static bool may(struct pl_api_ctx *ctx, const char *verb, const char *resource, struct pl_slice ns,
                struct pl_slice name)
{
    struct pl_api_attributes asked = {
        .verb = pl_slice_z(verb),
        .group = pl_slice_z(pl_api_ctx_version(ctx)->group),
        .resource = pl_slice_z(resource),
        .ns = ns,
        .name = name,
        .is_resource = true,
    };
    return pl_api_rbac_allows(ctx, &ctx->user, &asked, NULL);
}

/* True if the change concerns only members with which an object is garbage-collected. */
static bool is_for_collector(struct pl_api_ctx *ctx, const struct pl_tree *object,
                             const struct pl_tree *old)
{
    static const char members[][16] = {"ownerReferences", "finalizers", "managedFields",
                                       "resourceVersion"};
    if (old == NULL)
        return false;
    struct pl_tree *copies[] = {pl_tree_copy(&ctx->arena, object), pl_tree_copy(&ctx->arena, old)};
    for (size_t i = 0; i < PL_ARRAY_LEN(copies); i++)
        for (size_t k = 0; k < PL_ARRAY_LEN(members); k++)
            pl_tree_removez(pl_tree_getz(copies[i], "metadata"), members[k]);
    return pl_tree_equal(copies[0], copies[1]);
}

static bool has_aggregation(const struct pl_tree *role)
{
    const struct pl_tree *selectors = pl_tree_dig(role, "aggregationRule.clusterRoleSelectors");
    return pl_tree_is(selectors, PL_ARRAY) && selectors->count > 0;
}

static int check_role(struct pl_api_ctx *ctx, const struct pl_tree *object,
                      const struct pl_tree *old)
{
    /* a new role has no name in the request */
    if (may(ctx, "escalate", ctx->type->plural, ctx->request.ns, ctx->request.name))
        return 0;
    if (check_rules(ctx, object, pl_tree_getz(object, "rules")) != 0)
        return -1;
    if ((has_aggregation(object) || has_aggregation(old)) &&
        check_rules(ctx, object,
                    pl_tree_literal(&ctx->arena, "[{\"verbs\":[\"*\"],\"apiGroups\":[\"*\"],"
                                                 "\"resources\":[\"*\"]},{\"verbs\":[\"*\"],"
                                                 "\"nonResourceURLs\":[\"*\"]}]")) != 0)
        return rbac_escalation_fail(
            ctx, object,
            pl_slice_z("must have cluster-admin privileges to use the aggregationRule"));
    return 0;
}

static int check_binding(struct pl_api_ctx *ctx, const struct pl_tree *object)
{
    struct pl_slice kind = pl_tree_text_at(object, "roleRef.kind");
    struct pl_slice name = pl_tree_text_at(object, "roleRef.name");
    const char *plural = pl_slice_eqz(kind, "Role") ? "roles" : "clusterroles";
    if (!pl_slice_eqz(kind, "Role") && !pl_slice_eqz(kind, "ClusterRole"))
        return pl_api_fail(&ctx->status, 500, "", "unsupported role reference kind: \"%.*s\"",
                           PL_FMT(kind));
    if (may(ctx, "bind", plural, ctx->request.ns, name))
        return 0;
    const struct pl_tree *rules = pl_api_rbac_role(ctx, ctx->request.ns, kind, name);
    if (rules != NULL)
        return check_rules(ctx, object, rules);
    return pl_api_fail_not_found(ctx, name); /* as if the binding were missing, as there */
}

int pl_api_rbac_check_write(struct pl_api_ctx *ctx, const struct pl_tree *object,
                            const struct pl_tree *old)
{
    bool is_own = ctx->user.name.len == 0; /* the server's own writes */
    if (is_own || ctx->type->is_custom ||
        pl_api_user_is_in(&ctx->user, pl_slice_z("system:masters")))
        return 0;
    bool is_role = is_kind(ctx, "Role") || is_kind(ctx, "ClusterRole");
    bool is_binding = is_kind(ctx, "RoleBinding") || is_kind(ctx, "ClusterRoleBinding");
    if ((!is_role && !is_binding) || is_for_collector(ctx, object, old))
        return 0;
    return is_role ? check_role(ctx, object, old) : check_binding(ctx, object);
}
