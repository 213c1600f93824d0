/* Objects of custom kinds in other versions: by another apiVersion alone, or by the webhook of
 * their CRD (spec.conversion). Each may have to wait for that: -1 with ctx->is_waiting, see ask.h.
 */
#pragma once

#include "apicall/core.h"

/* Does that version of the type differ from the stored one by more than its name? */
bool pl_api_converts(const struct pl_api_type *type, size_t from, size_t to);
/* Replaces the tree by one of that version; 0, or -1 with the status. */
int pl_api_convert(struct pl_api_ctx *ctx, struct pl_tree **object, size_t from, size_t to);
/* Stored objects as the request's version has them: nodes are replaced, documents are held by the
 * context. One question for all of them. */
int pl_api_convert_nodes(struct pl_api_ctx *ctx, struct pl_node *objects, size_t count);
