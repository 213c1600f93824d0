/* /metrics, and debug paths for tests: /debug/requests, /debug/audit, /debug/lists and
 * /debug/compact (see apiserver.h). */
#pragma once

#include "apicall/core.h"

/* The caller owns the result. */
struct pl_api_debug *pl_api_debug_create(void);
void pl_api_debug_destroy(struct pl_api_debug *debug);
/* Counts a request; verb "" for paths outside the resources. */
void pl_api_debug_count(struct pl_api_debug *debug, const char *verb, struct pl_slice resource);
/* Records a write when its status code is known. */
void pl_api_debug_audit(struct pl_api_debug *debug, const struct pl_api_request *request, int code);
/* Records a list, or a watch that begins with a list, with its query. Returns the place of its
 * status code. Borrowed: lives until the next request. */
int *pl_api_debug_list(struct pl_api_debug *debug, const struct pl_api_request *request);
/* Answers GET /metrics and paths below /debug/. False for other requests. */
bool pl_api_debug_handle(struct pl_api_ctx *ctx, const struct pl_api_debug *debug);
