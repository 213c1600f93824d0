/* What the subresources of Pods may change. Pure. */
#pragma once

#include "schema/status.h"

/* A Pod that is written by its subresource "ephemeralcontainers" or "resize", beside the rules that
 * every Pod has. old: what it was. */
void pl_valid_pod_ephemeral(struct pl_api_faults *faults, const struct pl_tree *object,
                            const struct pl_tree *old);
void pl_valid_pod_resize(struct pl_api_faults *faults, const struct pl_tree *object,
                         const struct pl_tree *old);
/* The class of service that follows from what all containers say: "Guaranteed", "Burstable" or
 * "BestEffort". A literal. */
const char *pl_valid_pod_class(const struct pl_tree *pod);
