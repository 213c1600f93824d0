#include "store/impl.h"

#include "base/alloc.h"

static struct pl_bucket *bucket_of(struct pl_keyed *node)
{
    return PL_CONTAINER_OF(node, struct pl_bucket, node);
}

enum {
    PART_BITS = 4,
    PARTS = 1 << PART_BITS,
    DIVIDED_FROM = 1 << 15, /* entries */
    UNITED_BELOW = DIVIDED_FROM / 2,
};

/* ---- entries ---- */

static void free_places(struct slab *memory, struct pl_entries *part)
{
    if (part->cap > 1)
        pl_slab_give(memory, part->of.many, part->cap * sizeof(struct pl_entry *));
}

static void free_parts(struct slab *memory, struct pl_entries *parts)
{
    for (size_t i = 0; i < PARTS; i++)
        free_places(memory, &parts[i]);
    pl_slab_give(memory, parts, PARTS * sizeof(*parts));
}

/* By its address: to ask each for its key's hash would be a cache miss for each. */
static uint32_t hash_of(const struct pl_entry *entry)
{
    return (uint32_t)(((uintptr_t)entry >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

static uint32_t home(const struct pl_entries *part, const struct pl_entry *entry)
{
    return hash_of(entry) & (part->cap - 1);
}

static struct pl_entry **places(struct pl_entries *part)
{
    return part->cap == 1 ? &part->of.one : part->of.many;
}

/* There is a free place. */
static void place(struct pl_entries *part, struct pl_entry *entry)
{
    struct pl_entry **at = places(part);
    uint32_t mask = part->cap - 1, i = home(part, entry);
    while (at[i] != NULL)
        i = (i + 1) & mask;
    at[i] = entry;
    part->count++;
}

static void init_places(struct slab *memory, struct pl_entries *part, uint32_t cap)
{
    size_t size = cap * sizeof(struct pl_entry *);
    *part = (struct pl_entries){.cap = cap, .of.many = pl_slab_take(memory, size)};
    memset(part->of.many, 0, size);
}

static void resize(struct slab *memory, struct pl_entries *part, uint32_t cap)
{
    struct pl_entries old = *part;
    init_places(memory, part, cap);
    for (uint32_t i = 0; i < old.cap; i++)
        if (places(&old)[i] != NULL)
            place(part, places(&old)[i]);
    free_places(memory, &old);
}

static struct pl_entries *part_of(struct pl_entries *set, const struct pl_entry *entry)
{
    return set->cap == 0 ? &set->of.parts[hash_of(entry) >> (32 - PART_BITS)] : set;
}

static void add_to_part(struct slab *memory, struct pl_entries *part, struct pl_entry *entry)
{
    if (part->count > 0 && (part->count + 1) * 8 > part->cap * 7)
        resize(memory, part, part->cap < 4 ? 4 : part->cap * 2);
    place(part, entry);
}

static void divide(struct slab *memory, struct pl_entries *set)
{
    struct pl_entries all = *set;
    *set = (struct pl_entries){.count = all.count,
                               .of.parts = pl_slab_take(memory, PARTS * sizeof(struct pl_entries))};
    for (size_t i = 0; i < PARTS; i++)
        init_places(memory, &set->of.parts[i], 2 * DIVIDED_FROM / PARTS);
    for (uint32_t i = 0; i < all.cap; i++)
        if (places(&all)[i] != NULL)
            add_to_part(memory, part_of(set, places(&all)[i]), places(&all)[i]);
    free_places(memory, &all);
}

static void add_entry(struct slab *memory, struct pl_entries *set, struct pl_entry *entry)
{
    if (set->count == DIVIDED_FROM && set->cap != 0)
        divide(memory, set);
    add_to_part(memory, part_of(set, entry), entry);
    set->count += set->cap == 0;
}

/* Entries behind the gap move up unless they are at home behind it. */
static void close_gap(struct pl_entries *part, uint32_t gap)
{
    struct pl_entry **at = places(part);
    uint32_t mask = part->cap - 1;
    at[gap] = NULL;
    for (uint32_t i = (gap + 1) & mask; at[i] != NULL; i = (i + 1) & mask) {
        uint32_t at_home = home(part, at[i]);
        if (((i - at_home) & mask) < ((i - gap) & mask))
            continue;
        at[gap] = at[i];
        at[i] = NULL;
        gap = i;
    }
}

static uint32_t place_of(struct pl_entries *part, const struct pl_entry *entry)
{
    uint32_t mask = part->cap - 1, i = home(part, entry);
    while (places(part)[i] != entry)
        i = (i + 1) & mask;
    return i;
}

static void unite(struct slab *memory, struct pl_entries *set)
{
    struct pl_entries *parts = set->of.parts;
    init_places(memory, set, 2 * UNITED_BELOW);
    for (size_t p = 0; p < PARTS; p++)
        for (uint32_t i = 0; i < parts[p].cap; i++)
            if (parts[p].of.many[i] != NULL)
                place(set, parts[p].of.many[i]);
    free_parts(memory, parts);
}

static void remove_entry(struct slab *memory, struct pl_entries *set, const struct pl_entry *entry)
{
    struct pl_entries *part = part_of(set, entry);
    close_gap(part, place_of(part, entry));
    part->count--;
    set->count -= set->cap == 0;
    if (set->cap == 0 && set->count < UNITED_BELOW)
        unite(memory, set);
    else if (part->cap > 16 && part->count * 8 < part->cap)
        resize(memory, part, part->cap / 2);
}

/* ---- buckets ---- */

static size_t bucket_size(size_t value_len)
{
    return sizeof(struct pl_bucket) + value_len + 1;
}

static void free_bucket(struct slab *memory, struct pl_bucket *bucket)
{
    if (bucket->entries.cap == 0)
        free_parts(memory, bucket->entries.of.parts);
    else
        free_places(memory, &bucket->entries);
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

static struct pl_bucket *find_or_make(struct pl_buckets *buckets, uint32_t slot,
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
    struct pl_bucket *bucket = find_or_make(buckets, slot, value);
    add_entry(buckets->memory, &bucket->entries, entry);
    return bucket;
}

struct pl_entry *pl_bucket_next(const struct pl_bucket *bucket, size_t *at)
{
    const struct pl_entries *set = &bucket->entries;
    size_t n = *at >> 32, i = (uint32_t)*at;
    for (size_t parts = set->cap == 0 ? PARTS : 1; n < parts; n++, i = 0) {
        struct pl_entries part = set->cap == 0 ? set->of.parts[n] : *set;
        while (i < part.cap) {
            struct pl_entry *entry = places(&part)[i++];
            *at = n << 32 | i;
            if (entry != NULL)
                return entry;
        }
    }
    *at = n << 32;
    return NULL;
}

void pl_buckets_exchange(struct pl_buckets *buckets, struct pl_bucket *bucket,
                         const struct pl_entry *entry, struct pl_entry *by)
{
    remove_entry(buckets->memory, &bucket->entries, entry);
    add_entry(buckets->memory, &bucket->entries, by);
}

void pl_buckets_remove(struct pl_buckets *buckets, struct pl_bucket *bucket,
                       const struct pl_entry *entry)
{
    if (bucket->entries.count > 1) {
        remove_entry(buckets->memory, &bucket->entries, entry);
        return;
    }
    pl_keyset_remove(&buckets->by_value, &bucket->node);
    free_bucket(buckets->memory, bucket);
}

/* ---- postings ---- */

/* Where the room for postings begins; it always holds one pointer at least. */
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

static size_t size_of(size_t key_len, uint32_t posting_room)
{
    return room_offset(key_len) + posting_room * sizeof(struct pl_bucket *);
}

struct pl_entry *pl_entry_create(struct slab *memory, struct pl_slice key, struct pl_doc *doc,
                                 uint32_t posting_room)
{
    if (posting_room == 0)
        posting_room = 1;
    struct pl_entry *entry = pl_slab_take(memory, size_of(key.len, posting_room));
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
    pl_slab_give(memory, entry, size_of(entry->node.len, entry->posting_room));
}

void pl_entry_destroy(struct slab *memory, struct pl_entry *entry)
{
    if (is_outside(entry))
        pl_free(*(struct pl_bucket ***)room_of(entry));
    pl_entry_discard(memory, entry);
}

struct pl_entry *pl_entry_move(struct slab *memory, const struct pl_entry *entry)
{
    size_t size = size_of(entry->node.len, entry->posting_room);
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
