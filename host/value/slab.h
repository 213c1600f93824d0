/* Memory in size classes inside one reserved range of addresses, for very many small blocks that
 * never move. For host/value, host/store and other owners of many small long-lived blocks. One
 * thread.
 *
 * Blocks of a class share spans of 64 KiB. Only pl_slab_release returns pages without blocks to the
 * system. Blocks larger than SLAB_SMALL have their own spans. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SLAB_GRANULE = 16, /* every block starts at a multiple of this */
    SLAB_SPAN = 64 << 10,
    SLAB_SMALL = 16 << 10,
    SLAB_CLASSES = 104,
    SLAB_NONE = -1,
};

struct slab_span;
struct slab_run;

struct slab_class {
    int32_t open;         /* first of the spans with room, or SLAB_NONE */
    uint32_t spans, live; /* spans and blocks of this class */
};

struct slab {
    uint8_t *base;
    size_t reserved;
    struct slab_span *spans; /* one for each span of the range; reserved like it */
    int32_t used;            /* spans from this index on were never used */
    struct slab_class classes[SLAB_CLASSES];
    struct slab_run *runs; /* owned: free spans, by address, no two adjacent */
    size_t run_count, run_cap;
    size_t live_bytes;  /* of blocks, rounded up to their class */
    size_t freed_bytes; /* since the last sweep began */
    int32_t sweep;      /* next span to look at, SLAB_NONE between sweeps */
};

/* Reserves up to `bytes` of addresses; less if the system refuses so many. */
void pl_slab_init(struct slab *slab, size_t bytes);
void pl_slab_deinit(struct slab *slab);
/* A block that lives until pl_slab_free or until the slab ends; NULL when the range is used up. The
 * first block ever is at base. */
void *pl_slab_alloc(struct slab *slab, size_t size);
void pl_slab_free(struct slab *slab, void *block, size_t size);

/* Returns free pages to the system, a bounded number in each call. Does nothing while little was
 * freed, unless pl_slab_sweep has started a sweep; pl_slab_rest starts one if it is worthwhile. */
void pl_slab_release(struct slab *slab);
void pl_slab_sweep(struct slab *slab);
void pl_slab_rest(struct slab *slab);
static inline bool pl_slab_is_releasing(const struct slab *slab)
{
    return slab->sweep != SLAB_NONE;
}
/* True when copying this block and freeing it would help to empty its span: its class has far more
 * spans than its blocks need. New blocks are not placed in that span any more. */
bool pl_slab_drain(struct slab *slab, const void *block, size_t size);

/* The same, but from the heap when the range is used up. Such a block is given back with
 * pl_slab_give. */
void *pl_slab_take(struct slab *slab, size_t size);
void pl_slab_give(struct slab *slab, void *block, size_t size);

static inline bool slab_holds(const struct slab *slab, const void *block)
{
    return (size_t)((const uint8_t *)block - slab->base) < slab->reserved;
}
