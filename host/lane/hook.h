/* Webhook handlers in a lane: what they are called with, and how their answers become documents.
 * The lane's thread. */
#pragma once

#include "event/controller_spec.h"
#include "lua/state.h"

struct pl_exec;

/* The member "hook" of the spec's table at the top: NULL in spec->hook when there is none. */
void pl_hook_read_spec(lua_State *L, struct pl_controller_spec *spec);
/* Pushes what the run's handler is called with, and says how many values that are. */
int pl_hook_push_arguments(lua_State *L, struct pl_state *s, const struct pl_exec *exec);

/* host.hook_next, host.hook_converted, host.hook_answer: see bind/bind.h. */
extern const luaL_Reg pl_bind_hooks[];
