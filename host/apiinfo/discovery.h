/* Discovery: groups, versions, resources, health. */
#pragma once

#include "apicall/core.h"

/* Answers a path that is not a resource. -1 with the status if it does not exist. */
int pl_api_discover(struct pl_api_ctx *ctx);
/* Answers /api and /apis with all groups, versions and resources: an APIGroupDiscoveryList. */
int pl_api_discover_whole(struct pl_api_ctx *ctx);

/* Drops the answers that are kept. */
void pl_api_discovery_forget(struct pl_api *api);

/* ---- for the files of discovery; trees lie in the request's arena ---- */

/* All groups except the core group, each with its versions, in the form of APIGroupList. */
struct pl_tree *pl_discovery_groups(struct pl_api_ctx *ctx);
/* The resources of a version with their subresources, as APIResourceList has them. */
struct pl_tree *pl_discovery_resources(struct pl_api_ctx *ctx, struct pl_slice group,
                                       struct pl_slice version);
