/* What `select` leaves of an object: the members that its paths lead to. */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "value/doc.h"

#include <stdbool.h>

/* A name that is on a path, with those beside it. */
struct pl_part {
    struct pl_part *next, *below; /* owned */
    char *text;                   /* owned: the name's */
    struct pl_slice name;
    struct pl_hint hint; /* where the last object had it: of objects that a list has found */
    bool whole;          /* a path ends here; what is below does not matter */
};

/* Adds a path to the parts of an object. One through an element of an array takes the array.
 * EINVAL and err when the text is no path. */
PL_MUST_USE int pl_parts_add(struct pl_part **parts, struct pl_slice path, struct pl_err *err);
void pl_parts_free(struct pl_part *parts); /* accepts NULL */
