/* The life of custom kinds: from a stored CustomResourceDefinition to a served kind, and its
 * removal. */
#pragma once

#include "apicall/core.h"

/* Called after an object was stored: serves the kind of a CRD. Returns 0 for other objects. */
int pl_api_crd_changed(struct pl_api_ctx *ctx, struct pl_doc *crd);
/* One step of a deletion: deletes the objects; when none is left, the kind and the CRD. */
void pl_api_crd_finish(struct pl_api *api, struct pl_api_entry *crd);
