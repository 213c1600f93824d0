/* The paths in CRDs: ".spec.replicas", ".spec['a.b']", ".status.list[0]". Pure. */
#pragma once

#include "object/tree.h"
#include "value/doc.h"

/* The first value at the path (object/jsonpath.h). PL_MISSING if there is none or the path is
 * malformed. */
struct pl_node pl_api_jsonpath(struct pl_node root, struct pl_slice path);
/* Sets the value at a path of plain names. Objects that are missing on the way are created. */
void pl_api_jsonpath_set(struct pl_arena *arena, struct pl_tree *root, const char *path,
                         struct pl_tree *value);

/* A path in a structural schema, such as .spec.color or .spec['a b']. NULL, or why it leads
 * nowhere, in the words of Kubernetes' library. brackets: the form with brackets is allowed. found:
 * the schema at the end of the path. */
const char *pl_api_field_path_fault(struct pl_arena *arena, struct pl_node schema,
                                    struct pl_slice path, bool brackets, struct pl_node *found);
/* Such a path in the form of messages: .spec.a b, and .spec[a b] where the schema has a map. */
struct pl_slice pl_api_field_path_shown(struct pl_arena *arena, struct pl_node schema,
                                        struct pl_slice path);
