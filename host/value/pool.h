/* The pool of strings and subtrees that several documents share.
 *
 * Owned by one thread, which alone adds and frees; other threads read nodes
 * through documents they hold a reference to, without a lock: nodes never move
 * and are published before the document that uses them.
 *
 * A value enters the pool when a second object shows it; objects are told apart by
 * metadata.uid, so updates of one object do not count. Scans and builders that use
 * the pool must be gone before it.
 *
 * Memory: pages of 4 KiB in which nothing is left go back to the system, soon after
 * a mass deletion (pl_pool_collect). Documents do not move either, so deleting a random
 * nine of ten leaves most pages with something on them; whoever holds the only
 * lasting reference can move such documents with pl_pool_compact. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pl_doc;
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
 * loop calls it each turn. True when it has not given back everything yet: call again. */
bool pl_pool_collect(struct pl_pool *pool);
/* Owner: there is time now, so what was freed is worth giving back even if it is little beside what
 * is kept. The next calls of pl_pool_collect do it. */
void pl_pool_rest(struct pl_pool *pool);
/* Owner. NULL when the document lies well; after mass deletion, for one that keeps a
 * nearly empty stretch of memory alive, a dense copy of it with a reference of its own:
 * the same values at the same shared positions. The caller puts it in the old
 * document's place and drops its reference to that; the memory is freed when the
 * last reader is done with it. */
struct pl_doc *pl_pool_compact(struct pl_pool *pool, const struct pl_doc *doc);
void pl_pool_stats(const struct pl_pool *pool, struct pl_pool_stats *stats);
