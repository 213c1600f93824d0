/* The latest items of something, each a JSON value, numbered from 1. What is over the limits is
 * forgotten, the oldest first. Any thread. */
#pragma once

#include "base/buf.h"

#include <stdint.h>

struct pl_ring;

/* items, bytes: limits, each at least 1. */
struct pl_ring *pl_ring_create(size_t items, size_t bytes);
void pl_ring_destroy(struct pl_ring *ring); /* accepts NULL */
/* Copies the item. */
void pl_ring_add(struct pl_ring *ring, struct pl_slice json);
/* Forgets all; numbers go on. */
void pl_ring_clear(struct pl_ring *ring);
/* Appends {"next":N,"forgotten":N,"items":[...]} with the items from number `from` on: `next` is
 * the number to ask for then, `forgotten` how many from `from` on are not there any more. */
void pl_ring_write(struct pl_ring *ring, uint64_t from, struct pl_buf *out);
