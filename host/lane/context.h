/* The arguments of a reconcile: its request and its context. Few scripts read the causes or the id,
 * so a context keeps them as one text until they are needed. The lane's thread. */
#pragma once

#include "lua/state.h"

struct pl_exec;

void pl_context_open(struct pl_state *s);
/* Pushes both, on the lane's side of a run. */
void pl_context_push(lua_State *L, struct pl_state *s, const struct pl_exec *exec);
/* Turns the context at the absolute index, which was not read yet, into an ordinary table. */
void pl_context_fill(lua_State *L, struct pl_state *s, int index);
