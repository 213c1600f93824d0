/* The objects of a controller as a tree of owners, one page at a time: For objects by key, and
 * below each the objects that name it as their controller, as far as the caches know. I/O thread.
 */
#pragma once

#include "control/manager.h"
#include "net/loop.h"

#define PL_OWNERS_ROOTS 100 /* a page */

struct pl_owners_request {
    struct pl_loop *loop; /* borrowed until done, like the following fields */
    struct pl_manager *manager;
    struct pl_cluster *cluster;       /* the cluster of the objects */
    struct pl_controller *controller; /* borrowed for the call */
    struct pl_slice filter;           /* a part of the key; copied; empty: all */
    struct pl_slice after;            /* only keys after this one; copied; empty: from the first */
    /* Called once, later. result: an object, which the caller takes; NULL: cancelled. */
    void (*done)(void *arg, struct pl_doc *result);
    void *arg;
};

struct pl_owners;
/* Looks at some thousand objects in each turn of the loop. Returns the search, which lives until
 * done is called. NULL when the controller has no For kind, or is not open yet: then done is not
 * called. */
struct pl_owners *pl_owners_begin(const struct pl_owners_request *request);
/* Cancels it; done is called with NULL before it returns. */
void pl_owners_give_up(struct pl_owners *tree);
