/* Answers in Kubernetes' protobuf, for those who would rather have it: whether a request gets it,
 * and what is written. Types are those of the table of the built-in kinds; custom kinds have none,
 * so that all but their metadata stays JSON. */
#pragma once

#include "apicall/core.h"
#include "gotype/message.h"

/* Decides once the request's type is known. -1, with the status filled: it takes nothing that there
 * is. */
int pl_api_proto_choose(struct pl_api_ctx *ctx);

/* The type of what has that apiVersion and kind: objects, options, Scale, Status. None: no kind of
 * the table. */
struct pl_message pl_api_proto_type(struct pl_slice api_version, struct pl_slice kind);
/* Any object that has apiVersion and kind, lists too, in its envelope. False, and nothing is
 * written: it has no type. */
bool pl_api_proto_write(struct pl_buf *out, struct pl_node object);
/* The same from its JSON. */
bool pl_api_proto_write_json(struct pl_buf *out, struct pl_slice json);
/* A stored object of a built-in kind as that version serves it. */
void pl_api_proto_object(struct pl_buf *out, const struct pl_api_type *type, size_t version,
                         struct pl_node object);

/* A frame of a watch: begin, write one object, end with what begin gave. */
struct pl_api_frame {
    size_t start, object, raw;
};
struct pl_api_frame pl_api_frame_begin(struct pl_buf *out, const char *event);
void pl_api_frame_end(struct pl_buf *out, struct pl_api_frame frame);
/* Why there is no kind of that version in Kubernetes, in Go's words; NULL: there is one. */
const char *pl_api_no_kind(struct pl_api_ctx *ctx, struct pl_slice api_version,
                           struct pl_slice kind);
