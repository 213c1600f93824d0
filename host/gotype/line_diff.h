/* The unified difference of two texts, with three lines around each change, as Python's difflib and
 * its copies write it. Pure. */
#pragma once

#include "object/arena.h"
#include "base/slice.h"

/* In the arena. Empty when the texts are equal, or longer than the limit. */
struct pl_slice pl_line_diff(struct pl_arena *arena, struct pl_slice a, struct pl_slice b);
