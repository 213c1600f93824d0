/* Changes that the subresources of Pods allow. Pure. */
#pragma once

#include "schema/status.h"

/* Checks a Pod that is written by its subresource "ephemeralcontainers" or "resize", in addition to
 * the rules for every Pod. old: the stored Pod. */
void pl_valid_pod_ephemeral(struct pl_api_faults *faults, const struct pl_tree *object,
                            const struct pl_tree *old);
void pl_valid_pod_resize(struct pl_api_faults *faults, const struct pl_tree *object,
                         const struct pl_tree *old);
/* The class of service that follows from the amounts of all containers: "Guaranteed", "Burstable"
 * or "BestEffort". A literal. */
const char *pl_valid_pod_class(const struct pl_tree *pod);
