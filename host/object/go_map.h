/* JSON as Go prints it in messages: map[a:1 b:[x y]]. */
#pragma once

#include "object/tree.h"

/* Writes texts without quotes, and members in the tree's order. Go orders members by name, so the
 * caller sorts the tree first. */
void pl_go_map_write(struct pl_buf *out, const struct pl_tree *value);
/* The same for a node, with its members sorted. */
void pl_go_map_node(struct pl_buf *out, struct pl_node node);
