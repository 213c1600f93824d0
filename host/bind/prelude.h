/* The part of the sandbox that is written in Lua: host/bind/prelude.lua. */
#pragma once

#include "lua/state.h"

/* Runs it; takes cjson from the top of the stack. */
void pl_prelude_run(lua_State *L, struct pl_state *s);
