/* Subresources of Pods, and the finalizers of namespaces. */
#pragma once

#include "apicall/core.h"

/* Each returns 0 if it has answered, or -1 with the status filled in. */
int pl_api_pod_bind(struct pl_api_ctx *ctx); /* POST pods/NAME/binding, and bindings */
int pl_api_pod_log(struct pl_api_ctx *ctx);
/* exec, attach, portforward: no container runs here. */
int pl_api_pod_connect(struct pl_api_ctx *ctx);
int pl_api_namespace_finalize(struct pl_api_ctx *ctx);
/* POST serviceaccounts/NAME/token. */
int pl_api_account_token(struct pl_api_ctx *ctx);

/* ---- shared with eviction.c ---- */

/* Answers 201 with a Status of success. Returns 0. */
int pl_api_pods_answer_success(struct pl_api_ctx *ctx);
/* Passes the body to webhooks and policies, which may change it. group and kind: of the body, v1.
 */
int pl_api_pods_admit_body(struct pl_api_ctx *ctx, struct pl_tree **body, const char *group,
                           const char *kind);
