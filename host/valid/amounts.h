/* Amounts of resources, and the sums of a Pod's containers. Pure. */
#pragma once

#include "base/text.h"
#include "object/arena.h"
#include "object/tree.h"

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

static inline bool pl_is_huge_pages(struct pl_slice resource)
{
    return pl_text_begins(resource, "hugepages-");
}

bool pl_amount_read(const struct pl_tree *value, struct pl_amount *amount);
/* The text as kube-apiserver writes it, in the arena. */
struct pl_slice pl_amount_text(struct pl_arena *arena, struct pl_amount amount);

/* Adds the amounts of a Pod's containers; list: "requests" or "limits". These are the sum of the
 * containers, or the largest init container if that is more. Init containers that restart always
 * run beside the others, so they are added to both. Names are borrowed from the spec. */
void pl_usage_of_containers(struct pl_usage *sums, const struct pl_tree *spec, const char *list);
/* The amount of that resource, which is part of the usage; NULL: the object uses none. */
const struct pl_amount *pl_usage_get(const struct pl_usage *usage, struct pl_slice name);
/* Replaces the amount of that resource, or adds it. */
void pl_usage_set(struct pl_usage *usage, struct pl_slice name, struct pl_amount amount);
void pl_usage_add(struct pl_usage *usage, struct pl_slice name, struct pl_amount amount);
