/* Shared by the files patch_strategic*.c, and private to them. */
#pragma once

#include "value/build.h"
#include "object/patch.h"

/* One run. Functions write values into b, or fail with a negative code and err. */
struct pl_smp {
    struct pl_build *b;
    struct pl_err *err; /* borrowed; may be NULL */
};

/* All parts of a patch that concern one list. Absent parts are PL_MISSING. */
struct pl_smp_list {
    struct pl_node target;  /* the current list */
    struct pl_node patch;   /* additions and changes */
    struct pl_node order;   /* $setElementOrder */
    struct pl_node removed; /* $deleteFromPrimitiveList */
    const struct pl_schema *schema;
};

/* Refuses the patch in the API server's words. Its answer to PL_ESYNTAX is 400, to PL_EINVAL 500.
 */
int pl_smp_refuse(struct pl_smp *s, int code, const char *fmt, ...) PL_PRINTF(3, 4);
/* The same for an object with an unknown directive, and for an element without its merge key. */
int pl_smp_refuse_directive(struct pl_smp *s, struct pl_node patch);
int pl_smp_refuse_element(struct pl_smp *s, struct pl_node element, const char *merge_key);
/* The directive of an object: "$patch"; PL_MISSING when there is none. */
struct pl_node pl_smp_directive(struct pl_node patch);
/* True for values that are directives: they never become content. */
bool pl_smp_is_directive(struct pl_node patch);
/* Writes the content of a part of the patch that has no counterpart in the target. */
void pl_smp_clean(struct pl_smp *s, struct pl_node patch);
/* Writes the target object changed by the patch object. */
int pl_smp_object(struct pl_smp *s, struct pl_node target, struct pl_node patch,
                  const struct pl_schema *schema);
/* Writes a list. */
int pl_smp_list(struct pl_smp *s, const struct pl_smp_list *list);
