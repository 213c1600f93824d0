/* The life of custom kinds: from a stored CustomResourceDefinition to a kind that is served, and
 * its end. */
#pragma once

#include "apicall/core.h"

/* After a CRD was stored: serves what it declares. 0 for objects of other kinds. */
int pl_api_crd_changed(struct pl_api_ctx *ctx, struct pl_doc *crd);
/* One step of a deletion: deletes the objects; when none is left, the kind and the CRD. */
void pl_api_crd_finish(struct pl_api *api, struct pl_api_entry *crd);
