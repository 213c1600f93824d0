#include "lua/member.h"

#include "lua/lerr.h"

void pl_member_push(lua_State *L, int table, const char *name)
{
    if (lua_type(L, table) != LUA_TTABLE) {
        lua_pushnil(L);
        return;
    }
    lua_pushstring(L, name);
    lua_rawget(L, table);
}

void pl_member_check(lua_State *L, struct pl_state *s, int table, const struct pl_member *members)
{
    for (; *members->name != '\0'; members++) {
        pl_member_push(L, table, members->name);
        int type = lua_type(L, -1);
        if (type != LUA_TNIL && type != members->type)
            pl_lerr_raise(L, s, "%s must be a %s, not a %s", members->name,
                          lua_typename(L, members->type), lua_typename(L, type));
        lua_pop(L, 1);
    }
}

struct pl_slice pl_member_text(lua_State *L, int table, const char *name)
{
    pl_member_push(L, table, name);
    struct pl_slice text = lua_type(L, -1) == LUA_TSTRING ? pl_lua_slice(L, -1) : pl_slice(NULL, 0);
    lua_pop(L, 1); /* the table keeps it alive */
    return text;
}

bool pl_member_flag(lua_State *L, int table, const char *name)
{
    pl_member_push(L, table, name);
    bool flag = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return flag;
}

double pl_member_number(lua_State *L, int table, const char *name, double otherwise)
{
    pl_member_push(L, table, name);
    double value = lua_type(L, -1) == LUA_TNUMBER ? lua_tonumber(L, -1) : otherwise;
    lua_pop(L, 1);
    return value;
}

struct pl_slice pl_argument_text(lua_State *L, int index)
{
    if (lua_isnoneornil(L, index))
        return pl_slice(NULL, 0);
    luaL_checktype(L, index, LUA_TSTRING);
    return pl_lua_slice(L, index);
}
