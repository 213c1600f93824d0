/* What a conversion webhook may change in a custom object. */
#pragma once

#include "object/tree.h"

/* Checks what a webhook has made of the original, and gives it the metadata that a conversion may
 * not change. version: the wanted apiVersion. NULL, or what is wrong: "invalid object: ...". */
const char *pl_api_converted_check(struct pl_arena *arena, const struct pl_tree *original,
                                   struct pl_tree *made, struct pl_slice version);
