/* Values of built-in kinds as kube-apiserver's messages show its internal Go structures: other
 * names, other places of some members, and every empty one. Pure. Results are in the arena. */
#pragma once

#include "object/tree.h"

/* The value, of the internal type of that name, as JSON in one line. value may be NULL. */
struct pl_slice pl_go_struct(struct pl_arena *arena, const char *type, const struct pl_tree *value);
/* The difference of two such values as a unified difference of indented JSON; empty when there is
 * none, or when they are too large for it. */
struct pl_slice pl_go_struct_diff(struct pl_arena *arena, const char *type,
                                  const struct pl_tree *old, const struct pl_tree *value);
