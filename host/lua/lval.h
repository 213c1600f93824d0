/* From Lua values to documents. Levels of objects that nobody touched are copied from
 * the document they came from; everything else is encoded. (The other way: lua/lazy.h.) */
#pragma once

#include "base/err.h"
#include "lua/state.h"
#include "value/build.h"
#include "value/doc.h"

#define PL_LVAL_DEPTH 512
#define PL_LVAL_BYTES ((size_t)64 << 20) /* of one document, about */

/* The same for this state: no more than its memory limit. What is encoded lies outside of it. */
size_t pl_lval_most(const struct pl_state *s);

/* The value at index as a document of its own, or NULL with EINVAL and the path of what can't
 * be encoded ("spec.ports[2]: a function can't be encoded"). Never raises. The reference is
 * the caller's. */
struct pl_doc *pl_lval_doc(lua_State *L, struct pl_state *s, int index, struct pl_err *err);
/* As pl_lval_doc, but raises, and the document is held by a box at the top of the stack.
 * most: gives up at what is larger as JSON for certain, bytes; 0: pl_lval_most. */
struct pl_doc *pl_lval_check_doc(lua_State *L, struct pl_state *s, int index, const char *what,
                                 size_t most);
/* Marked as an array, or a sequence that is not empty. */
bool pl_lval_is_array(lua_State *L, struct pl_state *s, int index);
/* Deep equality of what the values would be as JSON; fills levels. Raises when too deep. */
bool pl_lval_equal(lua_State *L, struct pl_state *s, int a, int b);
/* Pushes a copy that shares nothing and is filled throughout. */
void pl_lval_deepcopy(lua_State *L, struct pl_state *s, int index);
/* Would the object be written as it was read? False for what was not read. */
bool pl_lval_is_unchanged(lua_State *L, struct pl_state *s, int index);
