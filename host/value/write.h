/* From documents to JSON text. */
#pragma once

#include "base/buf.h"
#include "value/build.h"
#include "value/doc.h"

enum {
    PL_WRITE_COMPACT = 0,
    PL_WRITE_SORTED = 1, /* members in byte order of their names */
    PL_WRITE_PRETTY = 2, /* indented by two spaces for each level */
};

/* Appends the node's JSON; "null" for PL_MISSING. Numbers are written as they were read, strings
 * with the fewest escapes. */
void pl_write(struct pl_buf *out, struct pl_node node, unsigned flags);
/* Appends the JSON of the builder's one complete value, and frees the builder. */
void pl_build_write(struct pl_buf *out, struct pl_build *b, unsigned flags);
/* Appends a JSON string with quotes and escapes. */
void pl_write_str(struct pl_buf *out, struct pl_slice text);
