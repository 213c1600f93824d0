/* Bodies and patched objects of built-in kinds, held against the kinds' types. */
#pragma once

#include "apicall/core.h"
#include "gotype/message.h"

/* The type of the request's objects; none for custom kinds. */
/* Fills in the defaults of a built-in kind, and leaves out and writes what Go does. */
void pl_api_body_default(struct pl_api_ctx *ctx, struct pl_tree *object);
struct pl_message pl_api_body_type(const struct pl_api_ctx *ctx);
/* A JSON body that was scanned already, as a tree with what comes twice in it. */
struct pl_tree *pl_api_body_json(struct pl_api_ctx *ctx, const struct pl_doc *doc);
/* The body in protobuf as an object of that kind (also DeleteOptions and kinds of subresources),
 * with apiVersion and kind of its envelope. NULL and the status when it is none. */
struct pl_tree *pl_api_body_protobuf(struct pl_api_ctx *ctx, const char *kind);
/* Cleans an object that was sent: fields that its type does not have, nulls. -1 and the status for
 * a value of a wrong type, and, by fieldValidation, for what is unknown or comes twice; warnings.
 */
int pl_api_body_read(struct pl_api_ctx *ctx, struct pl_tree *object);
/* The same for what a patch made, and for what is applied, in their words. */
int pl_api_body_read_patched(struct pl_api_ctx *ctx, struct pl_tree *object);
int pl_api_body_read_applied(struct pl_api_ctx *ctx, struct pl_tree *config);

/* ---- decode.c ---- */

/* The body as an object of the request's kind; NULL and the status when it is none. */
struct pl_tree *pl_api_decode(struct pl_api_ctx *ctx);

/* What Go says of a body that is no object. */
const char *pl_api_no_object(struct pl_api_ctx *ctx, struct pl_node root);
/* The body as an object of another kind, as some subresources take it; it may leave out what it is.
 */
struct pl_tree *pl_api_decode_as(struct pl_api_ctx *ctx, const char *api_version, const char *kind);
