/* The objects of one kind, by key. The thread of the storage. */
#pragma once

#include "base/list.h"
#include "base/map.h"
#include "value/doc.h"

#include <stdint.h>

struct pl_api_type;

/* One stored object. Borrowed by readers until the next write. */
struct pl_api_entry {
    char *key;                /* owned: "namespace/name" or "name" */
    struct pl_doc *doc;       /* counted; in the storage version */
    uint64_t rv;              /* of its last write */
    struct pl_api_type *type; /* back-pointer */
    char uid[48];
};

/* The objects of one kind, ordered by key as etcd orders them. */
struct pl_api_table {
    struct pl_api_entry **entries; /* owned array of owned entries */
    size_t count, cap;
    struct pl_map by_key;
    uint64_t last_rv;       /* of the newest event of this kind */
    struct pl_list watches; /* list of struct pl_api_watch; used by the watch file */
};

struct pl_api_table *pl_api_table_create(void); /* owned */
/* Drops the objects; no events are recorded. */
void pl_api_table_destroy(struct pl_api_table *table);
/* The object of this key; NULL when there is none. Borrowed until the next write. */
struct pl_api_entry *pl_api_table_find(const struct pl_api_table *table, struct pl_slice key);
/* The first entry whose key is >= key. */
size_t pl_api_table_seek(const struct pl_api_table *table, struct pl_slice key);
/* The entries of a namespace, which lie together: those from `first` to before `end`. Adding or
 * removing entries moves them. */
struct pl_api_span {
    size_t first, end;
};
struct pl_api_span pl_api_table_span(const struct pl_api_table *table, struct pl_slice ns);

/* For storage.c, which also records the events. The key must be new; the caller fills the entry,
 * which belongs to the table. */
struct pl_api_entry *pl_api_table_add(struct pl_api_table *table, struct pl_slice key);
/* Frees the entry. */
void pl_api_table_remove(struct pl_api_table *table, struct pl_api_entry *entry);
