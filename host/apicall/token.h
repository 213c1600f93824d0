/* Tokens of service accounts: JSON Web Tokens that this server signs with its own key. */
#pragma once

#include "apicall/user.h"

#define PL_API_TOKEN_KEY 32 /* bytes */

/* POST serviceaccounts/NAME/token: answers a TokenRequest. */
int pl_api_token_request(struct pl_api_ctx *ctx);
/* Fills in the user of a valid token: this server made it, it has not expired, and its account
 * still exists with the same uid. False for any other token. */
bool pl_api_token_verify(struct pl_api_ctx *ctx, struct pl_slice token, struct pl_api_user *user);
