/* Lua values as bytes of a record, and back: what functions of the host take and give. */
#pragma once

#include "lua/state.h"
#include "record/bytes.h"
#include "record/veil.h"

/* Appends the value at index. What can't be written down (a function) is only named. veil NULL:
 * all is shown. Never raises; the stack needs ten free slots. */
void pl_value_put(struct pl_buf *out, lua_State *L, struct pl_state *s, int index,
                  struct pl_veil *veil);
/* Pushes one, with values in the place of pseudonyms that the veil knows; NULL: as it is. May raise
 * for want of memory. */
void pl_value_push(lua_State *L, struct pl_state *s, struct pl_bytes *from,
                   const struct pl_veil *veil);
/* Passes one over, and appends it as text for people, cut; out NULL: not. */
void pl_value_print(struct pl_bytes *from, struct pl_buf *out);
