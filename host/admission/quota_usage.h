/* The amounts that one object uses of the resources that quotas limit. Pure. */
#pragma once

#include "object/tree.h"
#include "schema/type.h"

#include <stdbool.h>

#define PL_USAGE_MAX 64

/* An amount in thousandths. is_binary: it is written as 1Gi, not 1073741824. */
struct pl_amount {
    int64_t milli;
    bool is_binary;
};

struct pl_usage {
    struct {
        struct pl_slice name; /* "requests.cpu" */
        struct pl_amount amount;
    } list[PL_USAGE_MAX];
    size_t count;
};

bool pl_amount_read(const struct pl_tree *value, struct pl_amount *amount);
/* The text as kube-apiserver writes it, in the arena. */
struct pl_slice pl_amount_text(struct pl_arena *arena, struct pl_amount amount);

/* Computes the usage of an object. Texts live in the arena. */
void pl_usage_of(struct pl_arena *arena, struct pl_usage *usage, const struct pl_api_type *type,
                 const struct pl_tree *object);
/* Adds the amounts of a Pod's containers; list: "requests" or "limits". These are the sum of the
 * containers, or the largest init container if that is more. Init containers that restart always
 * run beside the others, so they are added to both. Names are borrowed from the spec. */
void pl_usage_of_containers(struct pl_usage *sums, const struct pl_tree *spec, const char *list);
/* The amount of that resource, which is part of the usage; NULL: the object uses none. */
const struct pl_amount *pl_usage_get(const struct pl_usage *usage, struct pl_slice name);
void pl_usage_add(struct pl_usage *usage, struct pl_slice name, struct pl_amount amount);

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
