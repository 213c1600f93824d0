/* Finds the members of large objects by name, so that writing them stays linear. Belongs to its
 * tree and lies in the tree's arena; members are added at the first search. */
#pragma once

#include "object/tree.h"

/* In objects with fewer members, search is linear. */
#define PL_TREE_INDEX_FROM 16

struct pl_tree_index;

/* An empty index, which lives in the arena. */
struct pl_tree_index *pl_tree_index_create(struct pl_arena *arena);
/* The first member with this name, or NULL. It belongs to the tree. */
struct pl_tree_item *pl_tree_index_find(struct pl_tree_index *index, const struct pl_tree *object,
                                        struct pl_slice key);
/* Call it before the item leaves the object or gets another key. */
void pl_tree_index_forget(struct pl_tree_index *index, const struct pl_tree_item *item);
/* Call it after the order of the members has changed. */
void pl_tree_index_reorder(struct pl_tree_index *index);
