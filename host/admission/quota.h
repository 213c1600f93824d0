/* The plug-in ResourceQuota: the total amounts that a namespace may use. */
#pragma once

#include "apicall/core.h"

/* Call it before the object is stored. old: NULL for a new object. -1 and the status when it
 * exceeds a quota. Keeps the quotas' new amounts in the context, for pl_api_quota_charge. */
int pl_api_quota_check(struct pl_api_ctx *ctx, const struct pl_tree *object,
                       const struct pl_tree *old);
/* Writes these amounts. Call it after the object was stored. */
void pl_api_quota_charge(struct pl_api_ctx *ctx);
/* Counts the objects of the namespace and writes status.hard and status.used of its quotas. */
void pl_api_quota_count(struct pl_api *api, struct pl_slice ns);
