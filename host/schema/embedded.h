/* Metadata of custom objects, and objects inside of them (x-kubernetes-embedded-resource): the
 * members that every object has are read and checked like those of an object of its own. */
#pragma once

#include "object/tree.h"
#include "schema/status.h"
#include "value/doc.h"

/* True if the schema declares such an object somewhere. */
bool pl_api_has_embedded(struct pl_node schema);
/* NULL, or why the value is no metadata, in Go's words. Labels and annotations that are null become
 * empty texts. */
const char *pl_api_metadata_read(struct pl_arena *arena, struct pl_tree *metadata);
/* Drops unknown members of the metadata of embedded objects and adds their paths to `unknown` (an
 * array). NULL, or the first fault. */
const char *pl_api_embedded_read(struct pl_arena *arena, struct pl_tree *object,
                                 struct pl_node schema, struct pl_tree *unknown);
/* Collects faults of their apiVersion, kind and metadata. path: of the value, "" for the root. */
void pl_api_embedded_validate(struct pl_api_faults *faults, const struct pl_tree *value,
                              struct pl_node schema, struct pl_slice path);
