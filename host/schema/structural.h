/* Structural schemas of custom kinds: pruning, defaults and validation. Without a schema everything
 * is kept. */
#pragma once

#include "format/regex_cache.h"
#include "object/tree.h"
#include "schema/status.h"
#include "value/doc.h"

/* Drops fields that the schema does not declare, and below the root also nulls that it does not
 * allow. Adds the paths of dropped fields to `unknown` (an array; NULL: not needed). */
void pl_api_structural_prune(struct pl_arena *arena, struct pl_tree *object, struct pl_node schema,
                             struct pl_tree *unknown);
/* The same for what is applied, in which nulls stay: they are owned, and refused if they remain. */
void pl_api_structural_prune_applied(struct pl_arena *arena, struct pl_tree *object,
                                     struct pl_node schema, struct pl_tree *unknown);
void pl_api_structural_default(struct pl_arena *arena, struct pl_tree *object,
                               struct pl_node schema);
/* apiVersion, kind or metadata, which a schema of an object need not declare. */
bool pl_api_is_envelope(struct pl_slice member);
/* Collects faults. old: the same part of the old object; parts that have not changed have no
 * faults. NULL: it is new. path: the path of the value, "" for the root. patterns: keeps the
 * schema's expressions for the next object. */
void pl_api_structural_validate(struct pl_api_faults *faults, const struct pl_tree *value,
                                const struct pl_tree *old, struct pl_node schema,
                                struct pl_slice path, struct pl_regex_cache *patterns);
/* Drops unknown members of metadata, and empty ones unless keep_empty: they count as absent, but
 * who applies them owns them. */
void pl_api_prune_metadata(struct pl_arena *arena, struct pl_tree *object, bool keep_empty,
                           struct pl_tree *unknown);
