/* Answers in Kubernetes' protobuf: whether a request gets it, and its encoding. Types come from the
 * table of built-in kinds. Custom kinds have no type, so everything but their metadata stays JSON.
 */
#pragma once

#include "apicall/core.h"
#include "gotype/message.h"

/* Decides when the request's type is known. -1 with the status filled in: the request accepts none
 * of the available forms. */
int pl_api_proto_choose(struct pl_api_ctx *ctx);

/* The type for that apiVersion and kind: objects, options, Scale, Status. None: not in the table.
 */
struct pl_message pl_api_proto_type(struct pl_slice api_version, struct pl_slice kind);
/* The same from its JSON. */
bool pl_api_proto_write_json(struct pl_buf *out, struct pl_slice json);
/* Writes a stored object of a built-in kind as that version serves it. */
void pl_api_proto_object(struct pl_buf *out, const struct pl_api_type *type, size_t version,
                         struct pl_node object);

/* A frame of a watch: begin, write one object, end with the value that begin returned. */
struct pl_api_frame {
    size_t start, object, raw;
};
struct pl_api_frame pl_api_frame_begin(struct pl_buf *out, const char *event);
void pl_api_frame_end(struct pl_buf *out, struct pl_api_frame frame);
/* Go's message if Kubernetes has no such kind in that version; NULL if it has. In the request's
 * arena. */
const char *pl_api_no_kind(struct pl_api_ctx *ctx, struct pl_slice api_version,
                           struct pl_slice kind);
