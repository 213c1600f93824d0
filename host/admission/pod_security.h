/* The plug-in PodSecurity: checks Pods against the levels in the labels of their namespace. */
#pragma once

#include "apicall/core.h"

/* Call it with a valid object, before webhooks validate it. old: NULL for a new object. Refuses
 * Pods that the level of the namespace forbids, and namespaces with invalid labels. Warns about
 * templates, and about existing Pods that a new, stricter level forbids. 0, or -1 with the status.
 */
int pl_api_pod_security(struct pl_api_ctx *ctx, const struct pl_tree *object,
                        const struct pl_tree *old);
