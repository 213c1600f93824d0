/* The set of the fields that an apply names, in a fixed size: a filter of their paths, and their
 * number. It answers only with what is certain. */
#pragma once

#include "object/schema.h"

#define PL_FIELD_SET_WORDS 4

struct pl_field_set {
    uint64_t bits[PL_FIELD_SET_WORDS];
    uint32_t count;
};

/* Values do not count. Elements of lists count by their keys, and an atomic list or object is one
 * field. NULL schema: every list is atomic. */
void pl_field_set_make(struct pl_field_set *set, struct pl_node body,
                       const struct pl_schema *schema);
/* True only if `set` has a field that `other` lacks. It may miss one if other is as large. */
bool pl_field_set_has_more(const struct pl_field_set *set, const struct pl_field_set *other);
