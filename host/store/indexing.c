/* Adds and removes indices, and computes their values for stored objects. */
#include "base/alloc.h"
#include "store/impl.h"

void pl_index_def_deinit(struct pl_index_def *def)
{
    if (def->name != NULL && !def->external && def->ops.destroy != NULL)
        def->ops.destroy(def->arg);
    pl_free(def->name);
    *def = (struct pl_index_def){0};
}

size_t pl_store_slot(const struct pl_store *store, const char *name)
{
    size_t i = 0;
    while (i < store->slots &&
           (store->defs[i].name == NULL || strcmp(store->defs[i].name, name) != 0))
        i++;
    return i;
}

static size_t free_slot(struct pl_store *store)
{
    for (size_t i = 0; i < store->slots; i++)
        if (store->defs[i].name == NULL)
            return i;
    size_t slots = store->slots + 1;
    struct pl_buckets *buckets = pl_calloc(slots, sizeof(*buckets));
    struct pl_index_def *defs = pl_calloc(slots, sizeof(*defs));
    store->plans = pl_reallocarray(store->plans, slots, sizeof(*store->plans));
    store->plans[slots - 1] = (struct pl_plan){0};
    memcpy(buckets, store->live.buckets, store->slots * sizeof(*buckets));
    if (store->slots > 0)
        memcpy(defs, store->defs, store->slots * sizeof(*defs));
    pl_buckets_init(&buckets[slots - 1], &store->memory);
    pthread_rwlock_wrlock(&store->lock);
    struct pl_buckets *old_buckets = store->live.buckets;
    struct pl_index_def *old_defs = store->defs;
    store->live.buckets = buckets;
    store->defs = defs;
    store->slots = slots;
    pthread_rwlock_unlock(&store->lock);
    pl_free(old_buckets);
    pl_free(old_defs);
    return slots - 1;
}

/* Indexes the stored objects. It takes no lock: no reader looks into these buckets yet, and a
 * reader that scans the store may hold the lock for milliseconds. */
static void index_entry(struct pl_store *store, size_t slot, struct pl_entry *entry)
{
    struct pl_values *values = &store->plans[slot].values;
    pl_store_compute(store, slot, entry->doc, values);
    if (values->count == 0)
        return;
    store->plans[slot].changes = true;
    pl_store_make_posting_room(store, entry);
    memcpy(store->postings, pl_entry_postings(entry),
           entry->posting_count * sizeof(struct pl_bucket *));
    uint32_t count = entry->posting_count;
    size_t at = 0;
    struct pl_slice value;
    while (pl_values_next(values, &at, &value))
        store->postings[count++] =
            pl_buckets_add(&store->live.buckets[slot], (uint32_t)slot, value, entry);
    pl_entry_set_postings(entry, store->postings, count);
}

int pl_store_begin_index(struct pl_store *store, const char *name, const struct pl_index_ops *ops,
                         void *arg, struct pl_err *err)
{
    if (pl_store_has_index(store, name))
        return pl_err_set(err, PL_EEXIST, "there is an index named \"%s\" already", name);
    size_t slot = free_slot(store); /* free_slot may move the definitions */
    struct pl_index_def *def = &store->defs[slot];
    def->external = ops == NULL;
    def->ops = ops ? *ops : (struct pl_index_ops){0};
    def->arg = arg;
    char *own_name = pl_strdup(name);
    pthread_rwlock_wrlock(&store->lock);
    def->building = true;
    def->name = own_name;
    pthread_rwlock_unlock(&store->lock);
    return 0;
}

int pl_store_add_index(struct pl_store *store, const char *name, const struct pl_index_ops *ops,
                       void *arg, struct pl_err *err)
{
    struct pl_store_walk walk = {0};
    int failed = pl_store_begin_index(store, name, ops, arg, err);
    if (failed)
        return failed;
    if (ops == NULL)
        pl_store_set_building(store, name, false);
    else
        pl_store_build_index(store, name, &walk, SIZE_MAX);
    return 0;
}

static bool stands_in(const struct pl_entry *entry, size_t slot)
{
    for (uint32_t i = 0; i < entry->posting_count; i++)
        if (pl_entry_postings(entry)[i]->slot == slot)
            return true;
    return false;
}

bool pl_store_build_index(struct pl_store *store, const char *name, struct pl_store_walk *walk,
                          size_t some)
{
    size_t slot = pl_store_slot(store, name);
    struct pl_entry *entry;
    while (slot < store->slots && some-- > 0) {
        if ((entry = pl_store_walk_on(store, walk)) == NULL) {
            pl_store_set_building(store, name, false);
            return false;
        }
        if (!stands_in(entry, slot)) /* else it changed since, and was indexed then */
            index_entry(store, slot, entry);
    }
    return slot < store->slots;
}

static void forget_postings(struct pl_store *store, struct pl_entry *entry, size_t slot)
{
    uint32_t kept = 0;
    for (size_t i = 0; i < store->slots; i++)
        store->plans[i].changes = false;
    pl_store_make_posting_room(store, entry);
    for (uint32_t i = 0; i < entry->posting_count; i++)
        if (pl_entry_postings(entry)[i]->slot != slot)
            store->postings[kept++] = pl_entry_postings(entry)[i];
    if (kept < entry->posting_count)
        pl_entry_set_postings(entry, store->postings, kept);
}

void pl_store_set_building(struct pl_store *store, const char *index, bool building)
{
    size_t slot = pl_store_slot(store, index);
    if (slot == store->slots)
        return;
    pthread_rwlock_wrlock(&store->lock);
    store->defs[slot].building = building;
    pthread_rwlock_unlock(&store->lock);
}

void pl_store_drop_index(struct pl_store *store, const char *name)
{
    size_t slot = pl_store_slot(store, name), at = 0;
    if (slot == store->slots)
        return;
    pthread_rwlock_wrlock(&store->lock);
    struct pl_index_def gone = store->defs[slot];
    struct pl_buckets buckets = store->live.buckets[slot];
    store->defs[slot] = (struct pl_index_def){0};
    pl_buckets_init(&store->live.buckets[slot], &store->memory);
    pthread_rwlock_unlock(&store->lock);
    struct pl_entry *entry;
    while ((entry = pl_content_next(&store->live, &at)) != NULL)
        forget_postings(store, entry, slot);
    pl_buckets_deinit(&buckets);
    pl_index_def_deinit(&gone);
}

void pl_store_set_values(struct pl_store *store, const char *index, struct pl_slice key,
                         const struct pl_values *values)
{
    size_t slot = pl_store_slot(store, index), at = 0;
    struct pl_entry *entry = pl_content_find(&store->live, key);
    if (slot == store->slots || !store->defs[slot].external || entry == NULL ||
        pl_entry_has_values(entry, slot, values))
        return;
    for (size_t i = 0; i < store->slots; i++)
        store->plans[i].changes = i == slot;
    struct pl_slice value;
    pl_values_clear(&store->plans[slot].values);
    while (pl_values_next(values, &at, &value))
        pl_values_add(&store->plans[slot].values, value);
    pl_store_carry_out(store, &store->live, entry, NULL);
}
