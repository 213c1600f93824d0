/* The simple JSON paths that CRDs use: ".spec.replicas", ".spec['a.b']", ".status.list[0]". */
#pragma once

#include "object/tree.h"
#include "value/doc.h"

/* The first value that the path finds (object/jsonpath.h); PL_MISSING when there is none, or the
 * text is no path. */
struct pl_node pl_api_jsonpath(struct pl_node root, struct pl_slice path);
/* The value at a path of plain names; NULL when a step is absent. */
struct pl_tree *pl_api_jsonpath_tree(struct pl_tree *root, const char *path);
void pl_api_jsonpath_set(struct pl_arena *arena, struct pl_tree *root, const char *path,
                         struct pl_tree *value);
