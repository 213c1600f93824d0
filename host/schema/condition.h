/* Conditions in the status of an object. Any thread. */
#pragma once

#include "object/tree.h"
#include "value/doc.h"

/* True if the object has the condition with that status: "True", "False" or "Unknown". */
bool pl_api_has_condition(struct pl_node object, const char *type, const char *status);
/* Sets type, status, reason and message. The time of the last transition becomes `now` if the
 * status is another one than before, or the condition is new. Returns the condition, a part of
 * `status`, which is the object's. */
struct pl_tree *pl_api_condition_set(struct pl_arena *arena, struct pl_tree *status,
                                     struct pl_tree *now, const char *const texts[4]);
/* Puts the condition, with `now` as its last transition, in the place of the one of its type, at
 * the end of the list. */
void pl_api_condition_replace(struct pl_arena *arena, struct pl_tree *status, struct pl_tree *now,
                              struct pl_tree *condition);
