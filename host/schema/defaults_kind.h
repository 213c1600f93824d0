/* Defaults of a built-in kind that no table can express. */
#pragma once

#include "object/tree.h"

/* Gives the member the JSON value if it is absent or null. An empty text counts as absent if the
 * value is a text, an empty list if it is a list, 0 if it is a number after "+"; none of them if
 * the value begins with "*". */
void pl_api_default_member(struct pl_arena *arena, struct pl_tree *at, const char *member,
                           const char *json);
/* Fills in the defaults of the kind, "Deployment", that depend on other members. */
void pl_api_default_kind(struct pl_arena *arena, const char *kind, struct pl_tree *object);
