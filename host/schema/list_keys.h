/* Lists that are sets or maps by a CRD's schema: the identity of their elements, and which parts of
 * an old object equal those of a new one. */
#pragma once

#include "base/map.h"
#include "object/tree.h"
#include "schema/status.h"
#include "value/doc.h"

bool pl_api_is_map_list(struct pl_node schema);
/* The identity of an element of that list, as JSON in the arena. */
struct pl_slice pl_api_list_key(struct pl_arena *arena, struct pl_node schema,
                                const struct pl_tree *element);
/* Maps the identities of a map list's elements to the first element of each. */
void pl_api_list_index(struct pl_arena *arena, struct pl_node schema, const struct pl_tree *list,
                       struct pl_map *index);
/* True if a part has not changed. Members without a schema are never the same, as in
 * kube-apiserver; elements of a map list are matched by their keys. */
bool pl_api_is_same_part(struct pl_arena *arena, struct pl_node schema, const struct pl_tree *value,
                         const struct pl_tree *old);
/* Collects elements that come twice in sets and maps, in all lists of the object. */
void pl_api_list_twins(struct pl_api_faults *faults, struct pl_node schema,
                       const struct pl_tree *value, struct pl_slice path);
