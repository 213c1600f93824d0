/* The store's inner parts, only for the files of this folder.
 *
 * Readers look at buckets. Only the writer uses postings (the way back from an entry to its
 * buckets), so it may change them without the lock. */
#pragma once

#include "base/keyset.h"
#include "store/store.h"
#include "value/slab.h"

#include <pthread.h>
#include <stdatomic.h>

/* A hash set of borrowed entries. As in a keyset, a large set has parts that grow one by one. */
struct pl_entries {
    uint32_t count;
    uint32_t cap; /* of `many`; 1: there is `one`; 0: they are in parts */
    union {
        struct pl_entry *one;     /* most values of most indices have a single entry */
        struct pl_entry **many;   /* owned; NULL where free */
        struct pl_entries *parts; /* owned */
    } of;
};

/* The entries under one value of one index; never empty (rule 32). */
struct pl_bucket {
    struct pl_keyed node; /* in its index's set, by value */
    uint32_t slot;        /* of the index, in the store */
    struct pl_entries entries;
    char value[];
};

/* The buckets of one index. */
struct pl_buckets {
    struct pl_keyset by_value;
    struct slab *memory; /* borrowed: the store's */
};

/* One stored object. The memory after the key has room for the postings: the buckets that contain
 * the entry, grouped by slot. If they do not fit, that room holds a pointer to them. */
struct pl_entry {
    struct pl_keyed node; /* in the store's set, by key */
    struct pl_doc *doc;   /* counted */
    uint32_t posting_count, posting_room;
    uint32_t mark; /* used by the writer: the last list that named it, or had begun before it */
    char key[];
};

/* Entries and buckets lie in the store's own memory. On the heap they would lie among temporary
 * blocks of lists and bursts, and keep that memory from going back to the system. */
struct pl_entry *pl_entry_create(struct slab *memory, struct pl_slice key, struct pl_doc *doc,
                                 uint32_t posting_room);
void pl_entry_destroy(struct slab *memory, struct pl_entry *entry);
/* Returns a copy in a better place, NULL when it need not move. The caller frees the old one with
 * pl_entry_discard: the copy owns what both point to. */
struct pl_entry *pl_entry_move(struct slab *memory, const struct pl_entry *entry);
void pl_entry_discard(struct slab *memory, struct pl_entry *entry);
/* The entry's own array; it belongs to the entry and moves when its postings are set. */
struct pl_bucket *const *pl_entry_postings(const struct pl_entry *entry);
/* postings: borrowed and copied; they may be the entry's own. */
void pl_entry_set_postings(struct pl_entry *entry, struct pl_bucket *const *postings,
                           uint32_t count);

/* The definition of an index; its buckets are part of the content. */
struct pl_index_def {
    char *name; /* owned; NULL: the slot is free */
    bool external;
    bool building; /* its values are not complete; protected by the lock */
    struct pl_index_ops ops;
    void *arg;
};
void pl_index_def_deinit(struct pl_index_def *def);

/* The part that readers see. */
struct pl_content {
    struct pl_keyset entries;
    struct pl_buckets *buckets; /* owned, by slot */
    size_t bytes;               /* of the documents, without shared parts */
};

/* The writer's notes on one slot during one change. */
struct pl_plan {
    bool changes;
    struct pl_values values;
};

struct pl_store {
    pthread_rwlock_t lock; /* protects live, defs' names, slots and rv */
    bool held;             /* the writer holds it for several changes */
    struct pl_content live;
    struct slab memory;        /* of entries and buckets; used only by the writer */
    struct pl_index_def *defs; /* owned, by slot */
    size_t slots;
    struct pl_buf rv;
    uint64_t
        replaced; /* number of replacements; used only by the writer, as are the following fields */
    struct pl_plan *plans;       /* owned, by slot */
    struct pl_bucket **postings; /* owned: of the entry that is being changed */
    size_t posting_cap;
    uint32_t mark; /* of the last list that has begun */
};

/* ---- sets of entries: entries.c. memory: allocator of the set, the same in every call ---- */

/* The entry must not be in the set. A new set is {.cap = 1}. */
void pl_entries_add(struct pl_entries *set, struct slab *memory, struct pl_entry *entry);
/* The entry must be in the set. */
void pl_entries_remove(struct pl_entries *set, struct slab *memory, const struct pl_entry *entry);
void pl_entries_deinit(struct pl_entries *set, struct slab *memory);
/* Visits each entry; start with *at = 0. NULL at the end. Entries belong to the content. */
struct pl_entry *pl_entries_next(const struct pl_entries *set, size_t *at);

/* ---- buckets: index.c ---- */

void pl_buckets_init(struct pl_buckets *buckets, struct slab *memory);
/* Frees the buckets; the caller must forget postings that point to them. */
void pl_buckets_deinit(struct pl_buckets *buckets);
/* The bucket of a value, NULL when there is none. It belongs to the buckets. */
struct pl_bucket *pl_buckets_find(const struct pl_buckets *buckets, struct pl_slice value);
/* Adds the entry under a value that it does not have yet. Returns the bucket, for the entry's
 * postings; it belongs to the buckets. */
struct pl_bucket *pl_buckets_add(struct pl_buckets *buckets, uint32_t slot, struct pl_slice value,
                                 struct pl_entry *entry);
/* The entry must be in the bucket. A bucket is freed with its last entry. */
void pl_buckets_remove(struct pl_buckets *buckets, struct pl_bucket *bucket,
                       const struct pl_entry *entry);

/* Replaces an entry of the bucket by another one with the same key. */
void pl_buckets_exchange(struct pl_buckets *buckets, struct pl_bucket *bucket,
                         const struct pl_entry *entry, struct pl_entry *by);

/* ---- planning a change: store.c; the writer, outside the lock ---- */

/* The document's values; none if they cannot be computed. */
void pl_store_compute(struct pl_store *store, size_t slot, struct pl_doc *doc,
                      struct pl_values *values);
/* True when the entry already has exactly these values (rule 31). */
bool pl_entry_has_values(const struct pl_entry *entry, size_t slot, const struct pl_values *values);
/* Makes room in store->postings for the maximal number of the entry's postings. */
void pl_store_make_posting_room(struct pl_store *store, const struct pl_entry *entry);
/* Gives the entry its planned values, under the lock. doc NULL: the stored document stays. Returns
 * the replaced document, or NULL; the caller drops its reference. */
struct pl_doc *pl_store_carry_out(struct pl_store *store, struct pl_content *content,
                                  struct pl_entry *entry, struct pl_doc *doc);

/* ---- walk.c; the writer ---- */

/* The next entry of the live content, NULL at the end. */
struct pl_entry *pl_store_walk_on(struct pl_store *store, struct pl_store_walk *walk);

/* ---- look-ups, under the lock or by the writer: store.c ---- */

/* The entry of the key, which belongs to the content; NULL when there is none. */
struct pl_entry *pl_content_find(const struct pl_content *content, struct pl_slice key);
/* Visits each entry; start with *at = 0. NULL at the end. */
struct pl_entry *pl_content_next(const struct pl_content *content, size_t *at);
/* The slot, or store->slots when there is no such index (indexing.c). */
size_t pl_store_slot(const struct pl_store *store, const char *name);
