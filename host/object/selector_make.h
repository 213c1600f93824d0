/* How label selectors are put together: for selector_parse.c and selector_node.c, which read them
 * from texts and from documents. Private to host/value. */
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
    char **values; /* owned; sorted, each once */
    size_t count;
    enum pl_selector_op op;
    int64_t number; /* PL_OP_GREATER, PL_OP_LESS: the value */
    size_t order;   /* place in the text: requirements of one key keep their order */
};

struct pl_selector {
    struct pl_requirement *items; /* owned; sorted by key */
    size_t count;
};

/* A requirement without values. Borrowed until the next one is added. */
struct pl_requirement *pl_selector_add(struct pl_selector *selector, struct pl_slice key,
                                       enum pl_selector_op op);
/* EINVAL where the text can't be a label's. */
PL_MUST_USE int pl_requirement_add_value(struct pl_requirement *item, struct pl_slice value,
                                         struct pl_err *err);
/* Once all values are there. EINVAL where one must be an integer. */
PL_MUST_USE int pl_requirement_finish(struct pl_requirement *item, struct pl_err *err);
/* Once all requirements are there; returns the selector. One that failed is freed: NULL. */
struct pl_selector *pl_selector_made(struct pl_selector *selector, int failed);
