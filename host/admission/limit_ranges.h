/* The LimitRanges of a namespace: defaults for new objects, and refusals. */
#pragma once

#include "apicall/core.h"

/* For Pods and PersistentVolumeClaims. Fills in missing requests and limits of containers and notes
 * that in an annotation, as kube-apiserver does. -1 and 403 if a value is too small, too large, or
 * missing although a LimitRange requires it. */
int pl_api_admit_limits(struct pl_api_ctx *ctx, const char *plural, struct pl_tree *object);
