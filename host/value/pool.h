/* The pool of strings and subtrees that several documents share.
 *
 * Owned by one thread, which alone adds and frees; other threads read nodes
 * through documents they hold a reference to, without a lock: nodes never move
 * and are published before the document that uses them. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct pl_pool;

struct pl_pool_stats {
    size_t documents;      /* alive, including those waiting for pl_pool_collect */
    size_t document_bytes; /* their own tapes */
    size_t nodes;          /* shared values */
    size_t node_bytes;
    size_t table_bytes; /* hash table and second-sight filter */
};

/* The calling thread becomes its owner. */
struct pl_pool *pl_pool_create(void);
/* Every document must be gone. Accepts NULL. */
void pl_pool_destroy(struct pl_pool *pool);
/* Makes the calling thread the owner: for hosts that build the pool before they start
 * the thread that will use it. No other thread may be using it. */
void pl_pool_adopt(struct pl_pool *pool);
/* Owner: frees documents whose last reference was dropped on other threads, and
 * gives memory back after mass deletion. Cheap when there is nothing to do; the
 * loop calls it each turn. */
void pl_pool_collect(struct pl_pool *pool);
void pl_pool_stats(const struct pl_pool *pool, struct pl_pool_stats *stats);
