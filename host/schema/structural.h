/* Structural schemas of custom kinds: which fields are kept, what defaults are filled
 * in, and what is valid. A missing schema knows nothing and keeps everything. */
#pragma once

#include "object/tree.h"
#include "schema/status.h"
#include "value/doc.h"

/* Drops what the schema does not know, below the root also nulls that it does not
 * allow. Paths of what was dropped go to `unknown` (an array; NULL: not wanted). */
void pl_api_structural_prune(struct pl_arena *arena, struct pl_tree *object, struct pl_node schema,
                             struct pl_tree *unknown);
void pl_api_structural_default(struct pl_arena *arena, struct pl_tree *object,
                               struct pl_node schema);
/* Collects faults; path names the value, "" for the root. */
void pl_api_structural_validate(struct pl_api_faults *faults, const struct pl_tree *value,
                                struct pl_node schema, struct pl_slice path);
/* Drops members of metadata that no object has. */
void pl_api_prune_metadata(struct pl_arena *arena, struct pl_tree *object, struct pl_tree *unknown);
