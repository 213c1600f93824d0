/* The plug-in ResourceQuota: what a namespace may have in all. */
#pragma once

#include "apicall/core.h"

/* Of an object that is about to be stored. old: NULL for a new one. -1 and the status when a quota
 * is exceeded. What the quotas then have used is kept in the context for pl_api_quota_charge. */
int pl_api_quota_check(struct pl_api_ctx *ctx, const struct pl_tree *object,
                       const struct pl_tree *old);
/* Writes it, once the object is stored. */
void pl_api_quota_charge(struct pl_api_ctx *ctx);
/* Counts the namespace's objects anew for all of its quotas: status.hard and status.used. */
void pl_api_quota_count(struct pl_api *api, struct pl_slice ns);
