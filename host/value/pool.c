/* The pool's life, its turns and its documents. Nodes, which are the shared values, are in
 * pool_node.c.
 *
 * Only the thread that has the turn may add or free. A thread that waits for the turn holds `next`,
 * so that it gets the turn before threads that come later. All other threads read nodes without a
 * lock and must hold a reference to a document that uses them.
 *
 * Dropping a document's last reference is allowed on any thread and never waits: without the turn
 * the document goes on a list, and the next turn frees it. Each call returns a bounded amount of
 * memory to the system. */
#include "value/pool.h"
#include "value/pool_node.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/hash.h"

enum {
    TIDY_SLOTS = 2048, /* slots of the hash table for one pl_pool_collect */
};

/* A handle has 31 bits and counts 16 bytes. */
#define NODE_SPACE     ((size_t)32 << 30)
#define DOCUMENT_SPACE ((size_t)64 << 30)

/* ---- turns ---- */

static void free_doc(struct pl_pool *pool, struct pl_doc *doc)
{
    pl_pool_unref_values(pool, doc->tape, doc->tape + doc->length);
    pool->documents--;
    pool->document_bytes -= sizeof(*doc) + doc->length;
    pl_slab_give(&pool->docs, doc, sizeof(*doc) + doc->length);
}

static void free_dropped(struct pl_pool *pool)
{
    struct pl_doc *doc = NULL;
    if (atomic_load_explicit(&pool->dropped, memory_order_relaxed) != NULL)
        doc = atomic_exchange_explicit(&pool->dropped, NULL, memory_order_acquire);
    while (doc != NULL) {
        struct pl_doc *next = doc->dropped;
        doc->base = pool->nodes.base;
        free_doc(pool, doc);
        doc = next;
    }
}

static bool is_our_turn(const struct pl_pool *pool)
{
    pthread_t thread = atomic_load_explicit(&pool->turn.thread, memory_order_relaxed);
    return pthread_equal(thread, pthread_self());
}

static void begin_turn(struct pl_pool *pool)
{
    atomic_store_explicit(&pool->turn.thread, pthread_self(), memory_order_relaxed);
    free_dropped(pool);
}

void pl_pool_enter(struct pl_pool *pool)
{
    if (pool == NULL)
        return;
    if (!is_our_turn(pool)) {
        pthread_mutex_lock(&pool->turn.next);
        pthread_mutex_lock(&pool->turn.lock);
        pthread_mutex_unlock(&pool->turn.next);
        begin_turn(pool);
    }
    pool->turn.depth++;
}

static bool try_enter(struct pl_pool *pool)
{
    if (!is_our_turn(pool)) {
        if (pthread_mutex_trylock(&pool->turn.lock) != 0)
            return false;
        begin_turn(pool);
    }
    pool->turn.depth++;
    return true;
}

void pl_pool_leave(struct pl_pool *pool)
{
    if (pool == NULL)
        return;
    PL_REQUIRE(is_our_turn(pool));
    if (--pool->turn.depth > 0)
        return;
    atomic_store_explicit(&pool->turn.thread, 0, memory_order_relaxed);
    pthread_mutex_unlock(&pool->turn.lock);
}

/* ---- life ---- */

struct pl_pool *pl_pool_create(void)
{
    struct pl_pool *pool = PL_NEW(struct pl_pool);
    PL_REQUIRE(pthread_mutex_init(&pool->turn.lock, NULL) == 0);
    PL_REQUIRE(pthread_mutex_init(&pool->turn.next, NULL) == 0);
    pl_slab_init(&pool->nodes, NODE_SPACE);
    pl_slab_init(&pool->docs, DOCUMENT_SPACE);
    pl_table_init(&pool->table);
    pl_filter_init(&pool->filter);
    pool->seed = pl_hash_seed();
    /* The first granule leads from a document's base to its pool. It also keeps 0 from being a
     * handle. */
    struct pl_pool **first = pl_slab_alloc(&pool->nodes, sizeof(*first));
    PL_REQUIRE((uint8_t *)first == pool->nodes.base);
    *first = pool;
    return pool;
}

void pl_pool_destroy(struct pl_pool *pool)
{
    if (pool == NULL)
        return;
    pl_pool_collect(pool);
    PL_REQUIRE(pool->documents == 0 && pool->table.count == 0);
    pl_slab_deinit(&pool->nodes);
    pl_slab_deinit(&pool->docs);
    pl_table_deinit(&pool->table);
    pl_filter_deinit(&pool->filter);
    pl_buf_deinit(&pool->dead);
    pthread_mutex_destroy(&pool->turn.lock);
    pthread_mutex_destroy(&pool->turn.next);
    pl_free(pool);
}

/* ---- documents ---- */

static struct pl_doc *alloc_doc(struct pl_pool *pool, size_t len)
{
    struct pl_doc *doc = pl_slab_take(&pool->docs, sizeof(*doc) + len);
    tape_init_doc(doc, pool->nodes.base, len);
    pool->documents++;
    pool->document_bytes += sizeof(*doc) + len;
    return doc;
}

struct pl_doc *pl_pool_make_doc(struct pl_pool *pool, const uint8_t *tape, size_t len)
{
    PL_REQUIRE(is_our_turn(pool));
    struct pl_doc *doc = alloc_doc(pool, len);
    memcpy(doc->tape, tape, len);
    pl_pool_ref_values(pool, doc->tape, doc->tape + len, NULL);
    pl_filter_fit(&pool->filter, pool->documents);
    return doc;
}

void pl_pool_drop(struct pl_doc *doc)
{
    struct pl_pool *pool;
    memcpy(&pool, doc->base, sizeof(pool));
    if (is_our_turn(pool)) {
        free_doc(pool, doc);
        return;
    }
    struct pl_doc *head = atomic_load_explicit(&pool->dropped, memory_order_relaxed);
    do
        doc->dropped = head;
    while (!atomic_compare_exchange_weak_explicit(&pool->dropped, &head, doc, memory_order_release,
                                                  memory_order_relaxed));
}

uint32_t pl_pool_new_owner(struct pl_pool *pool)
{
    return 1 + pool->next_owner++ % FILTER_OWNERS;
}

struct pl_doc *pl_pool_compact(struct pl_pool *pool, const struct pl_doc *doc)
{
    struct pl_doc *copy = NULL;
    size_t size = sizeof(*doc) + doc->length;
    if (pool == NULL)
        return NULL;
    pl_pool_enter(pool);
    if (doc->base == pool->nodes.base && slab_holds(&pool->docs, doc) &&
        pl_slab_drain(&pool->docs, doc, size))
        copy = pl_pool_make_doc(pool, doc->tape, doc->length);
    pl_pool_leave(pool);
    return copy;
}

bool pl_pool_collect(struct pl_pool *pool)
{
    if (pool == NULL || !try_enter(pool))
        return false;
    pl_slab_release(&pool->docs);
    pl_slab_release(&pool->nodes);
    pl_table_tidy(&pool->table, TIDY_SLOTS);
    pl_filter_fit(&pool->filter, pool->documents);
    bool is_releasing = pl_slab_is_releasing(&pool->docs) || pl_slab_is_releasing(&pool->nodes);
    pl_pool_leave(pool);
    return is_releasing;
}

void pl_pool_rest(struct pl_pool *pool)
{
    pl_pool_enter(pool);
    pl_slab_rest(&pool->docs);
    pl_slab_rest(&pool->nodes);
    pl_pool_leave(pool);
}

void pl_pool_stats(struct pl_pool *pool, struct pl_pool_stats *stats)
{
    pl_pool_enter(pool);
    *stats = (struct pl_pool_stats){
        .documents = pool->documents,
        .document_bytes = pool->document_bytes,
        .nodes = pool->table.count,
        .node_bytes = pool->nodes.live_bytes - POOL_GRANULE,
        .table_bytes = table_bytes(&pool->table) + filter_bytes(&pool->filter),
    };
    pl_pool_leave(pool);
}
