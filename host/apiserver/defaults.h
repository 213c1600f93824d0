/* What kube-apiserver fills in for built-in kinds, as tables. */
#pragma once

#include "apiserver/core.h"

/* Fills in what every reader of the kind relies on. Nothing for custom kinds. */
void pl_api_default_builtin(struct pl_api_ctx *ctx, struct pl_tree *object);
/* What the server itself assigns, which nobody owns in managedFields: cluster IPs, a first
 * status, labels of Jobs. old: NULL for a new object. */
int pl_api_prepare_builtin(struct pl_api_ctx *ctx, struct pl_tree *object,
                           const struct pl_tree *old);
