/* Building label selectors: for selector_parse.c and selector_node.c, which read them from texts
 * and from documents. Private to host/object. */
#pragma once

#include "object/selector.h"

enum pl_selector_op {
    PL_OP_EQUALS,
    PL_OP_DOUBLE_EQUALS,
    PL_OP_NOT_EQUALS,
    PL_OP_IN,
    PL_OP_NOT_IN,
    PL_OP_EXISTS,
    PL_OP_NOT_EXISTS,
    PL_OP_GREATER,
    PL_OP_LESS,
};

struct pl_requirement {
    char *key;     /* owned */
    char **values; /* owned; sorted, without duplicates */
    size_t count;
    enum pl_selector_op op;
    int64_t number; /* PL_OP_GREATER, PL_OP_LESS: the value */
    size_t order;   /* position in the text: requirements of one key keep their order */
};

struct pl_selector {
    struct pl_requirement *items; /* owned; sorted by key */
    size_t count;
};

/* Adds a requirement without values. Borrowed until the next one is added. */
struct pl_requirement *pl_selector_add(struct pl_selector *selector, struct pl_slice key,
                                       enum pl_selector_op op);
/* EINVAL if the text is not a valid label value. */
PL_MUST_USE int pl_requirement_add_value(struct pl_requirement *item, struct pl_slice value,
                                         struct pl_err *err);
/* Call it when all values are there. EINVAL if a value must be an integer and is not. */
PL_MUST_USE int pl_requirement_finish(struct pl_requirement *item, struct pl_err *err);
/* Call it when all requirements are there; returns the selector. After a failure it frees the
 * selector and returns NULL. */
struct pl_selector *pl_selector_made(struct pl_selector *selector, int failed);
