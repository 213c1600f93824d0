/* Going through all of it in pieces: to read it, and to move what many removals have left
 * scattered. */
#include "store/impl.h"
#include "value/pool.h"

static void take_node(const struct pl_keyed *node, struct pl_docs *out)
{
    if (node != NULL)
        pl_docs_add(out, pl_doc_ref(PL_CONTAINER_OF(node, const struct pl_entry, node)->doc));
}

/* From an empty place backwards, round to it again: a removal moves nodes towards lower places, and
 * none over a place that was empty when it came. */
static void begin_walk(const struct pl_store *store, struct pl_store_walk *walk)
{
    const struct pl_keyset *entries = &store->live.entries;
    *walk = (struct pl_store_walk){
        .left = entries->cap, .cap = entries->cap, .replaced = store->replaced, .begun = true};
    while (walk->at < entries->cap && entries->nodes[walk->at] != NULL)
        walk->at++;
}

bool pl_store_walk(struct pl_store *store, struct pl_store_walk *walk, size_t some,
                   struct pl_docs *out)
{
    const struct pl_keyset *entries = &store->live.entries;
    if (!walk->begun || walk->cap != entries->cap || walk->replaced != store->replaced)
        begin_walk(store, walk);
    while (walk->left > 0 && out->count < some) {
        walk->at = (walk->at - 1) & (walk->cap - 1);
        walk->left--;
        take_node(entries->nodes[walk->at], out);
    }
    return walk->left > 0;
}

/* ---- moving ----
 *
 * Pages are given back only when nothing lies in them, which after a random nine of ten have been
 * removed is true of few. */

/* A reader has the old document until it is done with it. */
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

static void move_entry(struct pl_store *store, struct pl_keyed **place, struct pl_entry *entry)
{
    struct pl_entry *copy = pl_entry_move(&store->memory, entry);
    if (copy == NULL)
        return;
    pthread_rwlock_wrlock(&store->lock);
    *place = &copy->node;
    for (uint32_t i = 0; i < copy->posting_count; i++)
        pl_buckets_exchange(pl_entry_postings(copy)[i], entry, copy);
    pthread_rwlock_unlock(&store->lock);
    pl_entry_discard(&store->memory, entry);
}

bool pl_store_compact(struct pl_store *store, struct pl_pool *pool, size_t *at, size_t some)
{
    struct pl_keyset *entries = &store->live.entries;
    for (; some > 0 && *at < entries->cap; some--, ++*at) {
        struct pl_keyed **place = &entries->nodes[*at];
        if (*place == NULL)
            continue;
        struct pl_entry *entry = PL_CONTAINER_OF(*place, struct pl_entry, node);
        move_document(store, pool, entry);
        move_entry(store, place, entry);
    }
    bool is_over = *at >= entries->cap;
    if (is_over && *at != SIZE_MAX) {
        pl_slab_sweep(&store->memory);
        *at = SIZE_MAX;
    }
    pl_slab_release(&store->memory);
    return !is_over || pl_slab_is_releasing(&store->memory);
}
