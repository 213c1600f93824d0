/* Numbers between documents and Lua, without losing a digit: a double if it holds the number, else
 * int64_t cdata, else perilune.number, a userdata that keeps the text. */
#pragma once

#include "base/err.h"
#include "lua/state.h"
#include "value/build.h"
#include "value/doc.h"

/* Makes the metatable and finds LuaJIT's int64 constructor: needs the ffi library, which scripts
 * cannot reach. */
void pl_number_open(struct pl_state *s);

void pl_number_push(lua_State *L, struct pl_state *s, struct pl_node number);
/* A perilune.number's digits, borrowed; false for any other value. */
bool pl_number_text(lua_State *L, struct pl_state *s, int index, struct pl_slice *text);
/* Adds a Lua number, a cdata integer or a perilune.number. EINVAL for NaN, infinities and
 * other cdata. Never raises. */
PL_MUST_USE int pl_number_build(lua_State *L, struct pl_state *s, int index, struct pl_build *build,
                                struct pl_err *err);

/* host.number(text) -> the number in its best form; raises for a text that is not a number. */
int pl_number_from_text(lua_State *L);

/* True when the double's shortest form is the same decimal as the text. */
bool pl_number_is_exact(struct pl_slice text, double value);
