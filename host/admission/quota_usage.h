/* The amounts that one object uses of the resources that quotas limit. Pure. */
#pragma once

#include "object/tree.h"
#include "schema/type.h"
#include "valid/amounts.h"

#include <stdbool.h>

/* Computes the usage of an object. Texts live in the arena. */
void pl_usage_of(struct pl_arena *arena, struct pl_usage *usage, const struct pl_api_type *type,
                 const struct pl_tree *object);
/* True when a quota of that resource covers objects of the kind. */
bool pl_usage_covers(const struct pl_usage *usage, const struct pl_api_type *type,
                     struct pl_slice resource);
/* True when the object is in the scope. operator, values: of a scope selector; "" and NULL for a
 * plain scope. */
bool pl_usage_in_scope(const struct pl_api_type *type, const struct pl_tree *object,
                       struct pl_slice scope, struct pl_slice operator,
                       const struct pl_tree * values);
/* Resources of the quota that containers of the Pod must state and do not: "limits.cpu for: c,d;
 * requests.memory for: c". Empty: none. hard: the quota's. */
struct pl_slice pl_usage_missing(struct pl_arena *arena, const struct pl_tree *pod,
                                 const struct pl_tree *hard);
