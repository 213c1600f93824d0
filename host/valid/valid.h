/* What kube-apiserver refuses about the values of built-in kinds, in its words and with its paths.
 */
#pragma once

#include "schema/status.h"
#include "schema/type.h"

/* An object of a built-in kind, after defaulting, in its stored version. old: NULL for a new one;
 * what must not change is compared with it. Pure; all faults are collected. */
void pl_valid_builtin(struct pl_api_faults *faults, const struct pl_api_type *type,
                      const struct pl_tree *object, const struct pl_tree *old);
