/* Addresses and ports of Services. */
#pragma once

#include "apicall/core.h"

/* Assigns what a Service has from the server, and takes back what its type no longer has. old: NULL
 * for a new one. -1 and the status when it wants what another Service has. */
int pl_api_prepare_service(struct pl_api_ctx *ctx, struct pl_tree *object,
                           const struct pl_tree *old);
