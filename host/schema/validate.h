/* What kube-apiserver refuses about metadata, and the few rules of built-in kinds that
 * controllers meet. */
#pragma once

#include "schema/status.h"
#include "schema/type.h"

/* old: NULL for a new object. */
void pl_api_validate_meta(struct pl_api_faults *faults, const struct pl_api_type *type,
                          const struct pl_tree *object, const struct pl_tree *old);
void pl_api_validate_builtin(struct pl_api_faults *faults, const struct pl_api_type *type,
                             const struct pl_tree *object, const struct pl_tree *old);
