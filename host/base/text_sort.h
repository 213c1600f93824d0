/* Sorts many texts: by eight bytes at a time, as a table of numbers is sorted, so that how long it
 * takes does not depend on what the processor guesses, as it does where pairs are compared. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct pl_text_item {
    const char *text; /* borrowed */
    void *item;       /* the caller's */
    uint64_t order;   /* private */
};

/* By the texts' bytes, as strcmp does. Those with equal texts come in no promised order. */
void pl_text_sort(struct pl_text_item *items, size_t count);
