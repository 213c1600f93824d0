/* Numbers between documents and Lua, digit for digit: a double where it holds the number,
 * else int64_t cdata, else perilune.number, a userdata that keeps the text. */
#pragma once

#include "base/err.h"
#include "lua/state.h"
#include "value/build.h"
#include "value/doc.h"

/* Makes the metatable and finds LuaJIT's int64 constructor: needs the ffi library, which
 * stays out of scripts' reach. */
void pl_number_open(struct pl_state *s);

void pl_number_push(lua_State *L, struct pl_state *s, struct pl_node number);
/* A perilune.number's digits, borrowed; false for any other value. */
bool pl_number_text(lua_State *L, struct pl_state *s, int index, struct pl_slice *text);
/* Adds a Lua number, a cdata integer or a perilune.number. EINVAL for NaN, infinities and
 * other cdata. Never raises. */
PL_MUST_USE int pl_number_build(lua_State *L, struct pl_state *s, int index, struct pl_build *build,
                                struct pl_err *err);

/* host.number(text) -> the number in its best form; raises for text that is no number. */
int pl_number_from_text(lua_State *L);

/* Is the double's shortest form the same decimal as the text? */
bool pl_number_is_exact(struct pl_slice text, double value);
