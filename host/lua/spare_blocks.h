/* Small blocks that LuaJIT has freed, kept for its next allocations of the same size. LuaJIT's own
 * allocator joins and splits blocks each time and takes several times as long. One for each state.
 *
 * All blocks come from that allocator and can go back to it at any time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <lua.h>

#define PL_SPARE_BLOCK ((size_t)2048)    /* larger blocks are not kept */
#define PL_SPARE_BYTES ((size_t)1 << 20) /* limit of kept bytes */

struct pl_spare {
    struct pl_spare *next;
};

struct pl_spares {
    size_t bytes;
    struct pl_spare *first[PL_SPARE_BLOCK / sizeof(struct pl_spare) + 1]; /* by size */
};

static inline bool pl_spares_fits(size_t size)
{
    return size <= PL_SPARE_BLOCK && size % sizeof(struct pl_spare) == 0 && size != 0;
}

/* A block of exactly this size, which then belongs to the caller; NULL: there is none. */
static inline void *pl_spares_take(struct pl_spares *spares, size_t size)
{
    if (!pl_spares_fits(size))
        return NULL;
    struct pl_spare **first = &spares->first[size / sizeof(struct pl_spare)], *spare = *first;
    if (spare == NULL)
        return NULL;
    *first = spare->next;
    spares->bytes -= size;
    return spare;
}

/* False when the caller has to free it. */
static inline bool pl_spares_keep(struct pl_spares *spares, void *block, size_t size)
{
    if (!pl_spares_fits(size) || spares->bytes > PL_SPARE_BYTES - size)
        return false;
    struct pl_spare **first = &spares->first[size / sizeof(struct pl_spare)], *spare = block;
    spare->next = *first;
    *first = spare;
    spares->bytes += size;
    return true;
}

/* Frees all of them. */
void pl_spares_drop(struct pl_spares *spares, lua_Alloc alloc, void *alloc_data);
