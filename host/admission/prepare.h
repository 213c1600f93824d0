/* Values that the server assigns to objects of built-in kinds. */
#pragma once

#include "apicall/core.h"

/* Assigns values that nobody owns in managedFields: cluster IPs, a first status, labels of Jobs.
 * old: NULL for a new object. */
int pl_api_prepare_builtin(struct pl_api_ctx *ctx, struct pl_tree *object,
                           const struct pl_tree *old);
