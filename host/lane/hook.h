/* Webhook handlers in a lane: their arguments, and their answers as documents. The lane's thread.
 */
#pragma once

#include "event/controller_spec.h"
#include "lua/state.h"

struct pl_exec;

/* Reads the member "hook" of the spec's table at the top; spec->hook is NULL when there is none. */
void pl_hook_read_spec(lua_State *L, struct pl_controller_spec *spec);
/* Pushes the arguments of the run's handler, and returns their number. */
int pl_hook_push_arguments(lua_State *L, struct pl_state *s, const struct pl_exec *exec);

/* host.hook_next, host.hook_converted, host.hook_answer: see bind/bind.h. */
extern const luaL_Reg pl_bind_hooks[];
