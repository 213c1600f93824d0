/* The inside of a feed, shared by feed.c and feed_sink.c, and by nobody else. I/O thread. */
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
    struct pl_listener listener; /* its only one: the informer tells the rest */
    struct pl_buf rv;
    uint32_t mark; /* of the list that comes, or came last; */
    bool fresh;    /* there was nothing before it */
    bool listed;
    bool draining;
    struct pl_feed_part *part; /* owned; NULL: everything is kept */
    struct pl_timer purging;   /* what was lost goes, when all have heard of it */
    struct pl_timer whole;     /* what is held has been listed: it is told */
    bool may_start, started;   /* the reflector; it is at work */
};

/* ---- feed_sink.c ---- */

/* What the reflector calls; arg: the feed. */
extern const struct pl_reflector_sink pl_feed_sink;
/* Works the queue off, and tells the informer's followers what there is time for. */
void pl_feed_drain(struct pl_feed *feed);
/* What was listed beside the watch. arg: the feed. */
void pl_feed_take_topped(void *arg, const struct pl_docs *items);
