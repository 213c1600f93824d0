/* Hash table of nodes that carry their own key: one allocation an entry, and the
 * hash is computed once an operation. One thread, or a lock of the owner's.
 *
 *     struct entry { struct pl_keyed node; int payload; char key[]; };
 *     pl_keyset_init(&table, offsetof(struct entry, key));
 *
 * A table of many nodes consists of parts that grow one by one, so that an insertion into a
 * million takes no longer than a fraction of a millisecond. */
#pragma once

#include "base/slice.h"

#include <stdint.h>

/* The first member of an entry; set by pl_keyset_insert. */
struct pl_keyed {
    uint32_t hash;
    uint32_t len; /* of the key */
};

struct pl_keyset_part {
    struct pl_keyed **nodes; /* owned array of borrowed nodes, NULL where free */
    uint32_t *hashes;        /* of the nodes, so that a probe touches no other node */
    size_t count;
    size_t cap; /* a power of two, or 0 */
};

struct pl_keyset {
    struct pl_keyset_part first;  /* all nodes, while there are few */
    struct pl_keyset_part *parts; /* owned; NULL while there are few */
    size_t count;
    size_t key_offset;
    uint32_t spread; /* see pl_hash_spread */
    uint32_t shape;  /* how often it was divided into parts, or made one again */
};

/* key_offset: where in an entry its key's bytes begin. */
void pl_keyset_init(struct pl_keyset *table, size_t key_offset);
/* Nodes are the caller's to free first (pl_keyset_next). */
void pl_keyset_deinit(struct pl_keyset *table);

/* Of all tables the same. */
uint32_t pl_keyset_hash(struct pl_slice key);
/* NULL when absent. hash: pl_keyset_hash(key). */
struct pl_keyed *pl_keyset_find(const struct pl_keyset *table, struct pl_slice key, uint32_t hash);
/* The node's key must not be in the table; its bytes are in place already. */
void pl_keyset_insert(struct pl_keyset *table, struct pl_keyed *node, size_t len, uint32_t hash);
/* The node must be in the table. */
void pl_keyset_remove(struct pl_keyset *table, struct pl_keyed *node);
/* Puts another node, with the same key, in the place of one that is in the table. */
void pl_keyset_exchange(struct pl_keyset *table, const struct pl_keyed *node, struct pl_keyed *by);

static inline struct pl_slice pl_keyset_key(const struct pl_keyset *table,
                                            const struct pl_keyed *node)
{
    return pl_slice((const char *)node + table->key_offset, node->len);
}

/* Visits every node in no promised order; start with *at = 0. NULL at the end. The
 * table must not change meanwhile, but nodes may be freed as they come. */
struct pl_keyed *pl_keyset_next(const struct pl_keyset *table, size_t *at);

/* Where a walk is that goes on while the table changes. All zero: at its beginning. */
struct pl_keyset_walk {
    size_t part, at, left, cap;
    uint32_t shape;
    bool begun;
};

/* The next node, NULL at the end. What is in the table from the first call to the last is visited,
 * some of it more than once. */
struct pl_keyed *pl_keyset_walk(const struct pl_keyset *table, struct pl_keyset_walk *walk);
