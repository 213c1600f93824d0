/* CustomResourceDefinitions as objects: defaults, conditions, faults. */
#pragma once

#include "object/tree.h"
#include "schema/status.h"

#include <stdbool.h>

void pl_api_crd_default_spec(struct pl_arena *arena, struct pl_tree *crd);
/* Sets the status of a CRD whose names are not accepted yet, and its stored versions. */
void pl_api_crd_begin(struct pl_arena *arena, struct pl_tree *crd);
/* True if its names are the accepted ones. */
bool pl_api_crd_is_accepted(const struct pl_tree *crd);
/* Accepts the names and sets the conditions, before the CRD is stored. now: the time in the format
 * of objects. */
void pl_api_crd_accept(struct pl_arena *arena, struct pl_tree *crd, struct pl_tree *now);
/* old: NULL for a new one. */
void pl_api_crd_validate(struct pl_api_faults *faults, const struct pl_tree *crd,
                         const struct pl_tree *old);
/* A CRD is being deleted: adds the finalizer that holds it until its objects are gone. */
void pl_api_crd_mark(struct pl_arena *arena, struct pl_tree *crd, struct pl_tree *now);
/* The objects are gone: removes that finalizer. True if it was present. */
bool pl_api_crd_unmark(struct pl_tree *crd);
