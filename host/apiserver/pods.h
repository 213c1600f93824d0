/* What clients ask of Pods besides reading and writing them, and the end of a namespace. */
#pragma once

#include "apicall/core.h"

/* Each: 0 when answered, -1 with the status filled. */
int pl_api_pod_bind(struct pl_api_ctx *ctx);  /* POST pods/NAME/binding, and bindings */
int pl_api_pod_evict(struct pl_api_ctx *ctx); /* POST pods/NAME/eviction */
int pl_api_pod_log(struct pl_api_ctx *ctx);
/* exec, attach, portforward: no container runs here. */
int pl_api_pod_connect(struct pl_api_ctx *ctx);
int pl_api_namespace_finalize(struct pl_api_ctx *ctx);
