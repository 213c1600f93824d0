/* A binary min-heap of nodes that are embedded in their owners. Each node stores its place plus one
 * (0: it is in no heap), so that any node can be moved or removed. After a change of the values
 * that `less` compares, pl_heap_fix must be called before any other function. Equal nodes come out
 * in an unspecified order. */
#include "base/heap.h"

#include "base/alloc.h"

void pl_heap_init(struct pl_heap *heap, pl_heap_less_fn less)
{
    *heap = (struct pl_heap){.less = less};
}

void pl_heap_deinit(struct pl_heap *heap)
{
    for (size_t i = 0; i < heap->count; i++)
        heap->nodes[i]->index = 0;
    pl_free(heap->nodes);
    pl_heap_init(heap, heap->less);
}

static void heap_set(struct pl_heap *heap, size_t at, struct pl_heap_node *node)
{
    heap->nodes[at] = node;
    node->index = at + 1;
}

static void sift_up(struct pl_heap *heap, size_t at)
{
    struct pl_heap_node *node = heap->nodes[at];
    while (at > 0) {
        size_t parent = (at - 1) / 2;
        if (!heap->less(node, heap->nodes[parent]))
            break;
        heap_set(heap, at, heap->nodes[parent]);
        at = parent;
    }
    heap_set(heap, at, node);
}

static void sift_down(struct pl_heap *heap, size_t at)
{
    struct pl_heap_node *node = heap->nodes[at];
    for (;;) {
        size_t child = at * 2 + 1;
        if (child >= heap->count)
            break;
        if (child + 1 < heap->count && heap->less(heap->nodes[child + 1], heap->nodes[child]))
            child++;
        if (!heap->less(heap->nodes[child], node))
            break;
        heap_set(heap, at, heap->nodes[child]);
        at = child;
    }
    heap_set(heap, at, node);
}

void pl_heap_push(struct pl_heap *heap, struct pl_heap_node *node)
{
    if (heap->count == heap->cap) {
        heap->cap = heap->cap ? heap->cap * 2 : 16;
        heap->nodes = pl_reallocarray(heap->nodes, heap->cap, sizeof(struct pl_heap_node *));
    }
    heap_set(heap, heap->count++, node);
    sift_up(heap, heap->count - 1);
}

void pl_heap_fix(struct pl_heap *heap, struct pl_heap_node *node)
{
    sift_up(heap, node->index - 1);
    sift_down(heap, node->index - 1);
}

void pl_heap_remove(struct pl_heap *heap, struct pl_heap_node *node)
{
    if (node->index == 0)
        return;
    size_t at = node->index - 1;
    struct pl_heap_node *last = heap->nodes[--heap->count];
    node->index = 0;
    if (last == node)
        return;
    heap_set(heap, at, last);
    pl_heap_fix(heap, last);
}

struct pl_heap_node *pl_heap_peek(const struct pl_heap *heap)
{
    return heap->count ? heap->nodes[0] : NULL;
}

struct pl_heap_node *pl_heap_pop(struct pl_heap *heap)
{
    struct pl_heap_node *node = pl_heap_peek(heap);
    if (node != NULL)
        pl_heap_remove(heap, node);
    return node;
}
