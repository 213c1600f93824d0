/* Tokens of service accounts: JSON Web Tokens that this server signs with a key of its own. */
#pragma once

#include "apicall/user.h"

#define PL_API_TOKEN_KEY 32 /* bytes */

/* POST serviceaccounts/NAME/token: answers a TokenRequest. */
int pl_api_token_request(struct pl_api_ctx *ctx);
/* Fills in the user of a token that this server made, that has not expired, and whose account is
 * still the one it was made for. False for any other. */
bool pl_api_token_verify(struct pl_api_ctx *ctx, struct pl_slice token, struct pl_api_user *user);
