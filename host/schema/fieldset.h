/* Sets of fields in the form of managedFields (FieldsV1): a tree in which "f:name" is a member,
 * "k:{...}" an element of a list with keys, and "v:..." an element of a set. {} is a field that
 * belongs to the set; "." says this if fields below it belong to the set, too.
 *
 * All functions make new trees in the arena and do not change their arguments. NULL is the empty
 * set. */
#pragma once

#include "object/tree.h"
#include "object/schema.h"

/* All fields of the object. */
struct pl_tree *pl_api_fields_of(struct pl_arena *arena, const struct pl_tree *object,
                                 const struct pl_schema *schema);

struct pl_api_difference {
    struct pl_tree *added, *modified, *removed;
};
/* Compares two objects: the sets of added, changed and removed fields. True if they differ. */
bool pl_api_fields_compare(struct pl_arena *arena, const struct pl_tree *before,
                           const struct pl_tree *after, const struct pl_schema *schema,
                           struct pl_api_difference *out);

/* In a or in b. */
struct pl_tree *pl_api_fields_union(struct pl_arena *arena, const struct pl_tree *a,
                                    const struct pl_tree *b);
/* In a and in b. */
struct pl_tree *pl_api_fields_intersection(struct pl_arena *arena, const struct pl_tree *a,
                                           const struct pl_tree *b);
/* In a but not in b. */
struct pl_tree *pl_api_fields_difference(struct pl_arena *arena, const struct pl_tree *a,
                                         const struct pl_tree *b);
bool pl_api_fields_empty(const struct pl_tree *set);
bool pl_api_fields_equal(const struct pl_tree *a, const struct pl_tree *b);

/* Calls visit for each field of the set with its path, such as .spec.list[name="a"].image */
void pl_api_fields_visit(struct pl_arena *arena, const struct pl_tree *set,
                         void (*visit)(void *arg, struct pl_slice path), void *arg);

/* "k:{...}" or "v:..." of a list's element; empty if it lacks keys. */
struct pl_slice pl_api_fields_element(struct pl_arena *arena, const struct pl_tree *element,
                                      const struct pl_schema *list);
/* True if the schema makes the elements of this list fields and all elements have their keys. */
bool pl_api_fields_is_granular(struct pl_arena *arena, const struct pl_tree *list,
                               const struct pl_schema *schema);
/* True if the field of this node itself belongs to its set. */
bool pl_api_fields_is_member(const struct pl_tree *node);
/* The elements of a list by their names in sets of fields. The caller frees the map with
 * pl_map_deinit. */
struct pl_map pl_api_fields_index(struct pl_arena *arena, const struct pl_tree *list,
                                  const struct pl_schema *schema);
