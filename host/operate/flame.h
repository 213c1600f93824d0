/* A flame graph of folded stacks: one picture without scripts that asks nobody for anything. Pure.
 */
#pragma once

#include "base/buf.h"

/* stacks: "outer;inner count\n" each; lines that are none are left out. */
void pl_flame_write(struct pl_slice stacks, const char *title, struct pl_buf *out);
