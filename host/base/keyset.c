#include "base/keyset.h"

#include "base/alloc.h"
#include "base/hash.h"

/* Linear probing. Removal shifts later nodes back instead of leaving tombstones, so
 * that look-ups never degrade under churn. */

void pl_keyset_init(struct pl_keyset *table, size_t key_offset)
{
    *table = (struct pl_keyset){.key_offset = key_offset, .seed = pl_hash_seed_for(table)};
}

void pl_keyset_deinit(struct pl_keyset *table)
{
    pl_free(table->nodes);
    pl_free(table->hashes);
    pl_keyset_init(table, table->key_offset);
}

uint32_t pl_keyset_hash(const struct pl_keyset *table, struct pl_slice key)
{
    return (uint32_t)pl_hash(key.ptr, key.len, table->seed);
}

struct pl_keyed *pl_keyset_find(const struct pl_keyset *table, struct pl_slice key, uint32_t hash)
{
    if (table->cap == 0)
        return NULL;
    size_t mask = table->cap - 1;
    for (size_t i = hash & mask; table->nodes[i] != NULL; i = (i + 1) & mask)
        if (table->hashes[i] == hash && pl_slice_eq(pl_keyset_key(table, table->nodes[i]), key))
            return table->nodes[i];
    return NULL;
}

static void place(struct pl_keyset *table, struct pl_keyed *node, uint32_t hash)
{
    size_t mask = table->cap - 1, i = hash & mask;
    while (table->nodes[i] != NULL)
        i = (i + 1) & mask;
    table->nodes[i] = node;
    table->hashes[i] = hash;
}

static struct pl_keyset with_cap(const struct pl_keyset *table, size_t cap)
{
    struct pl_keyset copy = *table;
    copy.nodes = pl_calloc(cap, sizeof(*copy.nodes));
    copy.hashes = pl_reallocarray(NULL, cap, sizeof(*copy.hashes));
    copy.cap = cap;
    for (size_t i = 0; i < table->cap; i++)
        if (table->nodes[i] != NULL)
            place(&copy, table->nodes[i], table->hashes[i]);
    return copy;
}

static void resize(struct pl_keyset *table, size_t cap)
{
    struct pl_keyset old = *table;
    *table = with_cap(&old, cap);
    pl_keyset_deinit(&old);
}

bool pl_keyset_wants_room(const struct pl_keyset *table, size_t more)
{
    return (table->count + more) * 8 > table->cap * 7;
}

struct pl_keyset pl_keyset_bigger(const struct pl_keyset *table, size_t more)
{
    size_t cap = table->cap ? table->cap : 8;
    while ((table->count + more) * 8 > cap * 7)
        cap *= 2;
    return with_cap(table, cap);
}

void pl_keyset_insert(struct pl_keyset *table, struct pl_keyed *node, size_t len, uint32_t hash)
{
    if (pl_keyset_wants_room(table, 1))
        resize(table, table->cap ? table->cap * 2 : 8);
    node->hash = hash;
    node->len = (uint32_t)len;
    place(table, node, hash);
    table->count++;
}

static void close_gap(struct pl_keyset *table, size_t gap)
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

void pl_keyset_remove(struct pl_keyset *table, struct pl_keyed *node)
{
    size_t mask = table->cap - 1, i = node->hash & mask;
    while (table->nodes[i] != node)
        i = (i + 1) & mask;
    close_gap(table, i);
    table->count--;
    if (table->cap > 64 && table->count * 8 < table->cap)
        resize(table, table->cap / 2);
}

struct pl_keyed *pl_keyset_next(const struct pl_keyset *table, size_t *at)
{
    while (*at < table->cap) {
        struct pl_keyed *node = table->nodes[(*at)++];
        if (node != NULL)
            return node;
    }
    return NULL;
}
