/* What the server itself gives to objects of built-in kinds. */
#pragma once

#include "apicall/core.h"

/* What the server itself assigns, which nobody owns in managedFields: cluster IPs, a first
 * status, labels of Jobs. old: NULL for a new object. */
int pl_api_prepare_builtin(struct pl_api_ctx *ctx, struct pl_tree *object,
                           const struct pl_tree *old);
