/* The objects that a record's scripts have seen so far, newest last. Private to host/record. */
#pragma once

#include "base/map.h"
#include "record/bytes.h"
#include "value/doc.h"

struct pl_known {
    struct pl_map objects; /* "v1/Secret default/a" -> struct pl_doc, counted */
};

void pl_known_deinit(struct pl_known *known);
/* Looks for objects in a value of a record (record/value.h), which is passed. */
void pl_known_learn(struct pl_known *known, struct pl_bytes *from);
/* Borrowed; NULL: it is not known. */
struct pl_doc *pl_known_get(const struct pl_known *known, struct pl_slice kind,
                            struct pl_slice key);
