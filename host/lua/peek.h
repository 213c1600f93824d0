/* Reads values of objects without making tables of them, as reading a level would do. */
#pragma once

#include "lua/shelf.h"
#include "lua/state.h"
#include "value/doc.h"

/* A value of an object: in a document, or on the stack. Borrowed from the object and the stack. */
struct pl_peeked {
    struct pl_node node; /* if index is 0 */
    int index;
    const struct pl_level *level; /* level of the table at index; NULL: it is an ordinary value */
};

/* The value at index itself. */
struct pl_peeked pl_peek(lua_State *L, struct pl_state *s, int index);
/* A member; empty when there is none. May leave a value on the stack. */
struct pl_peeked pl_peek_member(lua_State *L, struct pl_state *s, struct pl_peeked from,
                                const char *name);
bool pl_peek_is_nothing(lua_State *L, struct pl_peeked value);
/* The text of a string; ptr NULL for anything else. */
struct pl_slice pl_peek_text(lua_State *L, struct pl_peeked value, struct pl_scratch *scratch);
