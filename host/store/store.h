/* The cache of one source: key -> document, with named indices (rules 30-39).
 *
 * One thread writes (the I/O thread); any thread reads. One reader/writer lock,
 * a leaf: nothing is called back or logged while it is held. What a read returns
 * is a reference of the caller's own, so it outlives any change. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/keyset.h"
#include "value/docs.h"

struct pl_pool;
struct pl_store;

/* The values under which an object is found; called by the writer, outside the
 * lock. Adds each with pl_values_add. A non-zero return (with err) or more than
 * PL_VALUES_MAX values leave the object out of this index and are counted
 * (pl_store_index_errors): a script's mistake must not end the host (rule 30). */
struct pl_values {
    struct pl_buf text; /* private */
    size_t count;       /* each value once */
    bool over;          /* there were more than PL_VALUES_MAX */
};
#define PL_VALUES_MAX 1024
void pl_values_add(struct pl_values *values, struct pl_slice value);
void pl_values_clear(struct pl_values *values);
void pl_values_deinit(struct pl_values *values);
/* Visits them in order; start with *at = 0. False at the end. */
bool pl_values_next(const struct pl_values *values, size_t *at, struct pl_slice *value);

struct pl_index_ops {
    int (*values)(void *arg, struct pl_node object, struct pl_values *out, struct pl_err *err);
    void (*destroy)(void *arg); /* of arg, with the store; may be NULL */
};

struct pl_store *pl_store_create(void);
void pl_store_destroy(struct pl_store *store);

/* ---- the writer ---- */

/* Adds or replaces; takes a reference of its own. The replaced document is
 * returned with its reference (NULL when it was absent). */
struct pl_doc *pl_store_put(struct pl_store *store, struct pl_slice key, struct pl_doc *doc);
/* The removed document with its reference, or NULL. */
struct pl_doc *pl_store_remove(struct pl_store *store, struct pl_slice key);
/* Everything at once, under one lock: readers see the old or the new, never half. Of two items
 * with one key the later counts. Values of indices computed elsewhere stay with keys that stay. */
struct pl_store_item {
    struct pl_slice key;
    struct pl_doc *doc; /* borrowed */
};
void pl_store_replace(struct pl_store *store, const struct pl_store_item *items, size_t count);
/* Compares a list with what is stored, for the writer, piece by piece: begin gives the list's mark;
 * every key that is listed gets it (a reference to what is stored, or NULL), and so does what is
 * new in the store since then; then the rest is visited. Lists of different keys may go on at the
 * same time. Marks cost no memory. visit must not change the store; key and doc are borrowed for
 * the call. */
uint32_t pl_store_begin_marks(struct pl_store *store);
struct pl_doc *pl_store_mark(struct pl_store *store, struct pl_slice key, uint32_t list);
void pl_store_unmarked(struct pl_store *store, uint32_t list,
                       void (*visit)(void *arg, struct pl_slice key, struct pl_doc *doc),
                       void *arg);
/* Changes that readers see together or not at all. A few are made under one lock; for many a
 * new table is built aside and exchanged, so that no reader waits for long: entries twice for a
 * moment, documents never. Of two changes of one key the later counts. */
struct pl_store_change {
    struct pl_slice key;
    struct pl_doc *doc; /* borrowed; NULL: removed */
    struct pl_doc *old; /* set: what was there, with its reference, or NULL */
};
void pl_store_apply(struct pl_store *store, struct pl_store_change *changes, size_t count);
/* Indexes what is there already. EEXIST when the name is taken (and then nothing changes). */
PL_MUST_USE int pl_store_add_index(struct pl_store *store, const char *name,
                                   const struct pl_index_ops *ops, void *arg, struct pl_err *err);
/* Stores the values of an index that is computed elsewhere (a script's): the index was
 * added with ops NULL. Values of a key that is gone are ignored. */
void pl_store_set_values(struct pl_store *store, const char *index, struct pl_slice key,
                         const struct pl_values *values);
/* Goes through everything in pieces, for the writer: appends references to `some` objects at most,
 * those that stay meanwhile at least once, and more often only where the store's table changes. A
 * replaced store is begun anew. False when it is at its end. Zero-initialised. */
struct pl_store_walk {
    struct pl_keyset_walk entries; /* private */
    uint64_t replaced;
};
bool pl_store_walk(struct pl_store *store, struct pl_store_walk *walk, size_t some,
                   struct pl_docs *out);
/* After many removals, for the writer: moves what is left close together, so that memory goes back
 * to the system. In pieces: looks at `some` objects and advances *at, which begins with 0. False at
 * the end. pool: of the documents. */
bool pl_store_compact(struct pl_store *store, struct pl_pool *pool, size_t *at, size_t some);
/* The same in pieces, for an index over much: what changes from now on is in it, and what is there
 * already comes in as it is built, so many objects a call. False when it is done, or dropped; until
 * then look-ups say EAGAIN. walk: zero-initialised. */
PL_MUST_USE int pl_store_begin_index(struct pl_store *store, const char *name,
                                     const struct pl_index_ops *ops, void *arg, struct pl_err *err);
bool pl_store_build_index(struct pl_store *store, const char *name, struct pl_store_walk *walk,
                          size_t some);
/* Look-ups in it say EAGAIN until it is not built any more. */
void pl_store_set_building(struct pl_store *store, const char *index, bool building);
/* Forgets an index. Harmless when there is none. */
void pl_store_drop_index(struct pl_store *store, const char *name);
/* The version the content reflects: of the last object, bookmark or replace (rule 37). */
void pl_store_set_rv(struct pl_store *store, struct pl_slice rv);

/* ---- readers, any thread ---- */

/* A reference, or NULL. */
struct pl_doc *pl_store_get(struct pl_store *store, struct pl_slice key);
size_t pl_store_count(struct pl_store *store);
/* Of the documents, without what they share. */
size_t pl_store_bytes(struct pl_store *store);
/* Appends references to all objects, in no promised order. labels: bits of some (a selector's, see
 * value/label_bloom.h): objects that are known to lack one are left out; 0 for all. */
void pl_store_list(struct pl_store *store, uint64_t labels, struct pl_docs *out);
/* Appends references to those under a value of an index. ENOTFOUND when there is
 * no such index, EAGAIN while it is built; an unknown value gives nothing. labels: as above. */
int pl_store_by_index(struct pl_store *store, const char *index, struct pl_slice value,
                      uint64_t labels, struct pl_docs *out);
/* Appends references to those under one of these values, the one with the fewest: of what has all
 * of them each is among those. Indices that are not there or are being built are passed by;
 * ENOTFOUND when all are. seen: how many stand under the value. labels: as above. */
struct pl_index_value {
    const char *index;
    struct pl_slice value;
};
int pl_store_by_fewest(struct pl_store *store, const struct pl_index_value *values, size_t count,
                       uint64_t labels, struct pl_docs *out, size_t *seen);
bool pl_store_has_index(struct pl_store *store, const char *name);
/* NULL-terminated texts the caller frees with pl_store_free_names: keys (sorted),
 * keys of an index value (sorted), values of an index that have keys (sorted).
 * NULL when there is no such index (rule 34), or it is being built. */
char **pl_store_keys(struct pl_store *store);
char **pl_store_index_keys(struct pl_store *store, const char *index, struct pl_slice value);
char **pl_store_index_values(struct pl_store *store, const char *index);
void pl_store_free_names(char **names);
/* Appends the version. */
void pl_store_rv(struct pl_store *store, struct pl_buf *out);
uint64_t pl_store_index_errors(struct pl_store *store);
