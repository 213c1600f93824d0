/* The option `select`: the members of an object on its paths. */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "value/doc.h"

#include <stdbool.h>

/* A name on a path, and its siblings. */
struct pl_part {
    struct pl_part *next, *below; /* owned */
    char *text;                   /* owned: the name's */
    struct pl_slice name;
    struct pl_hint hint; /* its place in the last object, when a list of objects is read */
    bool whole;          /* a path ends here: the whole value is wanted */
};

/* Adds a path to the parts of an object. A path through an element of an array selects the whole
 * array. EINVAL and err when the text is not a path. */
PL_MUST_USE int pl_parts_add(struct pl_part **parts, struct pl_slice path, struct pl_err *err);
void pl_parts_free(struct pl_part *parts); /* accepts NULL */
