/* Small blocks that LuaJIT has given back, kept for its next ones of the same size: its own
 * allocator, which joins and splits them each time, takes several times as long. One a state.
 *
 * All blocks come from that allocator and can go back to it at any time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <lua.h>

#define PL_SPARE_BLOCK ((size_t)2048)    /* larger ones are not kept */
#define PL_SPARE_BYTES ((size_t)1 << 20) /* at most so much is */

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

/* One of exactly this size, or NULL. */
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

/* False when the caller has to give it back. */
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

/* Gives all of them back. */
void pl_spares_drop(struct pl_spares *spares, lua_Alloc alloc, void *alloc_data);
