/* kube-apiserver's warnings about values of built-in kinds: values without effect, deprecated ones,
 * and probable mistakes. */
#pragma once

#include "object/tree.h"
#include "schema/type.h"

/* Texts of warnings about an object of a built-in kind, after defaulting; an array in the arena, or
 * NULL when there are none. old: NULL for a new one. Pure. */
struct pl_tree *pl_valid_warnings(struct pl_arena *arena, const struct pl_api_type *type,
                                  const struct pl_tree *object, const struct pl_tree *old);
