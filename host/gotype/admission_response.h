/* The answer of an admission webhook as Go reads it. */
#pragma once

#include "object/arena.h"
#include "value/doc.h"

/* The first value of a wrong type in a review's response, in Go's words. NULL: there is none. */
const char *pl_admission_response_fault(struct pl_arena *arena, struct pl_node response);
/* What is wrong with patch and patchType together. NULL: nothing. */
const char *pl_admission_patch_fault(struct pl_arena *arena, struct pl_node response, bool mutates);
