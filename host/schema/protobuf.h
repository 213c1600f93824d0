/* Bodies as kubectl and Go clients send those of built-in kinds: protobuf in an envelope. Only
 * reviews are understood: `kubectl auth` sends them so and no other way. */
#pragma once

#include "object/tree.h"

/* Is there a description of this kind? */
bool pl_api_protobuf_knows(const char *kind);
/* The object, with apiVersion and kind of the envelope; fields that are not described are left
 * out. NULL when the bytes are none. */
struct pl_tree *pl_api_protobuf_decode(struct pl_arena *arena, const char *kind,
                                       struct pl_slice body);
