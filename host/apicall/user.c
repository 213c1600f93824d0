/* Authentication: bearer tokens and impersonation (Impersonate-* headers).
 *
 * The server's own token makes a cluster administrator. Tokens of service accounts are signed by
 * this server (token.c) and valid while the account exists. Impersonation replaces the user only if
 * RBAC allows it to the sender. The only answers given here are 400, 401 and 403. */
#include "apicall/user.h"

#include "apicall/core.h"
#include "apicall/rbac.h"
#include "apicall/token.h"

#include <strings.h>

#define ACCOUNT       "system:serviceaccount:"
#define AUTHENTICATED "system:authenticated"

static void add_group(struct pl_arena *arena, struct pl_api_user *user, const char *group)
{
    if (user->groups == NULL)
        user->groups = pl_tree_array(arena);
    if (!pl_api_user_is_in(user, pl_slice_z(group)))
        pl_tree_push(arena, user->groups, pl_tree_strz(arena, group));
}

/* The holder of the server's token: a cluster administrator. */
static struct pl_api_user user_admin(struct pl_arena *arena)
{
    struct pl_api_user user = {.name = pl_slice_z("perilune")};
    add_group(arena, &user, "system:masters");
    add_group(arena, &user, AUTHENTICATED);
    return user;
}

static void add_account_groups(struct pl_arena *arena, struct pl_api_user *user, struct pl_slice ns)
{
    add_group(arena, user, "system:serviceaccounts");
    add_group(arena, user, pl_arena_f(arena, "system:serviceaccounts:%.*s", PL_FMT(ns)).ptr);
}

struct pl_api_user pl_api_user_named_account(struct pl_arena *arena, struct pl_slice ns,
                                             struct pl_slice name)
{
    struct pl_api_user user = {
        .name = pl_arena_f(arena, ACCOUNT "%.*s:%.*s", PL_FMT(ns), PL_FMT(name))};
    add_account_groups(arena, &user, ns);
    return user;
}

struct pl_api_user pl_api_user_of_account(struct pl_arena *arena, struct pl_slice ns,
                                          struct pl_slice name)
{
    struct pl_api_user user = pl_api_user_named_account(arena, ns, name);
    add_group(arena, &user, AUTHENTICATED);
    return user;
}

/* Splits "system:serviceaccount:NS:NAME" into its parts. False for any other name. */
static bool split_account(struct pl_slice name, struct pl_slice *ns, struct pl_slice *account)
{
    size_t head = strlen(ACCOUNT);
    if (name.len <= head || memcmp(name.ptr, ACCOUNT, head) != 0)
        return false;
    const char *rest = name.ptr + head, *colon = memchr(rest, ':', name.len - head);
    if (colon == NULL)
        return false;
    *ns = pl_slice(rest, (size_t)(colon - rest));
    *account = pl_slice(colon + 1, (size_t)(name.ptr + name.len - colon - 1));
    return ns->len > 0 && account->len > 0;
}

struct pl_tree *pl_api_user_info(struct pl_arena *arena, const struct pl_api_user *user)
{
    struct pl_tree *info = pl_tree_object(arena);
    pl_tree_setz(arena, info, "username", pl_tree_str(arena, user->name));
    if (user->uid.len > 0)
        pl_tree_setz(arena, info, "uid", pl_tree_str(arena, user->uid));
    if (user->groups != NULL && user->groups->count > 0)
        pl_tree_setz(arena, info, "groups", pl_tree_copy(arena, user->groups));
    if (user->extra != NULL && user->extra->count > 0)
        pl_tree_setz(arena, info, "extra", pl_tree_copy(arena, user->extra));
    return info;
}

/* ---- tokens ---- */

/* True if it is the server's own token. */
static bool user_is_token(const struct pl_api *api, struct pl_slice given)
{
    if (api->token == NULL)
        return true;
    if (given.len != strlen(api->token))
        return false;
    unsigned char differ = 0; /* compares all bytes, so that the time reveals nothing */
    for (size_t i = 0; i < given.len; i++)
        differ |= (unsigned char)(given.ptr[i] ^ api->token[i]);
    return differ == 0;
}

bool pl_api_user_of_token(struct pl_api_ctx *ctx, struct pl_slice token, struct pl_api_user *user)
{
    if (pl_api_token_verify(ctx, token, user))
        return true;
    if (!user_is_token(ctx->api, token))
        return false;
    *user = user_admin(&ctx->arena);
    return true;
}

static int authenticate_bearer(struct pl_api_ctx *ctx)
{
    static const char scheme[] = "Bearer ";
    const char *given = ctx->request.call.authorization;
    bool has_token = given != NULL && strncasecmp(given, scheme, strlen(scheme)) == 0;
    if (has_token && pl_api_user_of_token(ctx, pl_slice_z(given + strlen(scheme)), &ctx->user))
        return 0;
    if (ctx->api->token != NULL)
        return pl_api_fail(&ctx->status, 401, "Unauthorized", "Unauthorized");
    ctx->user = user_admin(&ctx->arena);
    return 0;
}

/* ---- impersonation ---- */

struct wish {
    struct pl_api_user user;
    bool any;
};

static bool has_prefix(const char *name, const char *prefix)
{
    return strncasecmp(name, prefix, strlen(prefix)) == 0;
}

static void add_extra(struct pl_arena *arena, struct pl_api_user *user, const char *key,
                      struct pl_slice value)
{
    struct pl_slice name = pl_arena_lower(arena, pl_slice_z(key));
    if (user->extra == NULL)
        user->extra = pl_tree_object(arena);
    struct pl_tree *values = pl_tree_get(user->extra, name);
    if (values == NULL) {
        values = pl_tree_array(arena);
        pl_tree_set(arena, user->extra, name, values);
    }
    pl_tree_push(arena, values, pl_tree_str(arena, value));
}

static void read_wish(struct pl_api_ctx *ctx, struct wish *wish)
{
    static const char extra[] = "impersonate-extra-";
    const struct pl_api_call *call = &ctx->request.call;
    struct pl_arena *arena = &ctx->arena;
    for (size_t i = 0; i < call->impersonate_count; i++) {
        const char *name = call->impersonate[i].name;
        struct pl_slice value = pl_arena_utf8(arena, pl_slice_z(call->impersonate[i].value));
        wish->any = true;
        if (strcasecmp(name, "impersonate-user") == 0)
            wish->user.name = value;
        else if (strcasecmp(name, "impersonate-uid") == 0)
            wish->user.uid = value;
        else if (strcasecmp(name, "impersonate-group") == 0)
            add_group(arena, &wish->user, pl_arena_copy(arena, value).ptr);
        else if (has_prefix(name, extra))
            add_extra(arena, &wish->user, name + strlen(extra), value);
    }
}

static bool may(struct pl_api_ctx *ctx, const char *group, const char *resource,
                struct pl_slice sub, struct pl_slice ns, struct pl_slice name)
{
    struct pl_api_attributes asked = {
        .verb = pl_slice_z("impersonate"),
        .group = pl_slice_z(group),
        .resource = pl_slice_z(resource),
        .subresource = sub,
        .ns = ns,
        .name = name,
        .is_resource = true,
    };
    return pl_api_rbac_allows(ctx, &ctx->user, &asked, NULL);
}

static bool may_be(struct pl_api_ctx *ctx, const struct pl_api_user *user)
{
    static const char group[] = "authentication.k8s.io";
    struct pl_slice ns, account, none = pl_slice("", 0);
    bool allowed = split_account(user->name, &ns, &account)
                       ? may(ctx, "", "serviceaccounts", none, ns, account)
                       : may(ctx, "", "users", none, none, user->name);
    PL_TREE_FOR(item, user->groups)
    allowed = allowed && may(ctx, "", "groups", none, none, pl_tree_text(item->value));
    if (user->uid.len > 0)
        allowed = allowed && may(ctx, group, "uids", none, none, user->uid);
    PL_TREE_FOR(item, user->extra)
    PL_TREE_FOR(value, item->value)
    allowed = allowed && may(ctx, group, "userextras", item->key, none, pl_tree_text(value->value));
    return allowed;
}

static int refuse_nameless(struct pl_api_ctx *ctx, const struct pl_api_user *user)
{
    struct pl_buf groups = PL_BUF_INIT;
    PL_TREE_FOR(item, user->groups)
    pl_buf_add_f(&groups, "%s\"%.*s\"", groups.len > 0 ? ", " : "",
                 PL_FMT(pl_tree_text(item->value)));
    pl_api_bad_request(&ctx->status,
                       "requested &user.DefaultInfo{Name:\"\", UID:\"%.*s\", "
                       "Groups:[]string%s%s%s, Extra:map[string][]string(nil)} without "
                       "impersonating a user name",
                       PL_FMT(user->uid), user->groups != NULL ? "{" : "(nil)", pl_buf_z(&groups),
                       user->groups != NULL ? "}" : "");
    pl_buf_deinit(&groups);
    return -1;
}

static int impersonate(struct pl_api_ctx *ctx)
{
    struct wish wish = {.any = false};
    struct pl_slice ns, account;
    read_wish(ctx, &wish);
    if (!wish.any)
        return 0;
    if (wish.user.name.len == 0)
        return refuse_nameless(ctx, &wish.user);
    if (!may_be(ctx, &wish.user)) {
        struct pl_api_attributes asked = pl_api_attributes_of(ctx);
        asked.verb = pl_arena_f(&ctx->arena, "impersonate-on:user-info:%.*s", PL_FMT(asked.verb));
        return pl_api_fail_forbidden(ctx, &asked, pl_slice("", 0));
    }
    bool is_anonymous = pl_slice_eqz(wish.user.name, "system:anonymous");
    if (wish.user.groups == NULL && split_account(wish.user.name, &ns, &account))
        add_account_groups(&ctx->arena, &wish.user, ns);
    add_group(&ctx->arena, &wish.user, is_anonymous ? "system:unauthenticated" : AUTHENTICATED);
    ctx->user = wish.user;
    return 0;
}

int pl_api_authenticate(struct pl_api_ctx *ctx)
{
    return authenticate_bearer(ctx) == 0 ? impersonate(ctx) : -1;
}
