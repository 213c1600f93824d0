/* Paths as kubectl prints them: spec.containers[2].env, metadata.annotations["example.com/key"]. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "value/doc.h"

struct pl_path;

/* NULL and err (with the offset) when the text is not a path. A leading "." is allowed; the empty
 * path is the root. The caller owns the path. */
struct pl_path *pl_path_parse(struct pl_slice text, struct pl_err *err);
void pl_path_destroy(struct pl_path *path);
/* PL_MISSING when a step is absent. */
struct pl_node pl_path_find(const struct pl_path *path, struct pl_node root);
/* The steps, for code that walks other data: a name, or an index when key.ptr is NULL. */
struct pl_step {
    struct pl_slice key;
    size_t index;
};
size_t pl_path_len(const struct pl_path *path);
struct pl_step pl_path_step(const struct pl_path *path, size_t i);
/* Appends ".name", "[\"odd.name\"]" (no dot in front at the start of out) or "[3]". */
void pl_path_add_key(struct pl_buf *out, struct pl_slice key);
void pl_path_add_index(struct pl_buf *out, size_t index);
