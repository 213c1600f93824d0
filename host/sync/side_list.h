/* A list beside a watch that goes on. It lists objects that have come to be ours; if the server can
 * filter, it does not list the others. It retries until it is complete or dropped. I/O thread. */
#pragma once

#include "sync/backoff.h"
#include "sync/listing.h"

struct pl_side_list;

struct pl_side_list_ops {
    /* Takes the reference of a listed object; returns it, or NULL if it is not wanted. */
    struct pl_doc *(*each)(void *arg, struct pl_doc *object);
    /* Borrowed. */
    void (*page)(void *arg, const struct pl_docs *items);
    /* The list is complete; the side list is freed when this returns. */
    void (*done)(void *arg);
    /* The minimal version of the list: the watch's. Borrowed until the call that asks returns. */
    struct pl_slice (*at_least)(void *arg);
    /* The server refused the shards: the list goes on without them, and has all objects. */
    void (*refused)(void *arg, const struct pl_err *err);
};

struct pl_side_list_options {
    struct pl_listing listing; /* borrowed, like all fields */
    struct pl_slice shards;    /* copied; empty: the server does not filter */
    const struct pl_side_list_ops *ops;
    void *arg;
};

/* Starts at once; never calls back inside. The caller owns the result and drops it, also after its
 * end. */
struct pl_side_list *pl_side_list_start(const struct pl_side_list_options *options);
/* There are no callbacks afterwards. Accepts NULL. */
void pl_side_list_drop(struct pl_side_list *side_list);
