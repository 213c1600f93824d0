/* The functions of a state that read other files: require, and host.read_file. */
#pragma once

#include "lua/state.h"

/* require(name). Upvalues 2 and 3: the libraries by their names, and what to call for a module that
 * no script has, or nil. */
int pl_require(lua_State *L);
/* host.read_file(relative): the text of a file beside the script or below; or nil and a message. */
int pl_require_read_file(lua_State *L);
