/* The selectors of objects in reviews of access. RBAC knows no selectors, so they are checked and
 * then have no effect. */
#pragma once

#include "object/tree.h"
#include "schema/status.h"

/* about: spec.resourceAttributes, or NULL. */
void pl_review_selectors_check(struct pl_api_faults *faults, const struct pl_tree *about);
/* The text for status.evaluationError: which selectors can't be understood. Empty: none. */
struct pl_slice pl_review_selectors_ignored(struct pl_arena *arena, const struct pl_tree *about);
