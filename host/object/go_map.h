/* JSON as Go prints it in messages: map[a:1 b:[x y]]. */
#pragma once

#include "object/tree.h"

/* Texts come without quotes, members in the tree's order: Go's is that of their names. */
void pl_go_map_write(struct pl_buf *out, const struct pl_tree *value);
/* A node, in Go's order. */
void pl_go_map_node(struct pl_buf *out, struct pl_node node);
