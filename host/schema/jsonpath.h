/* The simple JSON paths that CRDs use: ".spec.replicas", ".spec['a.b']", ".status.list[0]". */
#pragma once

#include "object/tree.h"
#include "value/doc.h"

/* The first value at the path (object/jsonpath.h). PL_MISSING if there is none or the path is
 * malformed. */
struct pl_node pl_api_jsonpath(struct pl_node root, struct pl_slice path);
/* Sets the value at a path of plain names. Objects that are missing on the way are created. */
void pl_api_jsonpath_set(struct pl_arena *arena, struct pl_tree *root, const char *path,
                         struct pl_tree *value);
