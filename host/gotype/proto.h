/* Objects of built-in kinds: from Kubernetes' protobuf to trees, and from documents to protobuf.
 * The table of the kinds (message.h) gives the fields. Pure. Input is hostile: lengths, nesting and
 * texts are checked. */
#pragma once

#include "gotype/message.h"
#include "object/tree.h"

#define PL_PROTO_TYPE       "application/vnd.kubernetes.protobuf"
#define PL_PROTO_WATCH_TYPE PL_PROTO_TYPE ";stream=watch"
#define PL_PROTO_DEPTH      128 /* messages in messages */

/* ---- in ---- */

/* The envelope of an object: "k8s\0", its type, and its bytes (borrowed from the body). */
struct pl_proto_envelope {
    struct pl_slice api_version, kind, raw;
};

bool pl_proto_open(struct pl_slice body, struct pl_proto_envelope *envelope);
/* The object of that type as JSON would have it, without apiVersion and kind. It lives in the
 * arena. NULL when the bytes are malformed; *why, a literal or a text in the arena, is the reason.
 */
struct pl_tree *pl_proto_decode(struct pl_arena *arena, struct pl_message type,
                                struct pl_slice bytes, const char **why);

/* ---- out ---- */

/* Appends the object's fields that the type has. Values of wrong types are left out. */
void pl_proto_encode(struct pl_buf *out, struct pl_message type, struct pl_node object);
/* Appends the beginning of the envelope. Append the object's fields after it, then call
 * pl_proto_end. */
size_t pl_proto_begin(struct pl_buf *out, struct pl_slice api_version, struct pl_slice kind);
void pl_proto_end(struct pl_buf *out, size_t begun);
