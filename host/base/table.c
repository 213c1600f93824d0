#include "base/table.h"

#include "base/alloc.h"
#include "base/hash.h"

/* Linear probing. Removal shifts later nodes back instead of leaving tombstones, so
 * that look-ups never degrade under churn. */

void pl_table_init(struct pl_table *table, size_t key_offset)
{
    *table = (struct pl_table){.key_offset = key_offset, .seed = pl_hash_seed()};
}

void pl_table_deinit(struct pl_table *table)
{
    pl_free(table->nodes);
    pl_free(table->hashes);
    pl_table_init(table, table->key_offset);
}

uint32_t pl_table_hash(const struct pl_table *table, struct pl_slice key)
{
    return (uint32_t)pl_hash(key.ptr, key.len, table->seed);
}

struct pl_keyed *pl_table_find(const struct pl_table *table, struct pl_slice key, uint32_t hash)
{
    if (table->cap == 0)
        return NULL;
    size_t mask = table->cap - 1;
    for (size_t i = hash & mask; table->nodes[i] != NULL; i = (i + 1) & mask)
        if (table->hashes[i] == hash && pl_slice_eq(pl_table_key(table, table->nodes[i]), key))
            return table->nodes[i];
    return NULL;
}

static void place(struct pl_table *table, struct pl_keyed *node, uint32_t hash)
{
    size_t mask = table->cap - 1, i = hash & mask;
    while (table->nodes[i] != NULL)
        i = (i + 1) & mask;
    table->nodes[i] = node;
    table->hashes[i] = hash;
}

static void resize(struct pl_table *table, size_t cap)
{
    struct pl_table old = *table;
    table->nodes = pl_calloc(cap, sizeof(*table->nodes));
    table->hashes = pl_reallocarray(NULL, cap, sizeof(*table->hashes));
    table->cap = cap;
    for (size_t i = 0; i < old.cap; i++)
        if (old.nodes[i] != NULL)
            place(table, old.nodes[i], old.hashes[i]);
    pl_free(old.nodes);
    pl_free(old.hashes);
}

void pl_table_insert(struct pl_table *table, struct pl_keyed *node, size_t len, uint32_t hash)
{
    if ((table->count + 1) * 4 > table->cap * 3)
        resize(table, table->cap ? table->cap * 2 : 8);
    node->hash = hash;
    node->len = (uint32_t)len;
    place(table, node, hash);
    table->count++;
}

static void close_gap(struct pl_table *table, size_t gap)
{
    size_t mask = table->cap - 1;
    for (size_t i = (gap + 1) & mask; table->nodes[i] != NULL; i = (i + 1) & mask) {
        size_t home = table->hashes[i] & mask;
        /* A node may move into the gap unless its home lies behind the gap. */
        if (((i - home) & mask) >= ((i - gap) & mask)) {
            table->nodes[gap] = table->nodes[i];
            table->hashes[gap] = table->hashes[i];
            gap = i;
        }
    }
    table->nodes[gap] = NULL;
}

void pl_table_remove(struct pl_table *table, struct pl_keyed *node)
{
    size_t mask = table->cap - 1, i = node->hash & mask;
    while (table->nodes[i] != node)
        i = (i + 1) & mask;
    close_gap(table, i);
    table->count--;
    if (table->cap > 64 && table->count * 8 < table->cap)
        resize(table, table->cap / 2);
}

struct pl_keyed *pl_table_next(const struct pl_table *table, size_t *at)
{
    while (*at < table->cap) {
        struct pl_keyed *node = table->nodes[(*at)++];
        if (node != NULL)
            return node;
    }
    return NULL;
}
