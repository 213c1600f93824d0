/* CustomResourceDefinitions as objects: defaults, conditions, faults. */
#pragma once

#include "object/tree.h"
#include "schema/status.h"

#include <stdbool.h>

void pl_api_crd_default_spec(struct pl_arena *arena, struct pl_tree *crd);
/* The status of a CRD that nobody has accepted yet, and its versions that are stored. */
void pl_api_crd_begin(struct pl_arena *arena, struct pl_tree *crd);
/* Are its names those that were accepted? */
bool pl_api_crd_is_accepted(const struct pl_tree *crd);
/* Accepts the names and sets the conditions, before the CRD is stored. now: the time as objects
 * carry it. */
void pl_api_crd_accept(struct pl_arena *arena, struct pl_tree *crd, struct pl_tree *now);
/* old: NULL for a new one. */
void pl_api_crd_validate(struct pl_api_faults *faults, const struct pl_tree *crd,
                         const struct pl_tree *old);
/* A CRD is being deleted: a finalizer holds it until its objects are gone. */
void pl_api_crd_mark(struct pl_arena *arena, struct pl_tree *crd, struct pl_tree *now);
/* They are: takes that finalizer away. Was it there? */
bool pl_api_crd_unmark(struct pl_tree *crd);
