/* One reflector with its DeltaFIFO, which feed an informer's store: one for all namespaces, or one
 * for each declared namespace. Objects that are older than the store, or than our own writes, are
 * dropped here. I/O thread. */
#pragma once

#include "sync/informer.h"
#include "sync/reflector.h"
#include "store/deltafifo.h"

struct pl_feed;

/* ns NULL: all. Starts together with the informer, which owns it until pl_feed_stop. */
struct pl_feed *pl_feed_create(struct pl_informer *informer, const char *ns);
void pl_feed_start(struct pl_feed *feed);
/* Calls pl_informer_feed_ended once, later; the feed is freed then. */
void pl_feed_stop(struct pl_feed *feed);

/* NULL: all namespaces. Lives as long as the feed. */
const char *pl_feed_ns(const struct pl_feed *feed);
/* Its name in logs and waits: the informer's, with the namespace if needed. Lives as long as the
 * feed. */
const char *pl_feed_owner(const struct pl_feed *feed);
bool pl_feed_has_listed(const struct pl_feed *feed);
/* True when it keeps a part and no shard of it is ours yet: there is nothing to list. */
bool pl_feed_is_idle(const struct pl_feed *feed);
/* The last failure if it has not been overcome, else NULL. Part of the feed; borrowed for the
 * moment. */
const struct pl_trouble *pl_feed_trouble(const struct pl_feed *feed);
/* The version of its part of the store; empty before the first list. */
struct pl_slice pl_feed_rv(const struct pl_feed *feed);

/* Stores without checking whether it is news: a write's answer, a live read. */
void pl_feed_put(struct pl_feed *feed, struct pl_doc *object);
void pl_feed_remove(struct pl_feed *feed, struct pl_slice key, struct pl_doc *object, bool stale);

/* ---- shards (sync/share.h) ---- */

/* Shards have come or gone: lists the objects of new ones, drops those of old ones. */
void pl_feed_shards_changed(struct pl_feed *feed);
/* True when the shard's objects are stored. */
bool pl_feed_has_shard(const struct pl_feed *feed, unsigned shard);
bool pl_feed_keeps(const struct pl_feed *feed, struct pl_node object);
