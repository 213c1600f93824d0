/* Memory that is freed as a whole. One thread. */
#pragma once

#include "base/base.h"
#include "base/slice.h"

#include <stddef.h>

/* Bump memory, freed as a whole. Zero-initialise. */
struct pl_arena {
    struct pl_arena_block *blocks; /* owned */
    size_t used, cap;              /* of the first block */
};

void pl_arena_deinit(struct pl_arena *arena);
/* Zeroed, aligned for any type. The memory lives as long as the arena. */
void *pl_arena_alloc(struct pl_arena *arena, size_t size);
struct pl_slice pl_arena_copy(struct pl_arena *arena, struct pl_slice text);
/* In ASCII. */
struct pl_slice pl_arena_lower(struct pl_arena *arena, struct pl_slice text);
/* The text itself when it is UTF-8, else a copy with U+FFFD for each wrong byte. */
struct pl_slice pl_arena_utf8(struct pl_arena *arena, struct pl_slice text);
/* a, between and b, one after the other. */
struct pl_slice pl_arena_join(struct pl_arena *arena, struct pl_slice a, const char *between,
                              struct pl_slice b);
/* "path.name", or only the name if the path is empty. */
struct pl_slice pl_arena_path(struct pl_arena *arena, struct pl_slice path, struct pl_slice name);
/* printf into the arena. */
struct pl_slice pl_arena_f(struct pl_arena *arena, const char *fmt, ...) PL_PRINTF(2, 3);
