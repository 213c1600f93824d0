/* Access and token reviews. They are posted and answered at once; they have no name and are never
 * stored. */
#pragma once

#include "apicall/core.h"

/* POST to a kind with PL_API_REVIEW. 0 if it has answered, -1 with the status filled in. */
int pl_api_review(struct pl_api_ctx *ctx);
