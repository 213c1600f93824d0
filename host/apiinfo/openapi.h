/* The OpenAPI documents, as far as kubectl needs them: which parameters a PATCH takes. */
#pragma once

#include "apicall/core.h"

/* Answers /openapi/v2, /openapi/v3 and the paths below it. -1 for other paths. */
int pl_api_openapi(struct pl_api_ctx *ctx, struct pl_slice path);
