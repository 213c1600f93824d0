/* The newest states of the objects that a record's scripts have seen so far. Private to
 * host/record. The replay's thread. */
#pragma once

#include "base/map.h"
#include "object/kind.h"
#include "record/bytes.h"
#include "value/doc.h"

struct pl_known {
    struct pl_map objects; /* "v1/Secret default/a" -> struct pl_doc, counted */
    struct pl_map kept;    /* names of objects whose later states are not learned */
};

void pl_known_deinit(struct pl_known *known);
/* Reads the results of a call (count, values: record/value.h) and keeps the objects in them. */
void pl_known_learn_all(struct pl_known *known, struct pl_slice result);
/* The name of an object in such maps. The caller frees it. */
char *pl_known_name(const struct pl_kind *kind, struct pl_slice key);
/* Later states of this object are not learned. */
void pl_known_keep(struct pl_known *known, const struct pl_kind *kind, struct pl_slice key);
/* Borrowed: lives until the next value is read. NULL: not known. */
struct pl_doc *pl_known_get(const struct pl_known *known, const struct pl_kind *kind,
                            struct pl_slice key);
