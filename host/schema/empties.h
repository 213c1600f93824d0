/* Empty lists and maps that Go's code tells from absent ones. Everywhere else an empty value counts
 * as absent, since objects are stored in protobuf, which cannot tell the two apart. */
#pragma once

#include "object/tree.h"

#include <stdbool.h>

#define PL_API_MAX_EMPTIES 8

/* Which of them an object has. */
struct pl_api_empties {
    const char *paths[PL_API_MAX_EMPTIES]; /* literals */
    size_t count;
};

/* is_new: the object is being created. */
struct pl_api_empties pl_api_empties_find(const char *kind, const struct pl_tree *object,
                                          bool is_new);
/* Puts those back that were dropped meanwhile. */
void pl_api_empties_restore(struct pl_arena *arena, struct pl_tree *object,
                            const struct pl_api_empties *empties);
