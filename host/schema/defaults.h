/* kube-apiserver's defaults of built-in kinds, as tables. */
#pragma once

#include "object/tree.h"
#include "schema/type.h"

/* Fills in the defaults of a built-in kind. Does nothing for custom kinds. */
void pl_api_default_builtin(struct pl_arena *arena, const struct pl_api_type *type,
                            struct pl_tree *object);
