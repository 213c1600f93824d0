/* The internals of a feed, only for feed.c and feed_sink.c. I/O thread. */
#pragma once

#include "sync/distributor.h"
#include "sync/feed.h"
#include "sync/feed_part.h"
#include "sync/informer_impl.h"

struct pl_feed {
    struct pl_informer *informer; /* back-pointer */
    char *ns;                     /* owned; NULL: all */
    char *owner;                  /* owned; its name in logs and waits */
    struct pl_reflector *reflector;
    struct pl_deltafifo *fifo;
    struct pl_distributor *distributor;
    struct pl_listener listener; /* its only listener: the informer tells the others */
    struct pl_buf rv;
    uint32_t mark; /* of the list that is arriving, or that arrived last */
    bool fresh;    /* the store was empty before that list */
    bool listed;
    bool draining;
    struct pl_feed_part *part; /* owned; NULL: all objects are kept */
    struct pl_timer purging; /* removes objects of lost shards when all followers have been told */
    struct pl_timer whole;   /* reports that all held shards are listed */
    bool may_start, started; /* the reflector may start; it has started */
};

/* ---- feed_sink.c ---- */

/* The reflector's callbacks; arg: the feed. */
extern const struct pl_reflector_sink pl_feed_sink;
/* Processes the queue, and delivers events to the informer's followers as far as time allows. */
void pl_feed_drain(struct pl_feed *feed);
/* Takes the objects that were listed beside the watch. arg: the feed. */
void pl_feed_take_side_list(void *arg, const struct pl_docs *items);
/* The server refused a shardSelector: it does not get one again. arg: the feed. */
void pl_feed_no_shards(void *arg, const struct pl_err *err);
