/* The read functions of a store, for any thread. Memory for the result is allocated before the lock
 * is taken, and again if the content grew meanwhile. */
#include "base/alloc.h"
#include "store/impl.h"
#include "base/text.h"

#include <stdlib.h>

struct pl_doc *pl_store_get(struct pl_store *store, struct pl_slice key)
{
    pthread_rwlock_rdlock(&store->lock);
    struct pl_entry *entry = pl_content_find(&store->live, key);
    struct pl_doc *doc = entry ? pl_doc_ref(entry->doc) : NULL;
    pthread_rwlock_unlock(&store->lock);
    return doc;
}

size_t pl_store_count(struct pl_store *store)
{
    pthread_rwlock_rdlock(&store->lock);
    size_t count = store->live.entries.count;
    pthread_rwlock_unlock(&store->lock);
    return count;
}

size_t pl_store_bytes(struct pl_store *store)
{
    pthread_rwlock_rdlock(&store->lock);
    size_t bytes = store->live.bytes;
    pthread_rwlock_unlock(&store->lock);
    return bytes;
}

static bool read_has_room(const struct pl_docs *docs, size_t more)
{
    return docs->cap - docs->count >= more;
}

void pl_store_list(struct pl_store *store, uint64_t labels, struct pl_docs *out)
{
    pthread_rwlock_rdlock(&store->lock);
    while (!read_has_room(out, store->live.entries.count)) {
        size_t count = store->live.entries.count;
        pthread_rwlock_unlock(&store->lock);
        pl_docs_reserve(out, count);
        pthread_rwlock_rdlock(&store->lock);
    }
    size_t at = 0, first = out->count;
    struct pl_entry *entry;
    while ((entry = pl_content_next(&store->live, &at)) != NULL)
        pl_docs_add(out, entry->doc);
    pl_docs_ref_from(out, first, labels);
    pthread_rwlock_unlock(&store->lock);
}

static size_t bucket_count(const struct pl_bucket *bucket)
{
    return bucket != NULL ? bucket->entries.count : 0;
}

/* 0 and the bucket, NULL when no entry has the value; ENOTFOUND without such an index, EAGAIN while
 * it is being built. */
static int find_bucket_locked(struct pl_store *store, const char *index, struct pl_slice value,
                              struct pl_bucket **bucket)
{
    size_t slot = pl_store_slot(store, index);
    if (slot == store->slots)
        return PL_ENOTFOUND;
    if (store->defs[slot].building)
        return PL_EAGAIN;
    *bucket = pl_buckets_find(&store->live.buckets[slot], value);
    return 0;
}

/* Of the buckets of these values, the one with the fewest entries, as above. If no index is usable,
 * the error is that of the last one. */
static int find_fewest_locked(struct pl_store *store, const struct pl_index_value *values,
                              size_t count, struct pl_bucket **fewest)
{
    int failed = PL_ENOTFOUND;
    bool found = false;
    for (size_t i = 0; i < count; i++) {
        struct pl_bucket *bucket = NULL;
        int rc = find_bucket_locked(store, values[i].index, values[i].value, &bucket);
        if (rc != 0) {
            failed = rc;
            continue;
        }
        if (!found || bucket_count(bucket) < bucket_count(*fewest))
            *fewest = bucket;
        found = true;
    }
    return found ? 0 : failed;
}

int pl_store_by_fewest(struct pl_store *store, const struct pl_index_value *values, size_t count,
                       uint64_t labels, struct pl_docs *out, size_t *seen)
{
    struct pl_bucket *bucket = NULL;
    pthread_rwlock_rdlock(&store->lock);
    int rc = find_fewest_locked(store, values, count, &bucket);
    while (bucket != NULL && !read_has_room(out, bucket->entries.count)) {
        size_t room = bucket->entries.count;
        pthread_rwlock_unlock(&store->lock);
        pl_docs_reserve(out, room);
        pthread_rwlock_rdlock(&store->lock);
        bucket = NULL;
        rc = find_fewest_locked(store, values, count, &bucket);
    }
    size_t first = out->count, at = 0;
    const struct pl_entry *entry;
    while (bucket != NULL && (entry = pl_entries_next(&bucket->entries, &at)) != NULL)
        pl_docs_add(out, entry->doc);
    *seen = bucket_count(bucket);
    pl_docs_ref_from(out, first, labels);
    pthread_rwlock_unlock(&store->lock);
    return rc;
}

int pl_store_by_index(struct pl_store *store, const char *index, struct pl_slice value,
                      uint64_t labels, struct pl_docs *out)
{
    size_t seen;
    struct pl_index_value only = {index, value};
    return pl_store_by_fewest(store, &only, 1, labels, out, &seen);
}

bool pl_store_has_index(struct pl_store *store, const char *name)
{
    pthread_rwlock_rdlock(&store->lock);
    bool has = pl_store_slot(store, name) != store->slots;
    pthread_rwlock_unlock(&store->lock);
    return has;
}

/* ---- names ---- */

/* Texts being collected: the pointers, and after them the bytes, in one block. */
struct names {
    char **pointers; /* owned */
    size_t count, max_count;
    size_t bytes, max_bytes;
};

static void read_add_name(struct names *names, struct pl_slice name)
{
    if (names->count < names->max_count && names->bytes + name.len + 1 <= names->max_bytes) {
        char *text = (char *)(names->pointers + names->max_count + 1) + names->bytes;
        memcpy(text, name.ptr, name.len);
        text[name.len] = '\0';
        names->pointers[names->count] = text;
    }
    names->count++;
    names->bytes += name.len + 1;
}

/* The source of the names, and the visit under the lock; false when there is no such index. */
struct question {
    bool (*visit_locked)(struct pl_store *store, const struct question *question,
                         struct names *names);
    const char *index;
    struct pl_slice value;
};

/* Visits once to measure and once to copy; again if the content grew in between. */
static char **collect_names(struct pl_store *store, const struct question *question)
{
    struct names names = {0};
    for (;;) {
        names.count = names.bytes = 0;
        pthread_rwlock_rdlock(&store->lock);
        bool known = question->visit_locked(store, question, &names);
        pthread_rwlock_unlock(&store->lock);
        if (!known) {
            pl_free(names.pointers);
            return NULL;
        }
        if (names.pointers != NULL && names.count <= names.max_count &&
            names.bytes <= names.max_bytes)
            break;
        pl_free(names.pointers);
        names.max_count = names.count;
        names.max_bytes = names.bytes;
        names.pointers = pl_malloc((names.count + 1) * sizeof(char *) + names.bytes);
    }
    names.pointers[names.count] = NULL;
    qsort(names.pointers, names.count, sizeof(char *), pl_text_order);
    return names.pointers;
}

static struct pl_slice read_key_of(const struct pl_entry *entry)
{
    return pl_slice(entry->key, entry->node.len);
}

static bool visit_keys(struct pl_store *store, const struct question *question, struct names *names)
{
    PL_UNUSED(question);
    size_t at = 0;
    struct pl_entry *entry;
    while ((entry = pl_content_next(&store->live, &at)) != NULL)
        read_add_name(names, read_key_of(entry));
    return true;
}

static bool visit_index_keys(struct pl_store *store, const struct question *question,
                             struct names *names)
{
    struct pl_bucket *bucket = NULL;
    if (find_bucket_locked(store, question->index, question->value, &bucket) != 0)
        return false;
    size_t at = 0;
    const struct pl_entry *entry;
    while (bucket != NULL && (entry = pl_entries_next(&bucket->entries, &at)) != NULL)
        read_add_name(names, read_key_of(entry));
    return true;
}

static bool visit_values(struct pl_store *store, const struct question *question,
                         struct names *names)
{
    size_t slot = pl_store_slot(store, question->index), at = 0;
    if (slot == store->slots || store->defs[slot].building)
        return false;
    struct pl_keyset *buckets = &store->live.buckets[slot].by_value;
    struct pl_keyed *node;
    while ((node = pl_keyset_next(buckets, &at)) != NULL)
        read_add_name(names, pl_keyset_key(buckets, node));
    return true;
}

char **pl_store_keys(struct pl_store *store)
{
    return collect_names(store, &(struct question){.visit_locked = visit_keys});
}

char **pl_store_index_keys(struct pl_store *store, const char *index, struct pl_slice value)
{
    return collect_names(
        store,
        &(struct question){.visit_locked = visit_index_keys, .index = index, .value = value});
}

char **pl_store_index_values(struct pl_store *store, const char *index)
{
    return collect_names(store, &(struct question){.visit_locked = visit_values, .index = index});
}

void pl_store_free_names(char **names)
{
    pl_free(names);
}

void pl_store_rv(struct pl_store *store, struct pl_buf *out)
{
    pthread_rwlock_rdlock(&store->lock);
    pl_buf_add_slice(out, pl_buf_slice(&store->rv));
    pthread_rwlock_unlock(&store->lock);
}
