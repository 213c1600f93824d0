/* os.time, os.date and os.clock with an injected clock, for states that have one. */
#pragma once

#include "lua/state.h"

/* Call it when the libraries are open. */
void pl_lua_clock_install(struct pl_state *s);
