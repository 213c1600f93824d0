/* Events of one informer between its store and its followers: first the script's indexes are
 * asked for, then every follower hears of it, in order. While somebody is full, later
 * events of a key are folded into its earlier ones, so that it never holds more than a few
 * events a key (F7). I/O thread. */
#pragma once

#include "base/heap.h"
#include "base/map.h"
#include "sync/script_index.h"
#include "store/store.h"

struct pl_backlog;

/* Who hears of events. Embedded in its owner. */
struct pl_follower {
    struct pl_link link;
    /* The store has it, and so have the indexes. Documents are borrowed. */
    void (*on_event)(struct pl_follower *follower, const struct pl_event *event);
    /* True: the next event has to wait, until pl_backlog_flush. NULL: never. */
    bool (*is_full)(struct pl_follower *follower);
    /* It has heard of all that was there before it. NULL: it does not mind. */
    void (*caught_up)(struct pl_follower *follower);
    /* Private: what was there before the follower, piece by piece. */
    bool behind;
    struct pl_store_walk walk;
    struct pl_docs piece;
};

struct pl_backlog_options {
    struct pl_store *store;     /* borrowed for life */
    const char *kind;           /* borrowed for life; of questions */
    void (*changed)(void *arg); /* `unindexed` may have become 0 */
    /* More can be delivered: pl_backlog_flush is wanted when others have had their turn. */
    void (*more)(void *arg);
    void *arg;
};

struct pl_backlog *pl_backlog_create(const struct pl_backlog_options *options);
/* Nothing may be outstanding. What waits is dropped. */
void pl_backlog_destroy(struct pl_backlog *backlog);

/* The documents are borrowed; references are taken. */
void pl_backlog_push(struct pl_backlog *backlog, struct pl_slice key, const struct pl_event *event);
/* Delivers what can be delivered, up to a few dozen events. */
void pl_backlog_flush(struct pl_backlog *backlog);

/* From now on; objects that are in the store already come as CREATE of a first list (rule 40). */
void pl_backlog_follow(struct pl_backlog *backlog, struct pl_follower *follower);
/* Another one goes on in its place: what it has not heard yet, the other hears. */
void pl_backlog_hand_over(struct pl_follower *from, struct pl_follower *to);
/* It has not heard of all that was there before it. */
static inline bool pl_follower_is_behind(const struct pl_follower *follower)
{
    return follower->behind;
}
/* Harmless for one that does not listen. */
void pl_backlog_unfollow(struct pl_follower *follower);

/* An index whose values `ask` knows, see script_index.h. From now on events wait for them; what is
 * in the store is asked about on the side. */
PL_MUST_USE int pl_backlog_add_index(struct pl_backlog *backlog, const char *stored,
                                     const char *name, pl_ask_fn ask, void *self,
                                     struct pl_err *err);
void pl_backlog_drop_index(struct pl_backlog *backlog, const char *stored, void *self);
/* The cache has come to its end: nothing is built any more. */
void pl_backlog_stop(struct pl_backlog *backlog);

size_t pl_backlog_unindexed(const struct pl_backlog *backlog);   /* initial events unanswered */
size_t pl_backlog_outstanding(const struct pl_backlog *backlog); /* questions */
