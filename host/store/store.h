/* The cache of one source: key -> document, with named indices (rules 30-39).
 *
 * One thread writes (the I/O thread); any thread reads. One reader/writer lock, a leaf: while it is
 * held, there are no callbacks and no log lines. A read returns references that the caller owns, so
 * they outlive any change. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/keyset.h"
#include "value/docs.h"

struct pl_pool;
struct pl_store;

/* Computes the values under which an object is found; called by the writer, outside the lock. Adds
 * each with pl_values_add. After a non-zero return (with err) or more than PL_VALUES_MAX values,
 * the object is left out of this index: a script's error must not end the host (rule 30). */
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
    void (*destroy)(void *arg); /* frees arg, at the end of the store; may be NULL */
};

/* The caller owns the store. */
struct pl_store *pl_store_create(void);
void pl_store_destroy(struct pl_store *store);

/* ---- the writer ---- */

/* Adds or replaces; takes a new reference. The replaced document is returned with its reference
 * (NULL when the key was absent). */
struct pl_doc *pl_store_put(struct pl_store *store, struct pl_slice key, struct pl_doc *doc);
/* The removed document with its reference, or NULL. */
struct pl_doc *pl_store_remove(struct pl_store *store, struct pl_slice key);
/* Replaces everything at once, under one lock: readers see the old or the new state. Of two items
 * with one key the later counts. A key that stays keeps its values of external indices. */
struct pl_store_item {
    struct pl_slice key;
    struct pl_doc *doc; /* borrowed */
};
void pl_store_replace(struct pl_store *store, const struct pl_store_item *items, size_t count);
/* Compares a list with the store, for the writer, piece by piece. begin returns the list's mark.
 * Every listed key gets it (the call returns a reference to the stored document, or NULL), and so
 * does every key that is new in the store since then. Then the rest is visited. Lists of different
 * keys may overlap in time. Marks cost no memory. visit must not change the store; key and doc are
 * borrowed for the call. */
uint32_t pl_store_begin_marks(struct pl_store *store);
struct pl_doc *pl_store_mark(struct pl_store *store, struct pl_slice key, uint32_t list);
void pl_store_unmarked(struct pl_store *store, uint32_t list,
                       void (*visit)(void *arg, struct pl_slice key, struct pl_doc *doc),
                       void *arg);
/* Changes that readers see together or not at all. A few are made under one lock. For many, a new
 * table is built separately and exchanged, so that no reader waits for long: entries exist twice
 * for a moment, documents never. Of two changes of one key the later counts. */
struct pl_store_change {
    struct pl_slice key;
    struct pl_doc *doc; /* borrowed; NULL: removed */
    struct pl_doc *old; /* set: the old document with its reference, or NULL */
};
void pl_store_apply(struct pl_store *store, struct pl_store_change *changes, size_t count);
/* Also indexes the stored objects. EEXIST when the name is taken (then nothing changes). */
PL_MUST_USE int pl_store_add_index(struct pl_store *store, const char *name,
                                   const struct pl_index_ops *ops, void *arg, struct pl_err *err);
/* Stores the values of an external index (a script's): it was added with ops NULL. Values of a
 * removed key are ignored. */
void pl_store_set_values(struct pl_store *store, const char *index, struct pl_slice key,
                         const struct pl_values *values);
/* Visits everything in pieces, for the writer: appends references to at most `some` objects. An
 * object that stays meanwhile is visited at least once, and more often only if the store's table
 * changes. The walk begins anew when the store is replaced. False at the end. Zero-initialised. */
struct pl_store_walk {
    struct pl_keyset_walk entries; /* private */
    uint64_t replaced;
};
bool pl_store_walk(struct pl_store *store, struct pl_store_walk *walk, size_t some,
                   struct pl_docs *out);
/* After many removals, for the writer: moves the remaining objects close together, so that memory
 * goes back to the system. In pieces: looks at `some` objects and advances *at, which begins with
 * 0. False at the end. pool: of the documents. */
bool pl_store_compact(struct pl_store *store, struct pl_pool *pool, size_t *at, size_t some);
/* The same in pieces, for an index over many objects. Changes from now on are indexed at once;
 * stored objects are added by each call of build, `some` at a time. It returns false when the index
 * is complete, or dropped; until then look-ups return EAGAIN. walk: zero-initialised. */
PL_MUST_USE int pl_store_begin_index(struct pl_store *store, const char *name,
                                     const struct pl_index_ops *ops, void *arg, struct pl_err *err);
bool pl_store_build_index(struct pl_store *store, const char *name, struct pl_store_walk *walk,
                          size_t some);
/* While building is true, look-ups in the index return EAGAIN. */
void pl_store_set_building(struct pl_store *store, const char *index, bool building);
/* Removes an index. Does nothing when there is none. */
void pl_store_drop_index(struct pl_store *store, const char *name);
/* The version of the content: of the last object, bookmark or replace (rule 37). */
void pl_store_set_rv(struct pl_store *store, struct pl_slice rv);

/* ---- readers, any thread ---- */

/* A reference, or NULL. */
struct pl_doc *pl_store_get(struct pl_store *store, struct pl_slice key);
size_t pl_store_count(struct pl_store *store);
/* Size of the documents, without shared parts. */
size_t pl_store_bytes(struct pl_store *store);
/* Appends references to all objects, in an unspecified order. labels: bits of some labels (a
 * selector's, see value/label_bloom.h); objects that certainly lack one are left out; 0 for all. */
void pl_store_list(struct pl_store *store, uint64_t labels, struct pl_docs *out);
/* Appends references to the objects with a value of an index. ENOTFOUND without such an index,
 * EAGAIN while it is being built; an unknown value gives nothing. labels: as above. */
int pl_store_by_index(struct pl_store *store, const char *index, struct pl_slice value,
                      uint64_t labels, struct pl_docs *out);
/* Appends references to the objects under one of these values, the value with the fewest objects:
 * every object that has all the values is among them. Indices that are missing or being built are
 * skipped; ENOTFOUND when all are. seen: number of objects under the value. labels: as above. */
struct pl_index_value {
    const char *index;
    struct pl_slice value;
};
int pl_store_by_fewest(struct pl_store *store, const struct pl_index_value *values, size_t count,
                       uint64_t labels, struct pl_docs *out, size_t *seen);
bool pl_store_has_index(struct pl_store *store, const char *name);
/* NULL-terminated texts that the caller frees with pl_store_free_names: keys (sorted), keys of an
 * index value (sorted), values of an index that have keys (sorted). NULL when there is no such
 * index (rule 34), or while it is being built. */
char **pl_store_keys(struct pl_store *store);
char **pl_store_index_keys(struct pl_store *store, const char *index, struct pl_slice value);
char **pl_store_index_values(struct pl_store *store, const char *index);
void pl_store_free_names(char **names);
/* Appends the version. */
void pl_store_rv(struct pl_store *store, struct pl_buf *out);
