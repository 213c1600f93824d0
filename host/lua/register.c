/* Functions and tables of the host in a state. Each function has its state as its only upvalue. */
#include "lua/state.h"

void pl_state_set(lua_State *L, struct pl_state *s, const char *name, lua_CFunction function)
{
    lua_pushlightuserdata(L, s);
    lua_pushcclosure(L, function, 1);
    lua_setfield(L, -2, name);
}

void pl_state_register(lua_State *L, struct pl_state *s, const luaL_Reg *functions)
{
    for (; functions->name != NULL; functions++)
        pl_state_set(L, s, functions->name, functions->func);
}

int pl_weak_ref(lua_State *L, const char *mode)
{
    lua_newtable(L);
    lua_createtable(L, 0, 1);
    lua_pushstring(L, mode);
    lua_setfield(L, -2, "__mode");
    lua_setmetatable(L, -2);
    return luaL_ref(L, LUA_REGISTRYINDEX);
}
