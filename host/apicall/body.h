/* Checks bodies and patched objects of built-in kinds against the kinds' types. */
#pragma once

#include "apicall/core.h"
#include "gotype/message.h"

/* Fills in the defaults of a built-in kind, and leaves out empty fields as Go does. */
void pl_api_body_default(struct pl_api_ctx *ctx, struct pl_tree *object);
/* The type of the request's objects; none for custom kinds. */
struct pl_message pl_api_body_type(const struct pl_api_ctx *ctx);
/* Scans a JSON body. Members that come twice are noted in the context, with `prefix` before each
 * text, unless fieldValidation ignores them; the last one counts. For bodies that no type is read
 * from: patches and objects of custom kinds. NULL and the error if it is malformed. */
struct pl_doc *pl_api_body_scan(struct pl_api_ctx *ctx, const char *prefix, struct pl_err *err);
/* A JSON body that was scanned already, as a tree that keeps duplicate members. In the request's
 * arena, as every tree of this file. */
struct pl_tree *pl_api_body_json(struct pl_api_ctx *ctx, const struct pl_doc *doc);
/* Decodes a protobuf body as an object of that kind (also DeleteOptions and kinds of subresources),
 * with apiVersion and kind from its envelope. NULL and the status if it is malformed. */
struct pl_tree *pl_api_body_protobuf(struct pl_api_ctx *ctx, const char *kind);
/* Removes unknown fields and nulls from an object that a client sent. -1 and the status for a value
 * of a wrong type and, depending on fieldValidation, for unknown and duplicate fields; else adds
 * warnings. */
int pl_api_body_read(struct pl_api_ctx *ctx, struct pl_tree *object);
/* The same for the result of a patch and for an applied object, in kube-apiserver's words for
 * these. */
/* 422 about a patch: the patched object, and what is wrong with it. */
int pl_api_body_fail_patched(struct pl_api_ctx *ctx, struct pl_slice shown, struct pl_slice what);
/* The object as JSON in the arena. */
struct pl_slice pl_api_body_shown(struct pl_api_ctx *ctx, const struct pl_tree *object);
/* The same with the members in the order of their names, as Go shows custom objects. */
struct pl_slice pl_api_body_shown_sorted(struct pl_api_ctx *ctx, const struct pl_tree *object);
/* 415: the body has another form than JSON, YAML and protobuf. */
int pl_api_fail_body_form(struct pl_api_status *status);
/* Reads the body of a subresource that has a kind of its own. The error, or nothing. */
struct pl_slice pl_api_body_mistake(struct pl_api_ctx *ctx, struct pl_tree *object,
                                    const char *api_version, const char *kind);
int pl_api_body_read_patched(struct pl_api_ctx *ctx, struct pl_tree *object);
/* Drops the nulls that an applied configuration has stated. */
void pl_api_body_drop_nulls(struct pl_api_ctx *ctx, struct pl_tree *object);
int pl_api_body_read_applied(struct pl_api_ctx *ctx, struct pl_tree *config);

/* ---- decode.c ---- */

/* The body as an object of the request's kind. NULL and the status if it is malformed. */
struct pl_tree *pl_api_decode(struct pl_api_ctx *ctx);

/* Go's error message for a body that is not an object. In the request's arena. */
const char *pl_api_no_object(struct pl_api_ctx *ctx, struct pl_node root);
/* The body as an object of another kind, for subresources. It may leave out apiVersion and kind. */
struct pl_tree *pl_api_decode_as(struct pl_api_ctx *ctx, const char *api_version, const char *kind);
