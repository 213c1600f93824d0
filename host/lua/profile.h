/* Where scripts compute: stacks of Lua that were seen, and how often. A profile has no lock of its
 * own. */
#pragma once

#include "base/buf.h"

#include <lua.h>

struct pl_profile;

/* The caller owns the profile. */
struct pl_profile *pl_profile_create(void);
void pl_profile_destroy(struct pl_profile *profile);
/* Appends the stack of a coroutine, "outer;inner;line", in a hook of its own thread. */
void pl_profile_fold(lua_State *L, struct pl_buf *stack);
/* It was seen once more. */
void pl_profile_count(struct pl_profile *profile, struct pl_slice stack);
/* Appends "outer;inner;line count\n" for each stack; returns how often one was seen. */
size_t pl_profile_write(const struct pl_profile *profile, struct pl_buf *out);
