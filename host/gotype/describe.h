/* The built-in types as OpenAPI describes them, from the packed table: schemas as trees, without
 * descriptions, which the table does not hold. Pure; everything lives in the arena. */
#pragma once

#include "gotype/message.h"
#include "object/tree.h"

/* What a document is made in. Zero-initialise the rest. */
struct pl_describe {
    struct pl_arena *arena;
    struct pl_tree *schemas; /* by name; what is described goes there */
    bool is_swagger;         /* OpenAPI 2.0: without defaults, and with its references */
};

/* Adds the type and all types that it leads to, and returns its schema, which is in `schemas`. */
struct pl_tree *pl_describe_message(struct pl_describe *to, struct pl_message message);
/* {"$ref": ...} to the schema of that name. */
struct pl_tree *pl_describe_ref(const struct pl_describe *to, struct pl_slice name);
/* A member that is one of that type: a reference, with {} as its default if `is_filled`. */
struct pl_tree *pl_describe_member(const struct pl_describe *to, struct pl_slice name,
                                   bool is_filled);
/* {"type": type, "format": format}; format "" for none. */
struct pl_tree *pl_describe_scalar(struct pl_arena *arena, const char *type, const char *format);
