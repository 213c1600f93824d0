/* CustomResourceDefinitions as objects: defaults, conditions, faults. */
#pragma once

#include "object/tree.h"
#include "schema/status.h"
#include "value/doc.h"

#include <stdbool.h>

/* Removes an empty spec.conversion, which an apply leaves behind when it releases the
 * conversion. */
void pl_api_crd_drop_released(struct pl_tree *crd);
void pl_api_crd_default_spec(struct pl_arena *arena, struct pl_tree *crd);
/* Puts the storage version into an empty list of stored versions. */
void pl_api_crd_keep_version(struct pl_arena *arena, struct pl_tree *crd);
/* Sets the status of a CRD whose names are not accepted yet, and its stored versions. */
void pl_api_crd_begin(struct pl_arena *arena, struct pl_tree *crd);
/* True if its names are the accepted ones. */
bool pl_api_crd_is_accepted(const struct pl_tree *crd);
/* The names that other kinds of the group have: arrays of texts. */
struct pl_api_used_names {
    struct pl_tree *resources; /* plural, singular and short names */
    struct pl_tree *kinds;     /* and list kinds */
};

/* Accepts the names that no other kind has and sets the conditions. True: all of them, the kind is
 * served. now: the time in the format of objects. */
bool pl_api_crd_accept(struct pl_arena *arena, struct pl_tree *crd,
                       const struct pl_api_used_names *used, struct pl_tree *now);
/* True if another kind has one of its names, so that it is not served. */
bool pl_api_crd_waits(struct pl_node crd);
/* old: NULL for a new one. */
void pl_api_crd_validate(struct pl_api_faults *faults, const struct pl_tree *crd,
                         const struct pl_tree *old);
/* A CRD is being deleted: adds the finalizer that holds it until its objects are gone. */
void pl_api_crd_mark(struct pl_arena *arena, struct pl_tree *crd, struct pl_tree *now);
/* The objects are gone: removes that finalizer. True if it was present. */
bool pl_api_crd_unmark(struct pl_tree *crd);
