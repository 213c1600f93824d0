/* os.time, os.date and os.clock by an injected clock, for states that have one. */
#pragma once

#include "lua/state.h"

/* Once the libraries are open. */
void pl_lua_clock_install(struct pl_state *s);
