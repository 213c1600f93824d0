/* The pool of strings and subtrees that several documents share.
 *
 * Threads add and free in turns: only one thread has the turn. All other threads read nodes without
 * a lock, through documents to which they hold a reference. Nodes never move, and they are
 * published before the document that uses them. Scans and builders take the turn by themselves, for
 * one piece of text or one document.
 *
 * A value enters the pool when a second object has it. Objects are distinguished by metadata.uid,
 * so updates of one object do not count. Scans and builders that use the pool must be destroyed
 * before it.
 *
 * Memory: pages of 4 KiB without nodes go back to the system, soon after a mass deletion
 * (pl_pool_collect). Documents do not move either, so deleting a random nine of ten leaves a
 * document on most pages. The holder of the only lasting reference can move such documents with
 * pl_pool_compact. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pl_doc;
struct pl_pool;

struct pl_pool_stats {
    size_t documents;      /* alive */
    size_t document_bytes; /* their tapes */
    size_t nodes;          /* shared values */
    size_t node_bytes;
    size_t table_bytes; /* hash table and second-sight filter */
};

/* The caller owns the pool and destroys it after every scan and builder that uses it. */
struct pl_pool *pl_pool_create(void);
/* All documents must be freed before. Accepts NULL. */
void pl_pool_destroy(struct pl_pool *pool);
/* Waits until no other thread has the turn, then takes it. It ends when _leave was called as often
 * as _enter. A waiting thread gets the next turn, even if the previous thread wants it again at
 * once. Do not call it with a lock held: documents are delivered to callbacks during a turn. NULL:
 * does nothing. */
void pl_pool_enter(struct pl_pool *pool);
void pl_pool_leave(struct pl_pool *pool);
/* Returns memory to the system after mass deletion, and frees documents whose last reference was
 * dropped outside of a turn (every turn begins with that, too). Does nothing while another thread
 * has the turn. It is cheap when there is nothing to do; the event loop calls it in each iteration.
 * True when there is more to return: call it again. NULL: does nothing. */
bool pl_pool_collect(struct pl_pool *pool);
/* The process is idle, so the next calls of pl_pool_collect return freed memory even if it is
 * little in comparison with the memory in use. */
void pl_pool_rest(struct pl_pool *pool);
/* After mass deletion, for a document that keeps a nearly empty range of memory alive: returns a
 * dense copy with a new reference, with the same values at the same shared positions. The caller
 * replaces the old document by it and drops its reference to the old one; the memory is freed when
 * the last reader has released it. NULL when the document need not move, or without a pool. */
struct pl_doc *pl_pool_compact(struct pl_pool *pool, const struct pl_doc *doc);
void pl_pool_stats(struct pl_pool *pool, struct pl_pool_stats *stats);
