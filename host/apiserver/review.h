/* Access and token reviews: questions that are posted and answered at once. They have no name
 * and are never stored. */
#pragma once

#include "apicall/core.h"

/* POST to a kind with PL_API_REVIEW. 0 when answered, -1 with the status filled. */
int pl_api_review(struct pl_api_ctx *ctx);
