/* The encoding of Lua values in a record: arguments and results of the host's functions. The thread
 * of the Lua state. */
#pragma once

#include "lua/state.h"
#include "record/bytes.h"
#include "record/veil.h"

/* Appends the value at index. Of a value that can't be encoded (a function) only the type is
 * written. veil NULL: Secrets are shown. Never raises; the stack needs ten free slots. */
void pl_value_put(struct pl_buf *out, lua_State *L, struct pl_state *s, int index,
                  struct pl_veil *veil);
/* Appends a text alone, as pl_bytes_put_text. veil NULL: Secrets are shown. */
void pl_value_put_text(struct pl_buf *out, struct pl_slice text, struct pl_veil *veil);
/* Pushes a value. Pseudonyms that the veil knows are replaced by their values; veil NULL:
 * unchanged. May raise if memory runs out. */
void pl_value_push(lua_State *L, struct pl_state *s, struct pl_bytes *from,
                   const struct pl_veil *veil);
/* Skips a value and returns a reference to it as a document; NULL: it is neither a table nor an
 * object. */
struct pl_doc *pl_value_doc(struct pl_bytes *from, const struct pl_veil *veil);
/* Skips a value and appends it as readable text, shortened; out NULL: only skips it. */
void pl_value_print(struct pl_bytes *from, struct pl_buf *out);
