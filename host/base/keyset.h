/* Hash table of nodes that carry their own key. An entry needs one allocation, and an operation
 * computes the hash once. Used by one thread, or under a lock of the owner.
 *
 *     struct entry { struct pl_keyed node; int payload; char key[]; };
 *     pl_keyset_init(&table, offsetof(struct entry, key));
 *
 * A table with many nodes consists of parts that grow one by one, so that an insertion into a
 * million nodes takes only a fraction of a millisecond. */
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
    uint32_t *hashes;        /* hashes of the nodes, so that most probes touch no node */
    size_t count;
    size_t cap; /* a power of two, or 0 */
};

struct pl_keyset {
    struct pl_keyset_part first;  /* all nodes, while there are few of them */
    struct pl_keyset_part *parts; /* owned; NULL while there are few */
    size_t count;
    size_t key_offset;
    uint32_t spread; /* see pl_hash_spread */
    uint32_t shape;  /* number of times that the table was divided or merged */
};

/* key_offset: offset of the key's bytes in an entry. */
void pl_keyset_init(struct pl_keyset *table, size_t key_offset);
/* The caller frees the nodes first (pl_keyset_next). */
void pl_keyset_deinit(struct pl_keyset *table);

/* The hash of a key, in every table. */
uint32_t pl_keyset_hash(struct pl_slice key);
/* NULL when absent. hash: pl_keyset_hash(key). The node belongs to the caller; the table only links
 * it. */
struct pl_keyed *pl_keyset_find(const struct pl_keyset *table, struct pl_slice key, uint32_t hash);
/* The table must not contain the node's key. The key's bytes must already be in the node. */
void pl_keyset_insert(struct pl_keyset *table, struct pl_keyed *node, size_t len, uint32_t hash);
/* The node must be in the table. */
void pl_keyset_remove(struct pl_keyset *table, struct pl_keyed *node);
/* Replaces a node of the table with another node that has the same key. */
void pl_keyset_exchange(struct pl_keyset *table, const struct pl_keyed *node, struct pl_keyed *by);

static inline struct pl_slice pl_keyset_key(const struct pl_keyset *table,
                                            const struct pl_keyed *node)
{
    return pl_slice((const char *)node + table->key_offset, node->len);
}

/* Visits every node in an unspecified order. Start with *at = 0. Returns NULL at the end. The table
 * must not change meanwhile, but the caller may free each node that it gets. */
struct pl_keyed *pl_keyset_next(const struct pl_keyset *table, size_t *at);

/* Position of a walk during which the table may change. All zero: the beginning. */
struct pl_keyset_walk {
    size_t part, at, left, cap;
    uint32_t shape;
    bool begun;
};

/* Returns the next node, NULL at the end. A node that is in the table during the whole walk is
 * visited at least once, some nodes more than once. Nodes belong to the caller. */
struct pl_keyed *pl_keyset_walk(const struct pl_keyset *table, struct pl_keyset_walk *walk);
