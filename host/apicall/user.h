/* The sender of a request: the owner of the server's token, a service account, an impersonated
 * user, or the server itself. Texts live in the request's arena. */
#pragma once

#include "object/tree.h"

struct pl_api;
struct pl_api_ctx;

struct pl_api_user {
    struct pl_slice name, uid;
    struct pl_tree *groups; /* array of strings; NULL: none */
    struct pl_tree *extra;  /* object of arrays of strings; NULL: none */
};

/* "system:serviceaccount:NS:NAME" with its groups. */
struct pl_api_user pl_api_user_of_account(struct pl_arena *arena, struct pl_slice ns,
                                          struct pl_slice name);
/* The same without system:authenticated, for questions about the rights of an account that has not
 * sent the request. */
struct pl_api_user pl_api_user_named_account(struct pl_arena *arena, struct pl_slice ns,
                                             struct pl_slice name);
/* {"username","uid","groups","extra"}, as in reviews. In the arena. */
struct pl_tree *pl_api_user_info(struct pl_arena *arena, const struct pl_api_user *user);

/* Fills ctx->user from the request's credentials. -1 and 401 if they are missing or wrong. A server
 * without a token treats every client as the administrator. */
int pl_api_authenticate(struct pl_api_ctx *ctx);
/* The same for a token alone. False if it is invalid. */
bool pl_api_user_of_token(struct pl_api_ctx *ctx, struct pl_slice token, struct pl_api_user *user);
