/* The operations of a JSON patch, as kube-apiserver reads and applies them. */
#pragma once

#include "apicall/core.h"

/* Fills in the status of an operation that Go cannot read, and notes members that it does not know.
 * Other forms of patches pass. */
PL_MUST_USE int pl_api_operations_check(struct pl_api_ctx *ctx, struct pl_node operations);
/* NULL: an operation fails, or no object is left. The whole object can only be tested or replaced.
 * The caller owns a reference. */
struct pl_doc *pl_api_operations_apply(struct pl_node target, struct pl_node operations,
                                       struct pl_err *err);
