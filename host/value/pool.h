/* The pool of strings and subtrees that several documents share.
 *
 * Threads add and free in turns; all others read nodes through documents they hold a
 * reference to, without a lock: nodes never move and are published before the document
 * that uses them. A turn lasts as long as a piece of text is scanned or a document built;
 * what scans or builds takes it by itself.
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
    size_t documents;      /* alive */
    size_t document_bytes; /* their own tapes */
    size_t nodes;          /* shared values */
    size_t node_bytes;
    size_t table_bytes; /* hash table and second-sight filter */
};

struct pl_pool *pl_pool_create(void);
/* Every document must be gone. Accepts NULL. */
void pl_pool_destroy(struct pl_pool *pool);
/* Waits until no other thread has its turn; then this one has it, until it has called _leave as
 * often as _enter. Who waits comes next, however soon the other one wants it again. Not with a lock
 * held: a turn calls back whom its documents are for. NULL: nothing. */
void pl_pool_enter(struct pl_pool *pool);
void pl_pool_leave(struct pl_pool *pool);
/* Gives memory back after mass deletion, and frees documents whose last reference was dropped
 * outside of a turn, which any next turn begins with; does nothing while another thread has its
 * turn. Cheap when there is nothing to do; the loop calls it each time round. True when it has not
 * given back everything yet: call again. */
bool pl_pool_collect(struct pl_pool *pool);
/* There is time now, so what was freed is worth giving back even if it is little beside what
 * is kept. The next calls of pl_pool_collect do it. */
void pl_pool_rest(struct pl_pool *pool);
/* NULL when the document lies well; after mass deletion, for one that keeps a
 * nearly empty stretch of memory alive, a dense copy of it with a reference of its own:
 * the same values at the same shared positions. The caller puts it in the old
 * document's place and drops its reference to that; the memory is freed when the
 * last reader is done with it. */
struct pl_doc *pl_pool_compact(struct pl_pool *pool, const struct pl_doc *doc);
void pl_pool_stats(struct pl_pool *pool, struct pl_pool_stats *stats);
