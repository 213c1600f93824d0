/* The pool's hash table: maps a 64-bit hash to the handles of nodes with that hash. Grows and
 * shrinks a few slots at a time. Only host/value includes this. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct table_slot {
    uint32_t handle; /* 0: never used */
    uint32_t hash;   /* the upper half of the hash; the low bits choose the slot */
};

struct table_part {
    struct table_slot *slots; /* owned */
    uint32_t cap;             /* a power of two, or 0 */
    uint32_t used;            /* slots that are not empty, also those of removed entries */
};

struct table {
    struct table_part now, old; /* old: its entries are being moved into now */
    uint32_t moved;             /* slots of old before this index have been moved */
    uint32_t count;
};

enum { TABLE_GONE = UINT32_MAX }; /* handle of a removed entry */

void pl_table_init(struct table *table);
void pl_table_deinit(struct table *table);
void pl_table_add(struct table *table, uint64_t hash, uint32_t handle);
/* The entry must be in the table. */
void pl_table_remove(struct table *table, uint64_t hash, uint32_t handle);
/* Moves up to `slots` slots, and starts shrinking when the table is nearly empty. */
void pl_table_tidy(struct table *table, uint32_t slots);

/* Visits the handles whose hash may be equal:
 *     struct table_probe probe = table_probe(table, hash);
 *     while ((handle = table_next(&probe)) != 0) ... */
struct table_probe {
    const struct table_part *part, *other;
    uint32_t hash, at;
};

static inline struct table_probe table_probe(const struct table *table, uint64_t hash)
{
    uint32_t half = (uint32_t)(hash >> 32);
    return (struct table_probe){&table->now, table->old.cap != 0 ? &table->old : NULL, half,
                                half & (table->now.cap - 1)};
}

static inline uint32_t table_next(struct table_probe *probe)
{
    for (;;) {
        const struct table_slot *slot = &probe->part->slots[probe->at];
        if (slot->handle == 0) {
            if (probe->other == NULL)
                return 0;
            probe->part = probe->other;
            probe->other = NULL;
            probe->at = probe->hash & (probe->part->cap - 1);
            continue;
        }
        probe->at = (probe->at + 1) & (probe->part->cap - 1);
        if (slot->hash == probe->hash && slot->handle != TABLE_GONE)
            return slot->handle;
    }
}

static inline size_t table_bytes(const struct table *table)
{
    return ((size_t)table->now.cap + table->old.cap) * sizeof(struct table_slot);
}
