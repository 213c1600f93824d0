/* Validation of the values of built-in kinds, with kube-apiserver's messages and paths. */
#pragma once

#include "schema/status.h"
#include "schema/type.h"

/* Validates an object of a built-in kind after defaulting, in its stored version. old: NULL for a
 * new object; immutable members are compared with it. Pure. Collects all faults. */
void pl_valid_builtin(struct pl_api_faults *faults, const struct pl_api_type *type,
                      const struct pl_tree *object, const struct pl_tree *old);
/* The rules for a status that is written by the subresource of that name, in addition. Pure. */
void pl_valid_state(struct pl_api_faults *faults, const char *kind, const struct pl_tree *object,
                    const struct pl_tree *old);
