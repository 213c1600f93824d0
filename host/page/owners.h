/* The objects of a controller as a tree of owners, a page at a time: For objects by key, and below
 * each what names it as its controller, as far as the caches know. I/O thread. */
#pragma once

#include "control/manager.h"
#include "net/loop.h"

#define PL_OWNERS_ROOTS 100 /* a page */

struct pl_owners_request {
    struct pl_loop *loop; /* borrowed until done, as is what follows */
    struct pl_manager *manager;
    struct pl_cluster *cluster;       /* whose objects they are */
    struct pl_controller *controller; /* borrowed for the call */
    struct pl_slice filter;           /* in the key; copied; empty: all */
    struct pl_slice after; /* keys behind this one alone; copied; empty: from the first */
    /* Once, later. result: the caller's, an object; NULL: it was given up. */
    void (*done)(void *arg, struct pl_doc *result);
    void *arg;
};

struct pl_owners;
/* Looks at some thousand objects a turn of the loop. NULL when the controller is For nothing, or
 * is not opened yet: then done is not called. */
struct pl_owners *pl_owners_begin(const struct pl_owners_request *request);
/* Ends it early; done is called with NULL before it returns. */
void pl_owners_give_up(struct pl_owners *tree);
