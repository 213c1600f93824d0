/* From Lua values to documents. Untouched levels of objects are copied from their document; all
 * other values are encoded. (The opposite direction: lua/lazy.h.) */
#pragma once

#include "base/err.h"
#include "lua/state.h"
#include "value/build.h"
#include "value/doc.h"

#define PL_LVAL_DEPTH 512
#define PL_LVAL_BYTES ((size_t)64 << 20) /* approximate limit of one document */

/* The limit for this state: at most its memory limit. The encoded document lies outside of that
 * memory. */
size_t pl_lval_most(const struct pl_state *s);

/* The value at index as an independent document, or NULL with EINVAL and the path of the value that
 * cannot be encoded ("spec.ports[2]: a function can't be encoded"). Never raises. The caller owns
 * the reference. */
struct pl_doc *pl_lval_doc(lua_State *L, struct pl_state *s, int index, struct pl_err *err);
/* As pl_lval_doc, but it raises an error. The document belongs to a box at the top of the stack.
 * most: gives up when the JSON is certainly larger than this many bytes; 0: pl_lval_most. */
struct pl_doc *pl_lval_check_doc(lua_State *L, struct pl_state *s, int index, const char *what,
                                 size_t most);
/* True when marked as an array, or a non-empty sequence. */
bool pl_lval_is_array(lua_State *L, struct pl_state *s, int index);
/* Deep equality of the values as JSON; fills levels. Raises when too deep. */
bool pl_lval_equal(lua_State *L, struct pl_state *s, int a, int b);
/* Pushes an independent, completely filled copy. */
void pl_lval_deepcopy(lua_State *L, struct pl_state *s, int index);
/* True when the object would be written as it was read. False for a table that was not read. */
bool pl_lval_is_unchanged(lua_State *L, struct pl_state *s, int index);
