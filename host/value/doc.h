/* An immutable JSON document, counted, readable from any thread.
 *
 * A document is one byte tape. Strings and subtrees that several documents share may lie in a pool
 * (value/pool.h). Readers do not see the difference: a node is a position, in the tape or in the
 * pool, and two equal pooled subtrees are the same position.
 *
 * A document keeps its meaning exactly: null, [] and {}, the order of arrays and of object members,
 * and every digit of a number as it was written. */
#pragma once

#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pl_doc;

enum pl_type {
    PL_MISSING, /* there is no such value; every accessor accepts it */
    PL_NULL,
    PL_BOOL,
    PL_NUMBER,
    PL_STRING,
    PL_ARRAY,
    PL_OBJECT,
};

/* A position in a document. A plain value, borrowed: valid while the document exists. */
struct pl_node {
    const struct pl_doc *doc;
    const uint8_t *at; /* private; NULL is PL_MISSING */
};

#define PL_NODE_MISSING ((struct pl_node){NULL, NULL})

/* Room for the text of a string or number that is stored packed. */
struct pl_scratch {
    char bytes[80];
};

/* ---- lifetime: any thread ---- */

/* Takes a reference, which the caller drops with pl_doc_unref. Returns doc, for chaining. Accepts
 * NULL. */
struct pl_doc *pl_doc_ref(struct pl_doc *doc);
/* Dropping the last reference frees the document. If a pooled document's last reference is dropped
 * on a thread that does not have the pool's turn, the document is freed in the next turn
 * (pl_pool_collect). Accepts NULL. */
void pl_doc_unref(struct pl_doc *doc);
/* Starts loading the memory that a look at an object's metadata needs. For loops over more
 * documents than the processor's caches hold: otherwise each look waits for memory. */
void pl_doc_prefetch(const struct pl_doc *doc);
/* Starts loading the rest of a document that was prefetched a while ago, for loops that read more
 * than metadata. */
void pl_doc_prefetch_rest(const struct pl_doc *doc);
/* The size of its own tape, without the parts that lie in the pool. */
size_t pl_doc_bytes(const struct pl_doc *doc);

/* ---- reading ---- */

/* PL_NODE_MISSING for NULL. */
struct pl_node pl_doc_root(const struct pl_doc *doc);
enum pl_type pl_node_type(struct pl_node node);
/* "null", "boolean", "number", "string", "array", "object", "nothing". Literals. */
const char *pl_type_name(enum pl_type type);

bool pl_node_bool(struct pl_node node); /* false for anything but true */
/* The member is true. */
bool pl_node_flagz(struct pl_node object, const char *name);
/* The decoded text of a string; for other nodes the empty slice with ptr NULL. It points into the
 * document, the pool, or scratch. */
struct pl_slice pl_node_str(struct pl_node node, struct pl_scratch *scratch);
/* Compares without decoding where possible; false if the node is not a string. */
bool pl_node_str_eq(struct pl_node node, struct pl_slice text);
/* A number's text as it was written; ptr NULL for anything else. */
struct pl_slice pl_node_number(struct pl_node node, struct pl_scratch *scratch);
/* True and the value when the number is an integer that fits: 3, -0, also 3.0 and 3e0. */
bool pl_node_int(struct pl_node node, int64_t *value);
/* The nearest double; 0 for anything but a number. */
double pl_node_double(struct pl_node node);

/* Elements of an array, members of an object, else 0. */
size_t pl_node_len(struct pl_node node);
/* True for an object of 1 to `most` members whose values are all scalars of at most about 80 bytes.
 */
bool pl_node_is_flat(struct pl_node node, size_t most);
/* An object's member; PL_MISSING when absent or not an object. Of duplicates, the last one. */
struct pl_node pl_node_get(struct pl_node node, struct pl_slice key);
struct pl_node pl_node_getz(struct pl_node node, const char *key);
/* The same, and the member's index as pl_iter counts it. */
struct pl_node pl_node_find(struct pl_node node, struct pl_slice key, size_t *index);
/* Remembers where the last object had a member: most objects of a kind have the same names. For a
 * scan that holds references to all its documents; zeroed at its beginning. */
struct pl_hint {
    const uint8_t *shape; /* private */
    uint32_t index;
};
/* The hinted variants of pl_node_getz and pl_node_find; a hint always goes with the same key. */
struct pl_node pl_node_get_hinted(struct pl_node node, const char *key, struct pl_hint *hint);
struct pl_node pl_node_find_hinted(struct pl_node node, struct pl_slice key, struct pl_hint *hint,
                                   size_t *index);
/* An array's element; PL_MISSING beyond the end or not an array. */
struct pl_node pl_node_at(struct pl_node node, size_t index);
/* pl_node_getz along a path: pl_node_dig(root, "metadata", "name"). */
struct pl_node pl_node_dig_n(struct pl_node node, const char *const *keys, size_t count);
#define pl_node_dig(node, ...)                                                                     \
    pl_node_dig_n((node), (const char *const[]){__VA_ARGS__},                                      \
                  sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

static inline bool pl_node_is_missing(struct pl_node node)
{
    return node.at == NULL;
}

/* Missing or null: a member that says nothing. */
static inline bool pl_node_is_none(struct pl_node node)
{
    return pl_node_is_missing(node) || pl_node_type(node) == PL_NULL;
}

/* True for the same position; then the values are equal. Equal values may also have two positions.
 */
static inline bool pl_node_is_same(struct pl_node a, struct pl_node b)
{
    return a.at == b.at;
}

/* Deep equality by meaning: members in any order, numbers by value (1, 1.0 and 1e0 are equal;
 * numbers that neither int64 nor double can hold are compared as text). Missing equals only
 * missing. Shared subtrees cost nothing. */
bool pl_node_equal(struct pl_node a, struct pl_node b);

/* Visits elements or members in document order:
 *     struct pl_iter it = pl_iter(node);
 *     while (pl_iter_next(&it)) use(it.key, it.value);
 * Nothing for a node that is neither array nor object. */
struct pl_iter {
    struct pl_slice key; /* the member's name, valid while the document lives; ptr NULL in arrays */
    struct pl_node value;
    size_t index;      /* of the current element or member, from 0 */
    struct pl_node of; /* private from here on */
    const uint8_t *next;
    const void *keys;
    size_t left;
};

struct pl_iter pl_iter(struct pl_node node);
bool pl_iter_next(struct pl_iter *it);
