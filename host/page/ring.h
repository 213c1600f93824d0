/* The latest items of a sequence, each a JSON value, numbered from 1. Beyond the limits the oldest
 * are dropped. Any thread. */
#pragma once

#include "base/buf.h"

#include <stdint.h>

struct pl_ring;

/* items, bytes: limits, each at least 1. The caller owns the ring. */
struct pl_ring *pl_ring_create(size_t items, size_t bytes);
void pl_ring_destroy(struct pl_ring *ring); /* accepts NULL */
/* Copies the item. */
void pl_ring_add(struct pl_ring *ring, struct pl_slice json);
/* Drops all items; numbers continue. */
void pl_ring_clear(struct pl_ring *ring);
/* Appends {"next":N,"forgotten":N,"items":[...]} with the items from number `from` on: `next` is
 * the number for the next call, `forgotten` the number of dropped ones since `from`. */
void pl_ring_write(struct pl_ring *ring, uint64_t from, struct pl_buf *out);
