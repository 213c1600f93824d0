/* Subresources of Pods, and the finalizers of namespaces. */
#pragma once

#include "apicall/core.h"

/* Each returns 0 if it has answered, or -1 with the status filled in. */
int pl_api_pod_bind(struct pl_api_ctx *ctx);  /* POST pods/NAME/binding, and bindings */
int pl_api_pod_evict(struct pl_api_ctx *ctx); /* POST pods/NAME/eviction */
int pl_api_pod_log(struct pl_api_ctx *ctx);
/* exec, attach, portforward: no container runs here. */
int pl_api_pod_connect(struct pl_api_ctx *ctx);
int pl_api_namespace_finalize(struct pl_api_ctx *ctx);
