/* Finds the members of large objects by name, so that a write costs what it is long. Belongs to
 * its tree and lies in the tree's arena; members are taken in when one is first looked for. */
#pragma once

#include "object/tree.h"

/* Objects with fewer members are searched one by one. */
#define PL_TREE_INDEX_FROM 16

struct pl_tree_index;

struct pl_tree_index *pl_tree_index_create(struct pl_arena *arena);
/* The first member so named, or NULL. */
struct pl_tree_item *pl_tree_index_find(struct pl_tree_index *index, const struct pl_tree *object,
                                        struct pl_slice key);
/* Before the item leaves the object, or gets another key. */
void pl_tree_index_forget(struct pl_tree_index *index, const struct pl_tree_item *item);
/* After the members have come into another order. */
void pl_tree_index_reorder(struct pl_tree_index *index);
