/* The time for a script whose state has its own clock: functions of `os` without a time argument
 * use that clock, and others are passed on to Lua's own functions. perilune.time uses the same
 * clock. */
#include "lua/clock.h"

static lua_Number clock_seconds(const struct pl_state *s)
{
    return (lua_Number)(pl_clock_wall(s->clock) / PL_SECOND);
}

/* Upvalue 2: Lua's own function. */
static int pass_on(lua_State *L)
{
    int count = lua_gettop(L);
    lua_pushvalue(L, lua_upvalueindex(2));
    lua_insert(L, 1);
    lua_call(L, count, LUA_MULTRET);
    return lua_gettop(L);
}

static int os_time(lua_State *L)
{
    if (!lua_isnoneornil(L, 1))
        return pass_on(L);
    lua_pushnumber(L, clock_seconds(pl_state_of(L)));
    return 1;
}

static int os_date(lua_State *L)
{
    lua_settop(L, 2);
    if (lua_isnil(L, 1)) {
        lua_pushliteral(L, "%c");
        lua_replace(L, 1);
    }
    if (lua_isnil(L, 2)) {
        lua_pushnumber(L, clock_seconds(pl_state_of(L)));
        lua_replace(L, 2);
    }
    return pass_on(L);
}

static int os_clock(lua_State *L)
{
    int64_t ns = pl_clock_mono(pl_state_of(L)->clock);
    lua_pushnumber(L, (lua_Number)ns / (lua_Number)PL_SECOND);
    return 1;
}

/* -- os */
static void replace(struct pl_state *s, const char *name, lua_CFunction function)
{
    lua_State *L = s->L;
    lua_pushlightuserdata(L, s);
    lua_getfield(L, -2, name);
    lua_pushcclosure(L, function, 2);
    lua_setfield(L, -2, name);
}

void pl_lua_clock_install(struct pl_state *s)
{
    lua_getglobal(s->L, "os");
    replace(s, "time", os_time);
    replace(s, "date", os_date);
    replace(s, "clock", os_clock);
    lua_pop(s->L, 1);
}
