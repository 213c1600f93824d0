/* What a reconcile is called with: its request and its context. Few scripts look at the causes or
 * the id, so a context has them as one text until one does. */
#pragma once

#include "lua/state.h"

struct pl_exec;

void pl_context_open(struct pl_state *s);
/* Pushes both, for the lane's side of a run. */
void pl_context_push(lua_State *L, struct pl_state *s, const struct pl_exec *exec);
/* Makes the context at the absolute index, which nobody has looked into, an ordinary table. */
void pl_context_fill(lua_State *L, struct pl_state *s, int index);
