/* CustomResourceDefinitions: from the applied object to a kind that is served. */
#pragma once

#include "apiserver/core.h"

void pl_api_crd_default_spec(struct pl_arena *arena, struct pl_tree *crd);
/* Accepts the names and sets the conditions, before the CRD is stored. */
void pl_api_crd_accept(struct pl_api *api, struct pl_arena *arena, struct pl_tree *crd);
void pl_api_crd_validate(struct pl_api_faults *faults, const struct pl_tree *crd,
                         const struct pl_tree *old);
/* After a CRD was stored: serves what it declares. 0 for objects of other kinds. */
int pl_api_crd_changed(struct pl_api_ctx *ctx, struct pl_doc *crd);
/* A CRD is being deleted: its objects must go first. */
void pl_api_crd_mark(struct pl_api *api, struct pl_arena *arena, struct pl_tree *crd);
/* One step of that: deletes the objects; when none is left, the kind and the CRD. */
void pl_api_crd_finish(struct pl_api *api, struct pl_api_entry *crd);
