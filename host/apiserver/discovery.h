/* Discovery: groups, versions, resources, health. */
#pragma once

#include "apicall/core.h"

/* Answers a path that is not a resource. -1 with the status if it does not exist. */
int pl_api_discover(struct pl_api_ctx *ctx);
