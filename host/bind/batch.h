/* Objects of a list, which become tables one by one. A userdata owns them. */
#pragma once

#include "lua/select.h"
#include "lua/state.h"
#include "value/docs.h"

struct pl_batch {
    struct pl_docs docs;
    size_t at;
    struct pl_part *parts; /* owned: of `select`; NULL: whole objects */
    unsigned flags;
};

void pl_batch_open(struct pl_state *s);
/* Pushes an empty batch, which Lua's collector frees. */
struct pl_batch *pl_batch_push(lua_State *L, struct pl_state *s);
/* Reads `select` of the options, and adds the members that an object always keeps. */
void pl_batch_read_select(lua_State *L, struct pl_state *s, struct pl_batch *batch, int options);
/* Pushes an array of all objects. */
void pl_batch_push_all(lua_State *L, struct pl_state *s, struct pl_batch *batch);
