/* HorizontalPodAutoscalers of autoscaling/v1, which are stored as autoscaling/v2. */
#pragma once

#include "object/tree.h"

/* Converts the object in place between v1 and v2. Values without a field in v1 are in annotations
 * (autoscaling.alpha.kubernetes.io/...); annotations that nobody can read are dropped. New parts
 * are in the arena. No errors. */
void pl_api_autoscaler_convert(struct pl_arena *arena, struct pl_tree *object, bool to_v2);
