/* The objects of all kinds, the resourceVersion counter, and the last events. */
#pragma once

#include "apistore/table.h"
#include "object/tree.h"
#include "value/doc.h"

#include <stdbool.h>
#include <stdint.h>

struct pl_api_type;
struct pl_api_storage;
struct pl_pool;

enum pl_api_change { PL_API_ADDED, PL_API_MODIFIED, PL_API_DELETED };

struct pl_api_event {
    uint64_t rv;
    enum pl_api_change change;
    struct pl_api_type *type; /* NULL once the kind is gone */
    struct pl_doc *doc; /* counted: the new state; for a deletion the last state with the new rv */
    struct pl_doc *old; /* counted: the state before; NULL for an addition */
    size_t bytes;       /* approximate size of doc as text */
};

struct pl_api_storage_ops {
    /* Called after each write, when the storage is consistent. Must not write. */
    void (*on_event)(void *arg, const struct pl_api_event *event);
};

struct pl_api_storage_options {
    size_t history;       /* events kept */
    size_t history_bytes; /* limit of their text; the newest event is always kept */
    uint64_t first;       /* the version before the first write; the oldest readable version */
};

/* pool and ops are borrowed for life, options are copied. */
struct pl_api_storage *pl_api_storage_create(struct pl_pool *pool,
                                             const struct pl_api_storage_options *options,
                                             const struct pl_api_storage_ops *ops, void *arg);
void pl_api_storage_destroy(struct pl_api_storage *storage);

uint64_t pl_api_storage_rv(const struct pl_api_storage *storage);
/* Watches and lists can't start before this version. */
uint64_t pl_api_storage_floor(const struct pl_api_storage *storage);
/* Deletes the history: every version before now is then too old. */
void pl_api_storage_compact(struct pl_api_storage *storage);

/* Creates or replaces: the object gets the next resourceVersion (set in the tree too). Returns the
 * new state, which is borrowed until the next write. */
struct pl_api_entry *pl_api_storage_put(struct pl_api_storage *storage, struct pl_arena *arena,
                                        struct pl_api_type *type, struct pl_slice key,
                                        struct pl_tree *object);
/* For a server that starts from a data folder, before anything else: the stored objects, the past
 * events (oldest first), and then the last version and the newest version whose history is gone.
 * Takes ownership of documents. No event is sent. */
void pl_api_storage_restore_begin(struct pl_api_storage *storage);
void pl_api_storage_restore(struct pl_api_storage *storage, struct pl_api_type *type,
                            struct pl_slice key, struct pl_doc *doc, uint64_t rv);
void pl_api_storage_restore_event(struct pl_api_storage *storage, const struct pl_api_event *event);
void pl_api_storage_restore_version(struct pl_api_storage *storage, uint64_t rv, uint64_t floor);

/* The entry is freed by this call. */
void pl_api_storage_remove(struct pl_api_storage *storage, struct pl_api_entry *entry);
/* Events of a kind that is being removed keep their documents but lose their type. */
void pl_api_storage_forget_type(struct pl_api_storage *storage, const struct pl_api_type *type);

/* The object with that uid, of any kind; NULL if there is none. Borrowed until the next write. */
struct pl_api_entry *pl_api_storage_by_uid(const struct pl_api_storage *storage,
                                           struct pl_slice uid);
/* Entries whose ownerReferences name that uid. The caller owns the array and frees it with pl_free;
 * the entries are borrowed. */
struct pl_api_entry **pl_api_storage_dependents(const struct pl_api_storage *storage,
                                                struct pl_slice uid, size_t *count);

/* The kind's objects as they were at version rv (floor <= rv <= now): borrowed
 * documents ordered by key, valid until the next write. */
struct pl_api_view {
    const char **keys;    /* owned array of borrowed texts */
    struct pl_doc **docs; /* owned array of borrowed documents */
    size_t count;
    struct pl_arena texts; /* private: keys of deleted objects */
};
void pl_api_storage_view(struct pl_api_storage *storage, struct pl_api_type *type, uint64_t rv,
                         struct pl_api_view *view);
void pl_api_view_deinit(struct pl_api_view *view);

/* Visits the kind's events with a version above rv, oldest first:
 *     size_t at = pl_api_storage_after(storage, rv);
 *     while ((event = pl_api_storage_next(storage, type, &at)) != NULL) ... */
size_t pl_api_storage_after(const struct pl_api_storage *storage, uint64_t rv);
/* See above. Borrowed until the next change or compaction. */
const struct pl_api_event *pl_api_storage_next(const struct pl_api_storage *storage,
                                               const struct pl_api_type *type, size_t *at);
