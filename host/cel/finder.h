/* Finds the elements of a list by their value: a hash table, so that two lists are compared without
 * comparing each element with each. Private to cel. */
#pragma once

#include "cel/eval.h"

struct pl_cel_finder {
    const struct pl_cel_list *list;
    const struct pl_cel_type *by; /* a map list: finds elements by their keys; NULL: by value */
    uint32_t *places;             /* the position of an element + 1; 0: free */
    uint64_t *hashes;             /* of each element, by its position */
    size_t mask;
};

/* An empty finder with room for `most` elements of the list. Its memory is the evaluation's. The
 * list may grow while the finder is used. */
struct pl_cel_finder pl_cel_finder(struct pl_cel_eval *eval, const struct pl_cel_list *list,
                                   const struct pl_cel_type *by, size_t most);
/* The same, with all elements of the list. */
struct pl_cel_finder pl_cel_finder_of(struct pl_cel_eval *eval, const struct pl_cel_list *list,
                                      const struct pl_cel_type *by);
/* Adds the element at that position of the list. False: the same one was added before, or the
 * evaluation has reached its limit. */
bool pl_cel_finder_add(struct pl_cel_eval *eval, struct pl_cel_finder *finder, size_t at);
/* The position of the same element; SIZE_MAX: there is none, or the evaluation has reached its
 * limit. Comparisons of different elements with the same hash are charged. */
size_t pl_cel_finder_find(struct pl_cel_eval *eval, const struct pl_cel_finder *finder,
                          struct pl_cel value);
