/* What clients ask before they ask for objects: groups, versions, resources, health. */
#pragma once

#include "apicall/core.h"

/* Answers a path outside the resources; -1 with the status when there is nothing there. */
int pl_api_discover(struct pl_api_ctx *ctx);
