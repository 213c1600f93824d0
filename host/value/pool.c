#include "value/pool.h"
#include "value/pool_node.h"

#include "base/alloc.h"
#include "base/check.h"

#include <pthread.h>

struct pl_pool {
    pthread_t owner;
    struct pl_pool_stats stats;
};

struct pl_pool *pl_pool_create(void)
{
    struct pl_pool *pool = PL_NEW(struct pl_pool);
    pl_pool_adopt(pool);
    return pool;
}

void pl_pool_destroy(struct pl_pool *pool)
{
    if (pool == NULL)
        return;
    PL_REQUIRE(pool->stats.documents == 0);
    pl_free(pool);
}

void pl_pool_adopt(struct pl_pool *pool)
{
    pool->owner = pthread_self();
}

void pl_pool_collect(struct pl_pool *pool)
{
    PL_REQUIRE(pthread_equal(pool->owner, pthread_self()));
}

void pl_pool_stats(const struct pl_pool *pool, struct pl_pool_stats *stats)
{
    *stats = pool->stats;
}

void pl_pool_drop(struct pl_doc *doc)
{
    pl_free(doc);
}
