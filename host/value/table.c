/* The pool's hash table, open addressing with linear probes. It is never rehashed at once: a resize
 * creates a second part, and each later addition moves some slots, so that no document pays for all
 * of them.
 *
 * While slots move, a lookup probes both parts. A removed or moved entry leaves a mark in its slot,
 * since an empty slot ends a probe; only the last slot of a chain becomes empty at once. */
#include "value/table.h"

#include "base/alloc.h"
#include "base/check.h"

#include <stdbool.h>
#include <string.h>

enum {
    LEAST = 1024, /* slots */
    MOVES = 16,   /* slots of the old part that each addition moves */
};

static struct table_part make_part(uint32_t cap)
{
    return (struct table_part){pl_calloc(cap, sizeof(struct table_slot)), cap, 0};
}

void pl_table_init(struct table *table)
{
    memset(table, 0, sizeof(*table));
    table->now = make_part(LEAST);
}

void pl_table_deinit(struct table *table)
{
    pl_free(table->now.slots);
    pl_free(table->old.slots);
    memset(table, 0, sizeof(*table));
}

static void table_put(struct table_part *part, struct table_slot slot)
{
    uint32_t at = slot.hash & (part->cap - 1);
    while (part->slots[at].handle != 0)
        at = (at + 1) & (part->cap - 1);
    part->slots[at] = slot;
    part->used++;
}

/* A moved entry leaves the mark of a removed one, so that probes still pass over it. Empty slots
 * stay empty, so that they still end probes. */
static void move_some(struct table *table, uint32_t slots)
{
    struct table_part *old = &table->old;
    for (; slots > 0 && table->moved < old->cap; slots--, table->moved++) {
        struct table_slot *slot = &old->slots[table->moved];
        if (slot->handle == 0 || slot->handle == TABLE_GONE)
            continue;
        table_put(&table->now, *slot);
        slot->handle = TABLE_GONE;
    }
    if (old->cap != 0 && table->moved == old->cap) {
        pl_free(old->slots);
        *old = (struct table_part){NULL, 0, 0};
    }
}

/* The new part is at most a quarter full when everything has moved. Meanwhile, with MOVES slots for
 * each addition, old.cap / MOVES entries may be added: another quarter at most. */
static void table_resize(struct table *table)
{
    uint32_t cap = LEAST;
    while (cap / 4 < table->count || cap / 4 < table->now.cap / MOVES)
        cap *= 2;
    table->old = table->now;
    table->moved = 0;
    table->now = make_part(cap);
}

void pl_table_add(struct table *table, uint64_t hash, uint32_t handle)
{
    move_some(table, MOVES);
    if (table->old.cap == 0 && table->now.used >= table->now.cap / 2)
        table_resize(table);
    table_put(&table->now, (struct table_slot){handle, (uint32_t)(hash >> 32)});
    table->count++;
}

static bool remove_from(struct table_part *part, uint32_t hash, uint32_t handle)
{
    if (part->cap == 0)
        return false;
    uint32_t mask = part->cap - 1;
    for (uint32_t at = hash & mask; part->slots[at].handle != 0; at = (at + 1) & mask) {
        if (part->slots[at].handle != handle)
            continue;
        /* The last slot of its chain can become empty at once. */
        bool is_last = part->slots[(at + 1) & mask].handle == 0;
        part->slots[at].handle = is_last ? 0 : TABLE_GONE;
        part->used -= is_last;
        return true;
    }
    return false;
}

void pl_table_remove(struct table *table, uint64_t hash, uint32_t handle)
{
    uint32_t half = (uint32_t)(hash >> 32);
    bool removed = remove_from(&table->now, half, handle) || remove_from(&table->old, half, handle);
    PL_REQUIRE(removed);
    table->count--;
}

void pl_table_tidy(struct table *table, uint32_t slots)
{
    if (table->old.cap != 0)
        move_some(table, slots);
    else if (table->now.cap > LEAST && table->count < table->now.cap / 16)
        table_resize(table);
}
