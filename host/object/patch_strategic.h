/* What the two halves of strategic merge patches share: private to patch_strategic*.c. */
#pragma once

#include "value/build.h"
#include "object/patch.h"

/* One run. Functions write values into b, or fail with a negative code and err. */
struct pl_smp {
    struct pl_build *b;
    struct pl_err *err; /* borrowed; may be NULL */
};

/* Everything that a patch says about one list. Absent parts are PL_MISSING. */
struct pl_smp_list {
    struct pl_node target;  /* the list as it is */
    struct pl_node patch;   /* what is added or changed */
    struct pl_node order;   /* $setElementOrder */
    struct pl_node removed; /* $deleteFromPrimitiveList */
    const struct pl_schema *schema;
};

/* The directive of an object: "$patch"; PL_MISSING when there is none. */
struct pl_node pl_smp_directive(struct pl_node patch);
/* True for values that say what to do instead of what to be: they never become content. */
bool pl_smp_is_directive(struct pl_node patch);
/* Writes what is content in a part of the patch that meets no counterpart. */
void pl_smp_clean(struct pl_smp *s, struct pl_node patch);
/* Writes target changed by patch, two objects. */
int pl_smp_object(struct pl_smp *s, struct pl_node target, struct pl_node patch,
                  const struct pl_schema *schema);
/* Writes a list. */
int pl_smp_list(struct pl_smp *s, const struct pl_smp_list *list);
