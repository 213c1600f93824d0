/* A hash table of nodes that carry their own key, with linear probes. Removal shifts later nodes
 * back instead of leaving tombstones, so that look-ups never degrade under churn. Each part keeps
 * its nodes' hashes beside their pointers, so that most probes touch no node.
 *
 * A table with many nodes is divided into parts, each of which grows on its own and at another
 * count than the others, so that no single insertion has to move everything. A walk that goes on
 * while the table changes watches `shape`, which counts divisions and unions.
 *
 * A node must not change its key or its hash while it is in the table. */
#include "base/keyset.h"

#include "base/alloc.h"
#include "base/hash.h"

enum {
    PART_BITS = 4,
    PARTS = 1 << PART_BITS,
    DIVIDED_FROM = 1 << 15, /* number of nodes that take about a millisecond to be placed anew */
    UNITED_BELOW = DIVIDED_FROM / 2,
};

void pl_keyset_init(struct pl_keyset *table, size_t key_offset)
{
    *table = (struct pl_keyset){.key_offset = key_offset, .spread = pl_hash_spread()};
}

static void deinit_part(struct pl_keyset_part *part)
{
    pl_free(part->nodes);
    pl_free(part->hashes);
}

void pl_keyset_deinit(struct pl_keyset *table)
{
    deinit_part(&table->first);
    for (size_t i = 0; table->parts != NULL && i < PARTS; i++)
        deinit_part(&table->parts[i]);
    pl_free(table->parts);
    pl_keyset_init(table, table->key_offset);
}

uint32_t pl_keyset_hash(struct pl_slice key)
{
    return (uint32_t)pl_hash(key.ptr, key.len, pl_hash_seed());
}

static struct pl_keyset_part *keyset_part_of(const struct pl_keyset *table, uint32_t hash)
{
    return table->parts == NULL ? (struct pl_keyset_part *)&table->first
                                : &table->parts[hash >> (32 - PART_BITS)];
}

/* ---- one part ---- */

static size_t keyset_home(const struct pl_keyset *table, const struct pl_keyset_part *part,
                          uint32_t hash)
{
    return pl_hash_place(hash, table->spread, part->cap);
}

static size_t after(const struct pl_keyset_part *part, size_t i)
{
    return (i + 1) & (part->cap - 1);
}

static void keyset_place(const struct pl_keyset *table, struct pl_keyset_part *part,
                         struct pl_keyed *node, uint32_t hash)
{
    size_t i = keyset_home(table, part, hash);
    while (part->nodes[i] != NULL)
        i = after(part, i);
    part->nodes[i] = node;
    part->hashes[i] = hash;
    part->count++;
}

static void keyset_resize(const struct pl_keyset *table, struct pl_keyset_part *part, size_t cap)
{
    struct pl_keyset_part old = *part;
    *part = (struct pl_keyset_part){.nodes = pl_calloc(cap, sizeof(*part->nodes)),
                                    .hashes = pl_reallocarray(NULL, cap, sizeof(*part->hashes)),
                                    .cap = cap};
    for (size_t i = 0; i < old.cap; i++)
        if (old.nodes[i] != NULL)
            keyset_place(table, part, old.nodes[i], old.hashes[i]);
    deinit_part(&old);
}

/* The number of nodes that a part holds before it grows. Parts fill at the same speed, and so do
 * tables with the same keys. So each part grows at a different count; otherwise one turn of the
 * loop would wait for many growths. */
static size_t room(const struct pl_keyset *table, const struct pl_keyset_part *part)
{
    if (table->parts == NULL)
        return part->cap / 8 * 7;
    size_t turn = (table->spread / 2 + (size_t)(part - table->parts)) % PARTS;
    return part->cap / 8 * 5 + part->cap / 4 / PARTS * (turn + 1);
}

static void add_to_part(const struct pl_keyset *table, struct pl_keyset_part *part,
                        struct pl_keyed *node, uint32_t hash)
{
    if (part->count >= room(table, part))
        keyset_resize(table, part, part->cap ? part->cap * 2 : 8);
    keyset_place(table, part, node, hash);
}

static void keyset_close_gap(const struct pl_keyset *table, struct pl_keyset_part *part, size_t gap)
{
    size_t mask = part->cap - 1;
    for (size_t i = after(part, gap); part->nodes[i] != NULL; i = after(part, i)) {
        size_t at_home = keyset_home(table, part, part->hashes[i]);
        /* A node may move into the gap unless its home lies behind the gap. */
        if (((i - at_home) & mask) >= ((i - gap) & mask)) {
            part->nodes[gap] = part->nodes[i];
            part->hashes[gap] = part->hashes[i];
            gap = i;
        }
    }
    part->nodes[gap] = NULL;
}

static size_t keyset_place_of(const struct pl_keyset *table, const struct pl_keyset_part *part,
                              const struct pl_keyed *node)
{
    size_t i = keyset_home(table, part, node->hash);
    while (part->nodes[i] != node)
        i = after(part, i);
    return i;
}

/* ---- all parts ---- */

static void keyset_divide(struct pl_keyset *table)
{
    struct pl_keyset_part all = table->first;
    table->first = (struct pl_keyset_part){0};
    table->parts = pl_calloc(PARTS, sizeof(*table->parts));
    table->shape++;
    for (size_t i = 0; i < PARTS; i++)
        keyset_resize(table, &table->parts[i], 2 * DIVIDED_FROM / PARTS);
    for (size_t i = 0; i < all.cap; i++)
        if (all.nodes[i] != NULL)
            add_to_part(table, keyset_part_of(table, all.hashes[i]), all.nodes[i], all.hashes[i]);
    deinit_part(&all);
}

static void unite(struct pl_keyset *table)
{
    struct pl_keyset_part *parts = table->parts;
    table->parts = NULL;
    table->shape++;
    keyset_resize(table, &table->first, 2 * UNITED_BELOW);
    for (size_t p = 0; p < PARTS; p++) {
        for (size_t i = 0; i < parts[p].cap; i++)
            if (parts[p].nodes[i] != NULL)
                keyset_place(table, &table->first, parts[p].nodes[i], parts[p].hashes[i]);
        deinit_part(&parts[p]);
    }
    pl_free(parts);
}

struct pl_keyed *pl_keyset_find(const struct pl_keyset *table, struct pl_slice key, uint32_t hash)
{
    const struct pl_keyset_part *part = keyset_part_of(table, hash);
    if (part->cap == 0)
        return NULL;
    for (size_t i = keyset_home(table, part, hash); part->nodes[i] != NULL; i = after(part, i))
        if (part->hashes[i] == hash && pl_slice_eq(pl_keyset_key(table, part->nodes[i]), key))
            return part->nodes[i];
    return NULL;
}

void pl_keyset_insert(struct pl_keyset *table, struct pl_keyed *node, size_t len, uint32_t hash)
{
    node->hash = hash;
    node->len = (uint32_t)len;
    if (table->parts == NULL && table->count == DIVIDED_FROM)
        keyset_divide(table);
    add_to_part(table, keyset_part_of(table, hash), node, hash);
    table->count++;
}

void pl_keyset_remove(struct pl_keyset *table, struct pl_keyed *node)
{
    struct pl_keyset_part *part = keyset_part_of(table, node->hash);
    keyset_close_gap(table, part, keyset_place_of(table, part, node));
    part->count--;
    table->count--;
    if (table->parts != NULL && table->count < UNITED_BELOW)
        unite(table);
    else if (part->cap > 64 && part->count * 8 < part->cap)
        keyset_resize(table, part, part->cap / 2);
}

void pl_keyset_exchange(struct pl_keyset *table, const struct pl_keyed *node, struct pl_keyed *by)
{
    struct pl_keyset_part *part = keyset_part_of(table, node->hash);
    part->nodes[keyset_place_of(table, part, node)] = by;
}

/* ---- visiting ---- */

static const struct pl_keyset_part *nth_part(const struct pl_keyset *table, size_t n)
{
    if (table->parts != NULL)
        return n < PARTS ? &table->parts[n] : NULL;
    return n == 0 ? &table->first : NULL;
}

/* *at: the index of the part, and the place in it. */
struct pl_keyed *pl_keyset_next(const struct pl_keyset *table, size_t *at)
{
    const struct pl_keyset_part *part;
    size_t n = *at >> 32, i = (uint32_t)*at;
    for (; (part = nth_part(table, n)) != NULL; n++, i = 0)
        while (i < part->cap) {
            struct pl_keyed *node = part->nodes[i++];
            *at = n << 32 | i;
            if (node != NULL)
                return node;
        }
    *at = n << 32;
    return NULL;
}

/* Walks backwards from an empty place, around to the same place again. A removal moves nodes only
 * towards lower places, and never across a place that was empty when the node was inserted. */
static void begin_part(const struct pl_keyset_part *part, struct pl_keyset_walk *walk)
{
    walk->left = walk->cap = part->cap;
    walk->at = 0;
    while (walk->at < part->cap && part->nodes[walk->at] != NULL)
        walk->at++;
}

static void begin_walk(const struct pl_keyset *table, struct pl_keyset_walk *walk)
{
    *walk = (struct pl_keyset_walk){.shape = table->shape, .begun = true};
    begin_part(nth_part(table, 0), walk);
}

struct pl_keyed *pl_keyset_walk(const struct pl_keyset *table, struct pl_keyset_walk *walk)
{
    if (!walk->begun || walk->shape != table->shape)
        begin_walk(table, walk);
    const struct pl_keyset_part *part = nth_part(table, walk->part);
    while (part != NULL) {
        if (walk->cap != part->cap)
            begin_part(part, walk);
        while (walk->left > 0) {
            walk->at = (walk->at - 1) & (walk->cap - 1);
            walk->left--;
            if (part->nodes[walk->at] != NULL)
                return part->nodes[walk->at];
        }
        part = nth_part(table, ++walk->part);
        if (part != NULL)
            begin_part(part, walk);
    }
    return NULL;
}
