/* The OpenAPI schemas of the built-in types, made from the packed table, as trees. They have no
 * descriptions, since the table has none. Pure; everything lives in the arena. */
#pragma once

#include "gotype/message.h"
#include "object/tree.h"

/* The document to which schemas are added. Zero-initialise the other fields. */
struct pl_describe {
    struct pl_arena *arena;
    struct pl_tree *schemas; /* by name; new schemas are added here */
    bool is_swagger;         /* OpenAPI 2.0: no defaults, and references to #/definitions */
};

/* Adds the schema of the type, and those of all types that it refers to. Returns its schema, which
 * is a part of `schemas`. */
struct pl_tree *pl_describe_message(struct pl_describe *to, struct pl_message message);
/* {"$ref": ...} to the schema of that name. */
struct pl_tree *pl_describe_ref(const struct pl_describe *to, struct pl_slice name);
/* The schema of a member of that type: a reference, with {} as its default if `is_filled`. */
struct pl_tree *pl_describe_member(const struct pl_describe *to, struct pl_slice name,
                                   bool is_filled);
/* {"type": type, "format": format}; format "" for none. */
struct pl_tree *pl_describe_scalar(struct pl_arena *arena, const char *type, const char *format);
