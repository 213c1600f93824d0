/* Tokens of service accounts: JSON Web Tokens that this server signs with its own key. */
#pragma once

#include "apicall/user.h"

#define PL_API_TOKEN_KEY 32 /* bytes */

/* POST serviceaccounts/NAME/token: the TokenRequest of the body, which is valid. NULL with the
 * status. */
struct pl_tree *pl_api_token_read(struct pl_api_ctx *ctx);
/* The answer to such a request, with the token. In the request's arena. */
struct pl_tree *pl_api_token_make(struct pl_api_ctx *ctx, const struct pl_tree *request);
/* Fills in the user of a valid token: this server made it, it has not expired, and its account
 * still exists with the same uid. False for any other token. */
bool pl_api_token_verify(struct pl_api_ctx *ctx, struct pl_slice token, struct pl_api_user *user);
