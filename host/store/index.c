#include "store/impl.h"

#include "base/alloc.h"
#include "base/check.h"

static struct pl_bucket *bucket_of(struct pl_keyed *node)
{
    return PL_CONTAINER_OF(node, struct pl_bucket, node);
}

void pl_buckets_init(struct pl_keyset *buckets)
{
    pl_keyset_init(buckets, offsetof(struct pl_bucket, value));
}

static void free_bucket(struct pl_bucket *bucket)
{
    if (bucket->cap > 1)
        pl_free(bucket->of.many);
    pl_free(bucket);
}

void pl_buckets_deinit(struct pl_keyset *buckets)
{
    size_t at = 0;
    struct pl_keyed *node;
    while ((node = pl_keyset_next(buckets, &at)) != NULL)
        free_bucket(bucket_of(node));
    pl_keyset_deinit(buckets);
}

struct pl_bucket *pl_buckets_find(const struct pl_keyset *buckets, struct pl_slice value)
{
    struct pl_keyed *node = pl_keyset_find(buckets, value, pl_keyset_hash(buckets, value));
    return node ? bucket_of(node) : NULL;
}

static struct pl_bucket *find_or_make(struct pl_keyset *buckets, uint32_t slot,
                                      struct pl_slice value)
{
    uint32_t hash = pl_keyset_hash(buckets, value);
    struct pl_keyed *node = pl_keyset_find(buckets, value, hash);
    if (node != NULL)
        return bucket_of(node);
    struct pl_bucket *bucket = pl_malloc(sizeof(*bucket) + value.len + 1);
    *bucket = (struct pl_bucket){.slot = slot, .cap = 1};
    memcpy(bucket->value, value.ptr ? value.ptr : "", value.len);
    bucket->value[value.len] = '\0';
    pl_keyset_insert(buckets, &bucket->node, value.len, hash);
    return bucket;
}

static void grow(struct pl_bucket *bucket)
{
    struct pl_entry **many = bucket->cap == 1 ? NULL : bucket->of.many;
    struct pl_entry *one = bucket->of.one;
    uint32_t cap = bucket->cap * 2;
    many = pl_reallocarray(many, cap, sizeof(struct pl_entry *));
    if (bucket->cap == 1)
        many[0] = one;
    bucket->of.many = many;
    bucket->cap = cap;
}

static struct pl_entry **places(struct pl_bucket *bucket)
{
    return bucket->cap == 1 ? &bucket->of.one : bucket->of.many;
}

struct pl_posting pl_buckets_add(struct pl_keyset *buckets, uint32_t slot, struct pl_slice value,
                                 struct pl_entry *entry)
{
    struct pl_bucket *bucket = find_or_make(buckets, slot, value);
    if (bucket->count == bucket->cap)
        grow(bucket);
    places(bucket)[bucket->count] = entry;
    return (struct pl_posting){bucket, bucket->count++};
}

/* The entry that filled the gap stands elsewhere now. */
static void tell_moved(struct pl_entry *entry, const struct pl_bucket *bucket, uint32_t at)
{
    for (uint32_t i = 0; i < entry->posting_count; i++) {
        if (entry->postings[i].bucket == bucket) {
            entry->postings[i].at = at;
            return;
        }
    }
    PL_UNREACHABLE();
}

void pl_buckets_remove(struct pl_keyset *buckets, struct pl_posting posting)
{
    struct pl_bucket *bucket = posting.bucket;
    struct pl_entry **entries = places(bucket);
    uint32_t last = --bucket->count;
    if (last == 0) {
        pl_keyset_remove(buckets, &bucket->node);
        free_bucket(bucket);
        return;
    }
    if (posting.at == last)
        return;
    entries[posting.at] = entries[last];
    tell_moved(entries[posting.at], bucket, posting.at);
}
