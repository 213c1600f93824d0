/* The plug-in PodSecurity: what a namespace's labels ask of pods. */
#pragma once

#include "apicall/core.h"

/* Of an object that is valid, before webhooks check it. old: NULL for a new one. Refuses Pods that
 * the namespace's level forbids and namespaces whose labels are none; warns of templates, and of
 * the Pods that a stricter level finds. 0, or -1 with the status. */
int pl_api_pod_security(struct pl_api_ctx *ctx, const struct pl_tree *object,
                        const struct pl_tree *old);
