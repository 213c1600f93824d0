/* The resources of a Pod as a whole (spec.resources). */
#pragma once

#include "object/tree.h"
#include "schema/status.h"

/* Adds the requests and limits of the Pod that follow from those of its containers. Does nothing
 * when the Pod states none. Call it after admission, with the final containers. */
void pl_api_pod_resources_default(struct pl_arena *arena, struct pl_tree *spec);
