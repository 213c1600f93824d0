/* Converts objects of custom kinds to other versions: only the apiVersion changes, or the webhook
 * of their CRD converts them (spec.conversion). Each function may have to wait for the webhook: -1
 * with ctx->is_waiting, see ask.h. */
#pragma once

#include "apicall/core.h"

/* True if that version of the type differs from the stored one by more than its name. */
bool pl_api_converts(const struct pl_api_type *type, size_t from, size_t to);
/* True if stored objects must pass pl_api_convert_nodes to be shown in that version. Those of
 * custom kinds must even where no webhook is asked: the version may declare fewer fields than the
 * stored one, and a newer definition has other defaults. */
bool pl_api_reshapes(const struct pl_api_type *type, size_t version);
/* Replaces the tree with one of that version. 0, or -1 with the status. */
int pl_api_convert(struct pl_api_ctx *ctx, struct pl_tree **object, size_t from, size_t to);
/* Converts stored objects to the request's version: nodes are replaced, the context holds the
 * documents. One question for all of them. */
int pl_api_convert_nodes(struct pl_api_ctx *ctx, struct pl_node *objects, size_t count);
