/* Indices: from a value to the entries that have it (buckets), and from an entry back to its
 * buckets (postings).
 *
 * Readers see buckets, which change only under the store's lock. Only the writer uses postings;
 * they say where to remove an entry, without computing its old values again. A bucket is freed with
 * its last entry, so that temporary values leave nothing behind (rule 32).
 *
 * Postings lie after the entry's key if they fit, since most objects keep their number of buckets;
 * else in a separate block. */
#include "store/impl.h"

#include "base/alloc.h"

static struct pl_bucket *bucket_of(struct pl_keyed *node)
{
    return PL_CONTAINER_OF(node, struct pl_bucket, node);
}

static size_t bucket_size(size_t value_len)
{
    return sizeof(struct pl_bucket) + value_len + 1;
}

static void free_bucket(struct slab *memory, struct pl_bucket *bucket)
{
    pl_entries_deinit(&bucket->entries, memory);
    pl_slab_give(memory, bucket, bucket_size(bucket->node.len));
}

void pl_buckets_init(struct pl_buckets *buckets, struct slab *memory)
{
    pl_keyset_init(&buckets->by_value, offsetof(struct pl_bucket, value));
    buckets->memory = memory;
}

void pl_buckets_deinit(struct pl_buckets *buckets)
{
    size_t at = 0;
    struct pl_keyed *node;
    while ((node = pl_keyset_next(&buckets->by_value, &at)) != NULL)
        free_bucket(buckets->memory, bucket_of(node));
    pl_keyset_deinit(&buckets->by_value);
}

struct pl_bucket *pl_buckets_find(const struct pl_buckets *buckets, struct pl_slice value)
{
    struct pl_keyed *node = pl_keyset_find(&buckets->by_value, value, pl_keyset_hash(value));
    return node ? bucket_of(node) : NULL;
}

static struct pl_bucket *index_find_or_make(struct pl_buckets *buckets, uint32_t slot,
                                            struct pl_slice value)
{
    uint32_t hash = pl_keyset_hash(value);
    struct pl_keyed *node = pl_keyset_find(&buckets->by_value, value, hash);
    if (node != NULL)
        return bucket_of(node);
    struct pl_bucket *bucket = pl_slab_take(buckets->memory, bucket_size(value.len));
    *bucket = (struct pl_bucket){.slot = slot, .entries.cap = 1};
    memcpy(bucket->value, value.ptr ? value.ptr : "", value.len);
    bucket->value[value.len] = '\0';
    pl_keyset_insert(&buckets->by_value, &bucket->node, value.len, hash);
    return bucket;
}

struct pl_bucket *pl_buckets_add(struct pl_buckets *buckets, uint32_t slot, struct pl_slice value,
                                 struct pl_entry *entry)
{
    struct pl_bucket *bucket = index_find_or_make(buckets, slot, value);
    pl_entries_add(&bucket->entries, buckets->memory, entry);
    return bucket;
}

void pl_buckets_exchange(struct pl_buckets *buckets, struct pl_bucket *bucket,
                         const struct pl_entry *entry, struct pl_entry *by)
{
    pl_entries_remove(&bucket->entries, buckets->memory, entry);
    pl_entries_add(&bucket->entries, buckets->memory, by);
}

void pl_buckets_remove(struct pl_buckets *buckets, struct pl_bucket *bucket,
                       const struct pl_entry *entry)
{
    if (bucket->entries.count > 1) {
        pl_entries_remove(&bucket->entries, buckets->memory, entry);
        return;
    }
    pl_keyset_remove(&buckets->by_value, &bucket->node);
    free_bucket(buckets->memory, bucket);
}

/* ---- postings ---- */

/* The offset of the room for postings; it always holds at least one pointer. */
static size_t room_offset(size_t key_len)
{
    size_t end = offsetof(struct pl_entry, key) + key_len + 1, align = sizeof(void *);
    return (end + align - 1) / align * align;
}

static struct pl_bucket **room_of(const struct pl_entry *entry)
{
    return (struct pl_bucket **)((char *)entry + room_offset(entry->node.len));
}

static bool is_outside(const struct pl_entry *entry)
{
    return entry->posting_count > entry->posting_room;
}

static size_t index_size_of(size_t key_len, uint32_t posting_room)
{
    return room_offset(key_len) + posting_room * sizeof(struct pl_bucket *);
}

struct pl_entry *pl_entry_create(struct slab *memory, struct pl_slice key, struct pl_doc *doc,
                                 uint32_t posting_room)
{
    if (posting_room == 0)
        posting_room = 1;
    struct pl_entry *entry = pl_slab_take(memory, index_size_of(key.len, posting_room));
    *entry =
        (struct pl_entry){.doc = doc, .posting_room = posting_room, .node.len = (uint32_t)key.len};
    memcpy(entry->key, key.ptr ? key.ptr : "", key.len);
    entry->key[key.len] = '\0';
    return entry;
}

struct pl_bucket *const *pl_entry_postings(const struct pl_entry *entry)
{
    return is_outside(entry) ? *(struct pl_bucket ***)room_of(entry) : room_of(entry);
}

void pl_entry_discard(struct slab *memory, struct pl_entry *entry)
{
    pl_slab_give(memory, entry, index_size_of(entry->node.len, entry->posting_room));
}

void pl_entry_destroy(struct slab *memory, struct pl_entry *entry)
{
    if (is_outside(entry))
        pl_free(*(struct pl_bucket ***)room_of(entry));
    pl_entry_discard(memory, entry);
}

struct pl_entry *pl_entry_move(struct slab *memory, const struct pl_entry *entry)
{
    size_t size = index_size_of(entry->node.len, entry->posting_room);
    if (!slab_holds(memory, entry) || !pl_slab_drain(memory, entry, size))
        return NULL;
    return memcpy(pl_slab_take(memory, size), entry, size);
}

void pl_entry_set_postings(struct pl_entry *entry, struct pl_bucket *const *postings,
                           uint32_t count)
{
    struct pl_bucket **old = is_outside(entry) ? *(struct pl_bucket ***)room_of(entry) : NULL;
    struct pl_bucket **to = room_of(entry);
    if (count > entry->posting_room) {
        to = pl_reallocarray(NULL, count, sizeof(struct pl_bucket *));
        memcpy(to, postings, count * sizeof(struct pl_bucket *));
        *(struct pl_bucket ***)room_of(entry) = to;
    } else if (count > 0) {
        memmove(to, postings, count * sizeof(struct pl_bucket *));
    }
    entry->posting_count = count;
    pl_free(old);
}
