/* Walks through the whole store in pieces: to read it, and to move objects together after many
 * removals. */
#include "store/impl.h"
#include "value/pool.h"

struct pl_entry *pl_store_walk_on(struct pl_store *store, struct pl_store_walk *walk)
{
    if (walk->replaced != store->replaced)
        *walk = (struct pl_store_walk){.replaced = store->replaced};
    struct pl_keyed *node = pl_keyset_walk(&store->live.entries, &walk->entries);
    return node != NULL ? PL_CONTAINER_OF(node, struct pl_entry, node) : NULL;
}

bool pl_store_walk(struct pl_store *store, struct pl_store_walk *walk, size_t some,
                   struct pl_docs *out)
{
    const struct pl_entry *entry;
    while (out->count < some && (entry = pl_store_walk_on(store, walk)) != NULL)
        pl_docs_add(out, pl_doc_ref(entry->doc));
    return out->count >= some;
}

/* ---- moving ----
 *
 * A page is returned to the system only when it is empty. After nine of ten random objects have
 * been removed, few pages are. */

/* A reader keeps the old document until it releases it. */
static void move_document(struct pl_store *store, struct pl_pool *pool, struct pl_entry *entry)
{
    struct pl_doc *old = entry->doc, *copy = pl_pool_compact(pool, old);
    if (copy == NULL)
        return;
    pthread_rwlock_wrlock(&store->lock);
    entry->doc = copy;
    pthread_rwlock_unlock(&store->lock);
    pl_doc_unref(old);
}

static void move_entry(struct pl_store *store, struct pl_entry *entry)
{
    struct pl_entry *copy = pl_entry_move(&store->memory, entry);
    if (copy == NULL)
        return;
    pthread_rwlock_wrlock(&store->lock);
    pl_keyset_exchange(&store->live.entries, &entry->node, &copy->node);
    for (uint32_t i = 0; i < copy->posting_count; i++) {
        struct pl_bucket *bucket = pl_entry_postings(copy)[i];
        pl_buckets_exchange(&store->live.buckets[bucket->slot], bucket, entry, copy);
    }
    pthread_rwlock_unlock(&store->lock);
    pl_entry_discard(&store->memory, entry);
}

bool pl_store_compact(struct pl_store *store, struct pl_pool *pool, size_t *at, size_t some)
{
    struct pl_entry *entry = NULL;
    pl_pool_enter(pool); /* one turn for all of them */
    while (*at != SIZE_MAX && some-- > 0) {
        entry = pl_content_next(&store->live, at);
        if (entry == NULL)
            break;
        move_document(store, pool, entry);
        move_entry(store, entry);
    }
    pl_pool_leave(pool);
    bool is_over = entry == NULL;
    if (is_over && *at != SIZE_MAX) {
        pl_slab_sweep(&store->memory);
        *at = SIZE_MAX;
    }
    pl_slab_release(&store->memory);
    return !is_over || pl_slab_is_releasing(&store->memory);
}
