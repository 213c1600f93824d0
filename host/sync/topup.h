/* A list beside a watch that goes on: what has come to be ours is listed, and what was ours before
 * is not asked for again, where the server can tell them apart. It tries until it is whole or
 * dropped. I/O thread. */
#pragma once

#include "base/backoff.h"
#include "sync/listing.h"

struct pl_topup;

struct pl_topup_ops {
    /* Takes the reference of what was listed; gives it back, or NULL: not wanted. */
    struct pl_doc *(*each)(void *arg, struct pl_doc *object);
    /* Borrowed. */
    void (*page)(void *arg, const struct pl_docs *items);
    /* It is whole; the topup is gone when this returns. */
    void (*done)(void *arg);
    /* Which version, at least: the watch's. Borrowed until the call that asks returns. */
    struct pl_slice (*at_least)(void *arg);
};

struct pl_topup_options {
    struct pl_listing listing; /* borrowed, as is all else */
    struct pl_slice shards;    /* copied; empty: the server filters nothing */
    const struct pl_topup_ops *ops;
    void *arg;
};

/* Starts at once; nothing is called from inside. */
struct pl_topup *pl_topup_start(const struct pl_topup_options *options);
/* Nothing is called any more. Accepts NULL. */
void pl_topup_drop(struct pl_topup *topup);
