/* The subresource "eviction" of Pods. */
#pragma once

#include "apicall/core.h"

/* POST pods/NAME/eviction. 0 if it has answered, or -1 with the status filled in. */
int pl_api_pod_evict(struct pl_api_ctx *ctx);
