/* Addresses and ports of Services. */
#pragma once

#include "apicall/core.h"

/* Assigns the values that the server chooses for a Service, and removes those that its type does
 * not use any more. old: NULL for a new one. -1 and the status when it asks for an address or port
 * that another Service has. */
int pl_api_prepare_service(struct pl_api_ctx *ctx, struct pl_tree *object,
                           const struct pl_tree *old);
