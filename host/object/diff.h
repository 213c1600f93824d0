/* The differences between two documents. Unchanged shared subtrees cost nothing: they are equal by
 * position. */
#pragma once

#include "base/buf.h"
#include "value/doc.h"

struct pl_paths {
    char **items; /* owned texts in the form of object/path.h, in document order */
    size_t count;
    bool cut; /* there were more than the limit */
};

/* The deepest paths at which old and new differ: a member was added, removed or changed. Arrays of
 * the same length are compared by element; arrays of different lengths are named as a whole. At
 * most `limit` paths. */
void pl_diff(struct pl_node old_node, struct pl_node new_node, size_t limit, struct pl_paths *out);
/* The same one by one, until `visit` returns false. A path is borrowed for the call and
 * NUL-terminated. */
typedef bool (*pl_diff_fn)(void *arg, struct pl_slice path);
void pl_diff_each(struct pl_node old_node, struct pl_node new_node, pl_diff_fn visit, void *arg);
void pl_paths_deinit(struct pl_paths *paths);

/* True when `stored` already contains `desired`. Objects: each desired member is there and matches;
 * a null member means "absent or null". Arrays: the same length, element by element. Scalars:
 * pl_node_equal. */
bool pl_subset(struct pl_node desired, struct pl_node stored);
