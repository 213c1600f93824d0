/* Defaults of a pod's containers and volumes that no table can express. */
#pragma once

#include "object/tree.h"

void pl_api_default_containers(struct pl_arena *arena, struct pl_tree *spec, bool is_pod);
void pl_api_default_volumes(struct pl_arena *arena, struct pl_tree *volumes);
