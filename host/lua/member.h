/* Values that Perilune's own Lua passes to the host: arguments, and members of tables.
 *
 * Members are read raw: no metamethod of a script runs meanwhile, and a value that was read stays
 * the same and alive as long as the table. `table` is a positive stack index. The lane's thread. */
#pragma once

#include "lua/state.h"

#include <math.h>

/* A member that must have this type if it is present: LUA_TSTRING, LUA_TNUMBER... */
struct pl_member {
    char name[20];
    int type;
};

/* Raises for the first member of the table with a wrong type. The last entry has no name. */
void pl_member_check(lua_State *L, struct pl_state *s, int table, const struct pl_member *members);
/* Pushes the member; nil when it is not a table. */
void pl_member_push(lua_State *L, int table, const char *name);
/* Borrowed from the table; ptr NULL: there is no such text. */
struct pl_slice pl_member_text(lua_State *L, int table, const char *name);
bool pl_member_flag(lua_State *L, int table, const char *name);
double pl_member_number(lua_State *L, int table, const char *name, double otherwise);

/* An argument that is a text or nil (ptr NULL); raises for anything else. Borrowed. */
struct pl_slice pl_argument_text(lua_State *L, int index);

/* The value as an integer in this range; NaN gives the least. */
static inline int64_t pl_clamp(double value, int64_t least, int64_t most)
{
    if (!(value > (double)least))
        return least;
    return value < (double)most ? (int64_t)value : most;
}
