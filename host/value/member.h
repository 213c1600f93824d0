/* Looks up many members of one object, in about the order of the object. It walks along while the
 * orders agree, and makes an index after many misses, so that comparing two large objects stays
 * linear. Borrows the object. */
#pragma once

#include "base/map.h"
#include "value/doc.h"

struct pl_members {
    struct pl_node object;
    struct pl_iter next; /* the member after the last one found */
    size_t misses;
    struct pl_map index;   /* name -> place in nodes + 1; filled after too many misses */
    struct pl_node *nodes; /* owned */
};

void pl_members_init(struct pl_members *members, struct pl_node object);
void pl_members_deinit(struct pl_members *members);
/* PL_MISSING when there is none. */
struct pl_node pl_members_get(struct pl_members *members, struct pl_slice key);
