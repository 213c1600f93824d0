/* Sorts many texts by eight bytes at a time, as a radix sort of numbers. Its time does not depend
 * on branch prediction, as that of a comparison sort does. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct pl_text_item {
    const char *text; /* borrowed */
    void *item;       /* the caller's */
    uint64_t order;   /* private */
};

/* Orders by bytes, as strcmp does. Items with equal texts come in an unspecified order. */
void pl_text_sort(struct pl_text_item *items, size_t count);
