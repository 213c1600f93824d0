/* The pool's interface for documents and encoders. Only host/value includes this.
 *
 * A node is a value (or shape) in the arena with a count: the number of documents and other nodes
 * that use its handle. Nodes are found by a hash of their content, which does not depend on which
 * parts of it are handles. A node with count 0 exists only between pl_pool_add and its first use,
 * or until its creator gives it up (pl_pool_settle). All functions require the turn
 * (pl_pool_enter). */
#pragma once

#include "value/filter.h"
#include "value/pool.h"
#include "value/slab.h"
#include "value/table.h"
#include "value/tape.h"

#include "base/buf.h"

#include <pthread.h>
#include <stdatomic.h>

struct pool_node {
    uint64_t hash;
    uint32_t refs;
    uint32_t length : 29;
    uint32_t is_shape : 1;   /* its value is the bytes of a shape */
    uint32_t is_plain : 1;   /* a string, or a shape of short names, that needs no escapes */
    uint32_t is_guessed : 1; /* is in pl_pool.guesses */
    uint8_t value[];
};

enum { POOL_NODE_MAX = (1 << 29) - 1, POOL_GUESS_BITS = 12, POOL_GUESS_BLOCK = 64 };

_Static_assert(offsetof(struct pool_node, value) == POOL_HEADER, "as pool_value() has it");
_Static_assert((int)POOL_GRANULE == (int)SLAB_GRANULE, "handles count the arena's granules");

struct pl_pool {
    struct {
        pthread_mutex_t lock; /* held during the turn */
        pthread_mutex_t
            next; /* held by the thread that waits for the turn, so that others queue behind it */
        _Atomic pthread_t thread; /* the thread that has the turn; 0: none */
        unsigned depth;           /* nesting of its pl_pool_enter */
    } turn;
    struct slab nodes, docs;
    struct table table;
    struct filter filter;
    struct pl_buf dead; /* uint32_t handles: nodes to free, while pl_pool_settle runs */
    _Atomic(struct pl_doc *) dropped; /* dropped outside of turns; linked through pl_doc.dropped */
    size_t documents, document_bytes;
    uint32_t next_owner;                    /* for documents without a uid */
    uint32_t guesses[1 << POOL_GUESS_BITS]; /* handles of live nodes, or 0; see share.h */
    uint64_t guess_marks[(1 << POOL_GUESS_BITS) / POOL_GUESS_BLOCK]; /* of each block of guesses:
        the marks of its handles, and perhaps others */
    uint64_t seed; /* of content hashes; all pooled values use it */
};

/* The node of a handle, which lies in the pool. */
static inline struct pool_node *pool_node(const struct pl_pool *pool, uint32_t handle)
{
    return (struct pool_node *)(pool->nodes.base + (size_t)handle * POOL_GRANULE);
}

/* One bit that is the same for equal handles. */
static inline uint64_t pool_guess_mark(uint32_t handle)
{
    return UINT64_C(1) << (handle * UINT32_C(0x9e3779b1) >> 26);
}

/* ---- nodes; 0 is not a handle ---- */

uint32_t pl_pool_find_str(const struct pl_pool *pool, uint64_t hash, struct pl_slice text);
uint32_t pl_pool_find_shape(const struct pl_pool *pool, uint64_t hash, struct pl_slice keys);
uint32_t pl_pool_find_box(const struct pl_pool *pool, uint64_t hash, const struct tape_box *box);
/* Copies the bytes, which must be one value or one shape. 0 when the pool is full. */
uint32_t pl_pool_add(struct pl_pool *pool, uint64_t hash, const uint8_t *bytes, size_t len,
                     bool is_shape);
void pl_pool_unref(struct pl_pool *pool, uint32_t handle);
/* Frees the node if its count is 0. */
void pl_pool_settle(struct pl_pool *pool, uint32_t handle);
/* Counts every handle in a sequence of values; the handles themselves are appended to `list`
 * (uint32_t) if given. */
void pl_pool_ref_values(struct pl_pool *pool, const uint8_t *at, const uint8_t *end,
                        struct pl_buf *list);
void pl_pool_unref_values(struct pl_pool *pool, const uint8_t *at, const uint8_t *end);

/* ---- documents ---- */

/* A document of these bytes; counts its handles. The caller owns a reference. */
struct pl_doc *pl_pool_make_doc(struct pl_pool *pool, const uint8_t *tape, size_t len);
/* Any thread. Frees a pooled document without references: at once in a turn, else as the next
 * one begins. */
void pl_pool_drop(struct pl_doc *doc);
/* A number for the object in the filter when it has no uid. */
uint32_t pl_pool_new_owner(struct pl_pool *pool);
