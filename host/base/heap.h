/* Intrusive binary min-heap over embedded nodes. Moving, adding and removing a node cost O(log n).
 * Each node knows its place, so any node can be removed. */
#pragma once

#include "base/base.h"

#include <stdbool.h>
#include <stdint.h>

struct pl_heap_node {
    size_t index; /* place + 1 in the heap's array, 0 when in no heap */
};

/* true when a must come out before b. */
typedef bool (*pl_heap_less_fn)(const struct pl_heap_node *a, const struct pl_heap_node *b);

struct pl_heap {
    struct pl_heap_node **nodes; /* owned array of borrowed nodes */
    size_t count, cap;
    pl_heap_less_fn less;
};

void pl_heap_init(struct pl_heap *heap, pl_heap_less_fn less);
void pl_heap_deinit(struct pl_heap *heap);
void pl_heap_push(struct pl_heap *heap, struct pl_heap_node *node);
/* Does nothing for a node that is in no heap. */
void pl_heap_remove(struct pl_heap *heap, struct pl_heap_node *node);
/* Must be called after the node's order has changed. */
void pl_heap_fix(struct pl_heap *heap, struct pl_heap_node *node);
/* The first node, which stays in the heap; NULL when empty. Nodes belong to the caller. */
struct pl_heap_node *pl_heap_peek(const struct pl_heap *heap);
/* The same, and takes it out of the heap. */
struct pl_heap_node *pl_heap_pop(struct pl_heap *heap);

static inline bool pl_heap_holds(const struct pl_heap_node *node)
{
    return node->index != 0;
}
