/* Access to devices for administrators. */
#pragma once

#include "apicall/core.h"

/* Adds a fault where a claim, a template of claims or the status of a claim gives such access in a
 * namespace without the label for it. Other kinds have none. */
void pl_api_devices_validate(struct pl_api_ctx *ctx, struct pl_api_faults *faults,
                             const struct pl_tree *object, const struct pl_tree *old);
