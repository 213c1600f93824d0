/* The store's content and how it changes. One thread writes. A single change computes its index
 * values and makes room before it takes the lock, so that readers wait only while pointers are
 * moved.
 *
 * Readers see each change whole: with its index values or not at all. At most some thousand changes
 * are made under one lock; a list, or more changes, are built separately and exchanged in one step.
 * Under the lock, only index functions of the host are called, which are short, and nothing is
 * logged. Values that a script computes come later (pl_store_set_values).
 *
 * Stored documents are counted and immutable. Replaced documents are returned to the caller with
 * their reference, so that they are freed outside the lock. */
#include "store/store.h"

#include "base/alloc.h"
#include "store/impl.h"

#define MANY          8000              /* changes; they take ten milliseconds under the lock */
#define ENTRIES_SPACE ((size_t)4 << 30) /* addresses; entries that do not fit lie on the heap */

/* ---- the lock: taken by the writer only for what readers see ---- */

static void lock_for_writing(struct pl_store *store, const struct pl_content *content)
{
    if (content == &store->live && !store->held)
        pthread_rwlock_wrlock(&store->lock);
}

static void unlock_for_writing(struct pl_store *store, const struct pl_content *content)
{
    if (content == &store->live && !store->held)
        pthread_rwlock_unlock(&store->lock);
}

/* ---- content ---- */

static struct pl_entry *entry_of(struct pl_keyed *node)
{
    return PL_CONTAINER_OF(node, struct pl_entry, node);
}

struct pl_entry *pl_content_find(const struct pl_content *content, struct pl_slice key)
{
    struct pl_keyed *node = pl_keyset_find(&content->entries, key, pl_keyset_hash(key));
    return node ? entry_of(node) : NULL;
}

struct pl_entry *pl_content_next(const struct pl_content *content, size_t *at)
{
    struct pl_keyed *node = pl_keyset_next(&content->entries, at);
    return node ? entry_of(node) : NULL;
}

static void init_content(struct pl_store *store, struct pl_content *content, size_t slots)
{
    *content = (struct pl_content){0};
    pl_keyset_init(&content->entries, offsetof(struct pl_entry, key));
    content->buckets = pl_calloc(slots, sizeof(struct pl_buckets));
    for (size_t i = 0; i < slots; i++)
        pl_buckets_init(&content->buckets[i], &store->memory);
}

static void deinit_content(struct pl_store *store, struct pl_content *content)
{
    size_t at = 0;
    struct pl_entry *entry;
    while ((entry = pl_content_next(content, &at)) != NULL) {
        pl_doc_unref(entry->doc);
        pl_entry_destroy(&store->memory, entry);
    }
    pl_keyset_deinit(&content->entries);
    for (size_t i = 0; i < store->slots; i++)
        pl_buckets_deinit(&content->buckets[i]);
    pl_free(content->buckets);
}

struct pl_store *pl_store_create(void)
{
    struct pl_store *store = PL_NEW(struct pl_store);
    /* Readers come all the time; the single writer must not wait for a gap between them. */
    pthread_rwlockattr_t attr;
    pthread_rwlockattr_init(&attr);
    pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&store->lock, &attr);
    pthread_rwlockattr_destroy(&attr);
    pl_slab_init(&store->memory, ENTRIES_SPACE);
    init_content(store, &store->live, 0);
    return store;
}

void pl_store_destroy(struct pl_store *store)
{
    if (store == NULL)
        return;
    /* The last read of a lane that was abandoned since has no other order with this. */
    pthread_rwlock_wrlock(&store->lock);
    pthread_rwlock_unlock(&store->lock);
    deinit_content(store, &store->live);
    pl_slab_deinit(&store->memory);
    for (size_t i = 0; i < store->slots; i++) {
        pl_index_def_deinit(&store->defs[i]);
        pl_values_deinit(&store->plans[i].values);
    }
    pl_free(store->defs);
    pl_free(store->plans);
    pl_free(store->postings);
    pl_buf_deinit(&store->rv);
    pthread_rwlock_destroy(&store->lock);
    pl_free(store);
}

/* ---- planning a change: the writer, outside the lock ---- */

void pl_store_compute(struct pl_store *store, size_t slot, struct pl_doc *doc,
                      struct pl_values *values)
{
    const struct pl_index_def *def = &store->defs[slot];
    pl_values_clear(values);
    if (def->ops.values(def->arg, pl_doc_root(doc), values, NULL) == 0 && !values->over)
        return;
    pl_values_clear(values);
}

bool pl_entry_has_values(const struct pl_entry *entry, size_t slot, const struct pl_values *values)
{
    size_t at = 0;
    struct pl_slice value;
    for (uint32_t i = 0; i < entry->posting_count; i++) {
        const struct pl_bucket *bucket = pl_entry_postings(entry)[i];
        if (bucket->slot != slot)
            continue;
        if (!pl_values_next(values, &at, &value) ||
            !pl_slice_eq(value, pl_slice(bucket->value, bucket->node.len)))
            return false;
    }
    return !pl_values_next(values, &at, &value);
}

/* entry: the stored one, NULL for a new one. */
static bool plan_put(struct pl_store *store, const struct pl_entry *entry, struct pl_doc *doc)
{
    bool any = false;
    for (size_t i = 0; i < store->slots; i++) {
        struct pl_plan *plan = &store->plans[i];
        plan->changes = false;
        if (store->defs[i].name == NULL || store->defs[i].external)
            continue;
        pl_store_compute(store, i, doc, &plan->values);
        plan->changes =
            entry == NULL ? plan->values.count > 0 : !pl_entry_has_values(entry, i, &plan->values);
        any = any || plan->changes;
    }
    return any;
}

void pl_store_make_posting_room(struct pl_store *store, const struct pl_entry *entry)
{
    size_t need = entry->posting_count;
    for (size_t i = 0; i < store->slots; i++)
        need += store->plans[i].changes ? store->plans[i].values.count : 0;
    if (need <= store->posting_cap)
        return;
    store->posting_cap = need * 2;
    store->postings =
        pl_reallocarray(store->postings, store->posting_cap, sizeof(struct pl_bucket *));
}

/* ---- carrying it out: under the lock ---- */

/* Gives the entry its planned values; fills store->postings and returns their number. */
static uint32_t repost_locked(struct pl_store *store, struct pl_content *content,
                              struct pl_entry *entry)
{
    struct pl_bucket *const *have = pl_entry_postings(entry);
    uint32_t count = 0;
    for (uint32_t i = 0; i < entry->posting_count; i++) {
        uint32_t slot = have[i]->slot;
        if (store->plans[slot].changes)
            pl_buckets_remove(&content->buckets[slot], have[i], entry);
        else
            store->postings[count++] = have[i];
    }
    for (size_t i = 0; i < store->slots; i++) {
        size_t at = 0;
        struct pl_slice value;
        while (store->plans[i].changes && pl_values_next(&store->plans[i].values, &at, &value))
            store->postings[count++] =
                pl_buckets_add(&content->buckets[i], (uint32_t)i, value, entry);
    }
    return count;
}

/* The entry holds this document from now on. Returns the old document. */
static struct pl_doc *exchange_doc(struct pl_content *content, struct pl_entry *entry,
                                   struct pl_doc *doc)
{
    struct pl_doc *old = entry->doc;
    content->bytes += pl_doc_bytes(doc) - pl_doc_bytes(old);
    entry->doc = doc;
    return old;
}

struct pl_doc *pl_store_carry_out(struct pl_store *store, struct pl_content *content,
                                  struct pl_entry *entry, struct pl_doc *doc)
{
    pl_store_make_posting_room(store, entry);
    lock_for_writing(store, content);
    uint32_t count = repost_locked(store, content, entry);
    struct pl_doc *old = doc != NULL ? exchange_doc(content, entry, doc) : NULL;
    unlock_for_writing(store, content);
    pl_entry_set_postings(entry, store->postings, count);
    return old;
}

static struct pl_doc *replace_doc(struct pl_store *store, struct pl_content *content,
                                  struct pl_entry *entry, struct pl_doc *doc)
{
    lock_for_writing(store, content);
    struct pl_doc *old = exchange_doc(content, entry, doc);
    unlock_for_writing(store, content);
    return old;
}

static uint32_t planned_room(const struct pl_store *store)
{
    size_t room = 0; /* an index that is computed elsewhere usually gives one value, later */
    for (size_t i = 0; i < store->slots; i++)
        room += store->defs[i].external ? 1 : store->plans[i].values.count;
    return (uint32_t)room;
}

/* doc: a reference that the new entry keeps. Readers see it with its values or not at all. */
static void store_insert(struct pl_store *store, struct pl_content *content, struct pl_slice key,
                         struct pl_doc *doc)
{
    struct pl_entry *entry = pl_entry_create(&store->memory, key, doc, planned_room(store));
    entry->mark = store->mark;
    uint32_t hash = pl_keyset_hash(key);
    pl_store_make_posting_room(store, entry);
    lock_for_writing(store, content);
    pl_keyset_insert(&content->entries, &entry->node, key.len, hash);
    content->bytes += pl_doc_bytes(doc);
    uint32_t count = repost_locked(store, content, entry);
    unlock_for_writing(store, content);
    pl_entry_set_postings(entry, store->postings, count);
}

static struct pl_doc *store_put(struct pl_store *store, struct pl_content *content,
                                struct pl_slice key, struct pl_doc *doc)
{
    struct pl_entry *entry = pl_content_find(content, key);
    bool changes = plan_put(store, entry, doc);
    pl_doc_ref(doc);
    if (entry != NULL && changes)
        return pl_store_carry_out(store, content, entry, doc);
    if (entry != NULL)
        return replace_doc(store, content, entry, doc);
    store_insert(store, content, key, doc);
    return NULL;
}

/* ---- the writer's calls ---- */

struct pl_doc *pl_store_put(struct pl_store *store, struct pl_slice key, struct pl_doc *doc)
{
    return store_put(store, &store->live, key, doc);
}

static struct pl_doc *take_out(struct pl_store *store, struct pl_content *content,
                               struct pl_slice key)
{
    struct pl_entry *entry = pl_content_find(content, key);
    if (entry == NULL)
        return NULL;
    lock_for_writing(store, content);
    for (uint32_t i = 0; i < entry->posting_count; i++) {
        struct pl_bucket *bucket = pl_entry_postings(entry)[i];
        pl_buckets_remove(&content->buckets[bucket->slot], bucket, entry);
    }
    pl_keyset_remove(&content->entries, &entry->node);
    struct pl_doc *doc = entry->doc;
    content->bytes -= pl_doc_bytes(doc);
    unlock_for_writing(store, content);
    pl_entry_destroy(&store->memory, entry);
    pl_slab_release(&store->memory);
    return doc;
}

struct pl_doc *pl_store_remove(struct pl_store *store, struct pl_slice key)
{
    return take_out(store, &store->live, key);
}

/* Plans that the values of external indices stay as in `old`. */
static void plan_to_keep(struct pl_store *store, const struct pl_entry *old)
{
    for (size_t i = 0; i < store->slots; i++) {
        store->plans[i].changes = store->defs[i].name != NULL && store->defs[i].external;
        pl_values_clear(&store->plans[i].values);
    }
    for (uint32_t i = 0; i < old->posting_count; i++) {
        const struct pl_bucket *bucket = pl_entry_postings(old)[i];
        if (store->plans[bucket->slot].changes)
            pl_values_add(&store->plans[bucket->slot].values,
                          pl_slice(bucket->value, bucket->node.len));
    }
}

/* Puts an object with the values of its external indices. */
static void put_as_before(struct pl_store *store, struct pl_content *next, struct pl_slice key,
                          struct pl_doc *doc, const struct pl_entry *old)
{
    pl_doc_unref(store_put(store, next, key, doc));
    if (old == NULL || old->posting_count == 0)
        return;
    plan_to_keep(store, old);
    pl_store_carry_out(store, next, pl_content_find(next, key), NULL);
}

static void exchange(struct pl_store *store, struct pl_content *next)
{
    store->replaced++;
    pthread_rwlock_wrlock(&store->lock);
    struct pl_content gone = store->live;
    store->live = *next;
    pthread_rwlock_unlock(&store->lock);
    deinit_content(store, &gone);
    pl_slab_release(&store->memory);
}

void pl_store_replace(struct pl_store *store, const struct pl_store_item *items, size_t count)
{
    struct pl_content next;
    init_content(store, &next, store->slots);
    for (size_t i = 0; i < count; i++)
        put_as_before(store, &next, items[i].key, items[i].doc,
                      pl_content_find(&store->live, items[i].key));
    exchange(store, &next);
}

static void apply_to(struct pl_store *store, struct pl_content *content,
                     struct pl_store_change *changes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        changes[i].old = changes[i].doc != NULL
                             ? store_put(store, content, changes[i].key, changes[i].doc)
                             : take_out(store, content, changes[i].key);
}

static void apply_aside(struct pl_store *store, struct pl_store_change *changes, size_t count)
{
    struct pl_content next;
    size_t at = 0;
    const struct pl_entry *entry;
    init_content(store, &next, store->slots);
    while ((entry = pl_content_next(&store->live, &at)) != NULL)
        put_as_before(store, &next, pl_slice(entry->key, entry->node.len), entry->doc, entry);
    apply_to(store, &next, changes, count);
    exchange(store, &next);
}

void pl_store_apply(struct pl_store *store, struct pl_store_change *changes, size_t count)
{
    if (count > MANY) {
        apply_aside(store, changes, count);
        return;
    }
    pthread_rwlock_wrlock(&store->lock);
    store->held = true;
    apply_to(store, &store->live, changes, count);
    store->held = false;
    pthread_rwlock_unlock(&store->lock);
}

/* ---- comparing it with a list ---- */

uint32_t pl_store_begin_marks(struct pl_store *store)
{
    return ++store->mark;
}

/* Compares modulo overflow of the counter. */
static bool is_before(uint32_t mark, uint32_t list)
{
    return (int32_t)(mark - list) < 0;
}

struct pl_doc *pl_store_mark(struct pl_store *store, struct pl_slice key, uint32_t list)
{
    struct pl_entry *entry = pl_content_find(&store->live, key);
    if (entry == NULL)
        return NULL;
    if (is_before(entry->mark, list))
        entry->mark = list;
    return pl_doc_ref(entry->doc);
}

void pl_store_unmarked(struct pl_store *store, uint32_t list,
                       void (*visit)(void *arg, struct pl_slice key, struct pl_doc *doc), void *arg)
{
    size_t at = 0;
    struct pl_entry *entry;
    while ((entry = pl_content_next(&store->live, &at)) != NULL)
        if (is_before(entry->mark, list))
            visit(arg, pl_slice(entry->key, entry->node.len), entry->doc);
}

void pl_store_set_rv(struct pl_store *store, struct pl_slice rv)
{
    pthread_rwlock_wrlock(&store->lock);
    pl_buf_clear(&store->rv);
    pl_buf_add_slice(&store->rv, rv);
    pthread_rwlock_unlock(&store->lock);
}
