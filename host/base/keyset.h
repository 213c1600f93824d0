/* Hash table of nodes that carry their own key: one allocation an entry, and the
 * hash is computed once an operation. One thread, or a lock of the owner's.
 *
 *     struct entry { struct pl_keyed node; int payload; char key[]; };
 *     pl_keyset_init(&table, offsetof(struct entry, key)); */
#pragma once

#include "base/slice.h"

#include <stdint.h>

/* The first member of an entry; set by pl_keyset_insert. */
struct pl_keyed {
    uint32_t hash;
    uint32_t len; /* of the key */
};

struct pl_keyset {
    struct pl_keyed **nodes; /* owned array of borrowed nodes, NULL where free */
    uint32_t *hashes;        /* of the nodes, so that a probe touches no other node */
    size_t count;
    size_t cap; /* a power of two, or 0 */
    size_t key_offset;
    uint64_t seed;
};

/* key_offset: where in an entry its key's bytes begin. */
void pl_keyset_init(struct pl_keyset *table, size_t key_offset);
/* Nodes are the caller's to free first (pl_keyset_next). */
void pl_keyset_deinit(struct pl_keyset *table);

uint32_t pl_keyset_hash(const struct pl_keyset *table, struct pl_slice key);
/* NULL when absent. hash: pl_keyset_hash(table, key). */
struct pl_keyed *pl_keyset_find(const struct pl_keyset *table, struct pl_slice key, uint32_t hash);
/* The node's key must not be in the table; its bytes are in place already. */
void pl_keyset_insert(struct pl_keyset *table, struct pl_keyed *node, size_t len, uint32_t hash);
/* The node must be in the table. */
void pl_keyset_remove(struct pl_keyset *table, struct pl_keyed *node);

/* For an owner whose readers hold a lock: whether `more` insertions would move the arrays, and
 * the same nodes in arrays with room for them, to be made before the lock is taken. */
bool pl_keyset_wants_room(const struct pl_keyset *table, size_t more);
struct pl_keyset pl_keyset_bigger(const struct pl_keyset *table, size_t more);

static inline struct pl_slice pl_keyset_key(const struct pl_keyset *table,
                                            const struct pl_keyed *node)
{
    return pl_slice((const char *)node + table->key_offset, node->len);
}

/* Visits every node in no promised order; start with *at = 0. NULL at the end. The
 * table must not change meanwhile, but nodes may be freed as they come. */
struct pl_keyed *pl_keyset_next(const struct pl_keyset *table, size_t *at);
