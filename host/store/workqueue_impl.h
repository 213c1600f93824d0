/* The internals of the workqueue, only for workqueue.c and workqueue_look.c. */
#pragma once

#include "base/heap.h"
#include "base/keyset.h"
#include "base/list.h"
#include "store/workqueue.h"

/* One key, from its first add until it is neither queued nor being processed. */
struct pl_queue_entry {
    struct pl_keyed node;
    bool ready; /* is to be taken; counted in its level, also while it is being processed */
    bool processing;
    bool claimed; /* claimed but not begun: both ready and processing, and parked */
    bool again;   /* added again since the claim */
    bool small;   /* has SPARE_ROOM for its key */
    int priority;
    struct pl_queue_level *level; /* while ready; borrowed from the queue */
    struct pl_link link;          /* in its level while ready, but see `park` */
    struct pl_link running;       /* in the queue's list while processing */
    struct pl_heap_node waiting;  /* while delayed */
    uint64_t turn;                /* its place among its equals (rule 100) */
    int64_t due_ns;               /* while delayed */
    int64_t ready_ns;             /* when it became ready */
    int64_t started_ns;           /* while processing */
    char key[];
};

/* The ready keys of one priority in the order of their turns. */
struct pl_queue_level {
    int priority;
    size_t count; /* ready keys of this level, linked or parked */
    struct pl_list keys;
};

struct pl_workqueue {
    struct pl_workqueue_options options;
    struct pl_workqueue_observer observer;
    struct pl_keyset entries;
    struct pl_heap waiting;
    struct pl_list running;         /* in the order of taking */
    struct pl_queue_level **levels; /* owned, highest priority first */
    size_t level_count;
    size_t ready_count, processing_count;
    uint64_t next_turn;
    int64_t started_sum; /* modulo 2^64: sum of started_ns over the keys being processed */
    uint64_t adds, retries;
    bool shutting_down;
    struct pl_list spares; /* idle entries with SPARE_ROOM, so that most adds allocate nothing */
    size_t spare_count;
};

static inline struct pl_queue_entry *pl_queue_entry_of(struct pl_keyed *node)
{
    return PL_CONTAINER_OF(node, struct pl_queue_entry, node);
}

static inline struct pl_queue_entry *pl_queue_entry_waiting(const struct pl_heap_node *node)
{
    return PL_CONTAINER_OF(node, struct pl_queue_entry, waiting);
}

static inline struct pl_queue_entry *pl_queue_entry_find(const struct pl_workqueue *q,
                                                         struct pl_slice key)
{
    struct pl_keyed *node = pl_keyset_find(&q->entries, key, pl_keyset_hash(key));
    return node != NULL ? pl_queue_entry_of(node) : NULL;
}
