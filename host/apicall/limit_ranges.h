/* What the LimitRanges of a namespace add to a new object, or refuse it for. */
#pragma once

#include "apicall/core.h"

/* Pods and PersistentVolumeClaims. Fills in the requests and limits of containers that have none,
 * and says so in an annotation as kube-apiserver does. -1 and 403 for what is too small, too large,
 * or not said although a limit is set for it. */
int pl_api_admit_limits(struct pl_api_ctx *ctx, const char *plural, struct pl_tree *object);
