/* One reflector with its DeltaFIFO, which together feed an informer's store: one for all
 * namespaces, or one for each that was declared. What is older than the store, or than what we
 * have written ourselves, ends here. I/O thread. */
#pragma once

#include "sync/informer.h"
#include "sync/reflector.h"
#include "store/deltafifo.h"

struct pl_feed;

/* ns NULL: all. The informer starts with it. */
struct pl_feed *pl_feed_create(struct pl_informer *informer, const char *ns);
void pl_feed_start(struct pl_feed *feed);
/* Later, once: pl_informer_feed_ended; the feed is gone then. */
void pl_feed_stop(struct pl_feed *feed);

const char *pl_feed_ns(const struct pl_feed *feed);
/* Its name in logs and waits: the informer's, with the namespace where that says too little. */
const char *pl_feed_owner(const struct pl_feed *feed);
bool pl_feed_has_listed(const struct pl_feed *feed);
/* It keeps a part, and nothing of it is ours yet: there is nothing to list. */
bool pl_feed_is_idle(const struct pl_feed *feed);
const struct pl_trouble *pl_feed_trouble(const struct pl_feed *feed);
/* The version its part of the store reflects; empty before the first list. */
struct pl_slice pl_feed_rv(const struct pl_feed *feed);

/* Stores without asking whether it is news: a write's answer, a live read. */
void pl_feed_put(struct pl_feed *feed, struct pl_doc *object);
void pl_feed_remove(struct pl_feed *feed, struct pl_slice key, struct pl_doc *object, bool stale);

/* ---- shards (sync/share.h) ---- */

/* Some have come or gone: what came is listed, what went is dropped. */
void pl_feed_shards_changed(struct pl_feed *feed);
/* What it keeps of that shard is stored. */
bool pl_feed_has_shard(const struct pl_feed *feed, unsigned shard);
bool pl_feed_keeps(const struct pl_feed *feed, struct pl_node object);
