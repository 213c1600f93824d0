/* Objects of built-in kinds in Kubernetes' protobuf, from and to documents: by the table of the
 * kinds (message.h). Pure. What comes in is hostile: lengths, nesting and texts are checked. */
#pragma once

#include "gotype/message.h"
#include "object/tree.h"

#define PL_PROTO_TYPE       "application/vnd.kubernetes.protobuf"
#define PL_PROTO_WATCH_TYPE PL_PROTO_TYPE ";stream=watch"
#define PL_PROTO_DEPTH      128 /* of messages in messages */

/* ---- in ---- */

/* What stands around an object: "k8s\0", its type, its bytes (borrowed from the body). */
struct pl_proto_envelope {
    struct pl_slice api_version, kind, raw;
};

bool pl_proto_open(struct pl_slice body, struct pl_proto_envelope *envelope);
/* The object of that type, as JSON would have it, without apiVersion and kind. NULL when the bytes
 * are none, and *why (static or in the arena) says it. */
struct pl_tree *pl_proto_decode(struct pl_arena *arena, struct pl_message type,
                                struct pl_slice bytes, const char **why);

/* ---- out ---- */

/* The fields of the object that the type has; values of wrong types are left out. */
void pl_proto_encode(struct pl_buf *out, struct pl_message type, struct pl_node object);
/* The envelope's beginning; then come the object's fields; then the end. */
size_t pl_proto_begin(struct pl_buf *out, struct pl_slice api_version, struct pl_slice kind);
void pl_proto_end(struct pl_buf *out, size_t begun);
