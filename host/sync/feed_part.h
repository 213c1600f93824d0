/* State of a feed that keeps only a part (sync/share.h): the shards that it keeps, those that have
 * been listed, and the list beside the watch that brings the others. It follows no shards by
 * itself: the feed reports changes. I/O thread. */
#pragma once

#include "sync/reflector.h"
#include "sync/share.h"
#include "sync/side_list.h"

struct pl_feed_part;

struct pl_feed_part_ops {
    /* The objects that were listed beside the watch. Borrowed. */
    void (*take)(void *arg, const struct pl_docs *items);
    /* All held shards have been listed now. */
    void (*whole)(void *arg);
    /* The version that the watch has reached. Borrowed for the call. */
    struct pl_slice (*reached)(void *arg);
    /* The server refused a shardSelector. */
    void (*no_shards)(void *arg, const struct pl_err *err);
};

struct pl_feed_part_options {
    struct pl_shards *shards; /* borrowed for life */
    enum pl_share_by by;
    bool (*asks)(void *arg);               /* whether the server can filter by uid */
    struct pl_side_list_options side_list; /* except its ops, arg and shards; borrowed as there */
    const struct pl_feed_part_ops *ops;
    void *arg;
};

/* The caller owns the part. The options are copied. */
struct pl_feed_part *pl_feed_part_create(const struct pl_feed_part_options *options);
void pl_feed_part_destroy(struct pl_feed_part *part); /* accepts NULL */

/* ---- for the reflector's sink ---- */

void pl_feed_part_begin(struct pl_feed_part *part, struct pl_buf *shards);
void pl_feed_part_watch(struct pl_feed_part *part, struct pl_buf *shards);
bool pl_feed_part_keeps(const struct pl_feed_part *part, struct pl_node object, bool listed);
/* The last list is stored. */
void pl_feed_part_listed(struct pl_feed_part *part);
/* An object was deleted: an older state that was listed beside the watch must not bring it back. */
void pl_feed_part_gone(struct pl_feed_part *part, struct pl_node object);
/* True for an object of the list beside the watch that was deleted meanwhile. */
bool pl_feed_part_is_gone(const struct pl_feed_part *part, struct pl_node object);

/* ---- for the feed ---- */

enum pl_share_by pl_feed_part_by(const struct pl_feed_part *part);
/* No shard is held: there is nothing to list or to watch. */
bool pl_feed_part_is_empty(const struct pl_feed_part *part);
/* Shards have come or gone. True: some have gone, and their objects must be removed. Tells the
 * reflector if it has to watch other shards. */
bool pl_feed_part_changed(struct pl_feed_part *part, struct pl_reflector *reflector);
/* True when the shard's objects are stored. */
bool pl_feed_part_has(const struct pl_feed_part *part, unsigned shard);
