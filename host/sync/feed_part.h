/* Of a feed that keeps a part alone (sync/share.h): which shards it keeps, which of them have been
 * listed, and the list beside the watch that brings the others. It follows nobody: the feed tells
 * it of changes. I/O thread. */
#pragma once

#include "sync/reflector.h"
#include "sync/share.h"
#include "sync/topup.h"

struct pl_feed_part;

struct pl_feed_part_ops {
    /* What was listed beside the watch. Borrowed. */
    void (*take)(void *arg, const struct pl_docs *items);
    /* Each shard that is held has been listed now. */
    void (*whole)(void *arg);
    /* The version that the watch has reached. Borrowed for the call. */
    struct pl_slice (*reached)(void *arg);
};

struct pl_feed_part_options {
    struct pl_shards *shards; /* borrowed for life */
    enum pl_share_by by;
    bool (*asks)(void *arg);       /* does the server filter by uid? */
    struct pl_topup_options topup; /* but for its ops, arg and shards; borrowed as there */
    const struct pl_feed_part_ops *ops;
    void *arg;
};

struct pl_feed_part *pl_feed_part_create(const struct pl_feed_part_options *options);
void pl_feed_part_destroy(struct pl_feed_part *part); /* accepts NULL */

/* ---- for the reflector's sink ---- */

void pl_feed_part_begin(struct pl_feed_part *part, struct pl_buf *shards);
void pl_feed_part_watch(struct pl_feed_part *part, struct pl_buf *shards);
bool pl_feed_part_keeps(const struct pl_feed_part *part, struct pl_node object, bool listed);
/* The list that began last is stored. */
void pl_feed_part_listed(struct pl_feed_part *part);
/* An object went: what was listed beside the watch, and is older, is not to come back. */
void pl_feed_part_gone(struct pl_feed_part *part, struct pl_node object);
/* Of what was listed beside the watch: it went meanwhile. */
bool pl_feed_part_is_gone(const struct pl_feed_part *part, struct pl_node object);

/* ---- for the feed ---- */

enum pl_share_by pl_feed_part_by(const struct pl_feed_part *part);
/* Nothing is held: there is nothing to list or to watch. */
bool pl_feed_part_is_empty(const struct pl_feed_part *part);
/* Shards have come or gone. True: some have gone, and what is not kept is to go. The reflector is
 * told where it has to watch others. */
bool pl_feed_part_changed(struct pl_feed_part *part, struct pl_reflector *reflector);
/* Its objects are stored. */
bool pl_feed_part_has(const struct pl_feed_part *part, unsigned shard);
