/* Events of one informer between its store and its followers: first the script's indexes are asked
 * for, then every follower gets the event, in order. While a follower is full, later events of a
 * key are folded into its earlier ones, so that a key never has more than a few events (F7). I/O
 * thread. */
#pragma once

#include "base/heap.h"
#include "base/map.h"
#include "sync/script_index.h"
#include "store/store.h"

struct pl_backlog;

/* A receiver of events. Embedded in its owner. */
struct pl_follower {
    struct pl_link link;
    /* The event is in the store and in the indexes. Documents are borrowed. */
    void (*on_event)(struct pl_follower *follower, const struct pl_event *event);
    /* True: the next event has to wait until pl_backlog_flush. NULL: never. */
    bool (*is_full)(struct pl_follower *follower);
    /* It has received all objects that were there before it. May be NULL. */
    void (*caught_up)(struct pl_follower *follower);
    /* Private: the objects that were there before the follower, piece by piece. */
    bool behind;
    struct pl_store_walk walk;
    struct pl_docs piece;
};

struct pl_backlog_options {
    struct pl_store *store;     /* borrowed for life */
    const char *kind;           /* borrowed for life; of questions */
    void (*changed)(void *arg); /* `unindexed` may have become 0 */
    /* More events can be delivered: call pl_backlog_flush after other work has had its turn. */
    void (*more)(void *arg);
    void *arg;
};

/* The caller owns the backlog. The options are copied. */
struct pl_backlog *pl_backlog_create(const struct pl_backlog_options *options);
/* No answer may be outstanding. Waiting events are dropped. */
void pl_backlog_destroy(struct pl_backlog *backlog);

/* The documents are borrowed; references are taken. */
void pl_backlog_push(struct pl_backlog *backlog, struct pl_slice key, const struct pl_event *event);
/* Delivers up to a few dozen events, as far as followers have room. */
void pl_backlog_flush(struct pl_backlog *backlog);

/* Follows from now on; objects that are already in the store come as CREATE of a first list (rule
 * 40). */
void pl_backlog_follow(struct pl_backlog *backlog, struct pl_follower *follower);
/* Another follower replaces it: events that it has not received go to the other one. */
void pl_backlog_hand_over(struct pl_follower *from, struct pl_follower *to);
/* True while it has not received all objects that were there before it. */
static inline bool pl_follower_is_behind(const struct pl_follower *follower)
{
    return follower->behind;
}
/* Does nothing for a follower that is not registered. */
void pl_backlog_unfollow(struct pl_follower *follower);

/* Adds an index whose values come from `ask`, see script_index.h. From now on events wait for them;
 * stored objects are asked about at the same time. */
PL_MUST_USE int pl_backlog_add_index(struct pl_backlog *backlog, const char *stored,
                                     const char *name, pl_ask_fn ask, void *self,
                                     struct pl_err *err);
void pl_backlog_drop_index(struct pl_backlog *backlog, const char *stored, void *self);
/* The cache is ending: no index is built any more. */
void pl_backlog_stop(struct pl_backlog *backlog);

/* True when no script is still to be asked, or to answer, about the newest object of the key. */
bool pl_backlog_is_indexed(const struct pl_backlog *backlog, struct pl_slice key);
size_t pl_backlog_unindexed(const struct pl_backlog *backlog);   /* initial events unanswered */
size_t pl_backlog_outstanding(const struct pl_backlog *backlog); /* questions */
