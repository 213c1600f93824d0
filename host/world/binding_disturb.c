/* What the explorer asks of a world beyond what specs do: it holds parts of it back, and makes
 * others happen early or late. Undisturbed, none of this is called. */
#include "world/binding_impl.h"

#include <lauxlib.h>

static int disturb_limit(lua_State *L)
{
    pl_world_limit(pl_binding_check(L)->world, (unsigned)luaL_checkinteger(L, 2));
    return 0;
}

static int disturb_hold(lua_State *L)
{
    struct bound *bound = pl_binding_check(L);
    if (bound->choose.L == NULL)
        return luaL_error(L, "only a world with a chooser holds watches back");
    pl_choose_hold(&bound->choose, luaL_checkstring(L, 2), lua_toboolean(L, 3));
    pl_world_look(bound->world);
    return 0;
}

static int disturb_expire(lua_State *L)
{
    pl_world_expire_watches(pl_binding_check(L)->world, luaL_checkstring(L, 2));
    return 0;
}

static int hold_garbage(lua_State *L)
{
    pl_world_hold_garbage(pl_binding_check(L)->world, lua_toboolean(L, 2));
    return 0;
}

static int disturb_enqueue(lua_State *L)
{
    struct bound *bound = pl_binding_check(L);
    lua_pushboolean(L,
                    pl_world_enqueue(bound->world, luaL_checkstring(L, 2), luaL_checkstring(L, 3)));
    return 1;
}

static int lateness(lua_State *L)
{
    struct bound *bound = pl_binding_check(L);
    pl_world_set_lateness(bound->world, pl_binding_nanoseconds(L, 2));
    return 0;
}

static int reverse_lists(lua_State *L)
{
    struct bound *bound = pl_binding_check(L);
    lua_pushboolean(L, pl_world_reverse_lists(bound->world, lua_toboolean(L, 2)));
    return 1;
}

void pl_binding_add_disturbing(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"limit", disturb_limit},         {"hold", disturb_hold},
        {"expire", disturb_expire},       {"hold_garbage", hold_garbage},
        {"enqueue", disturb_enqueue},     {"lateness", lateness},
        {"reverse_lists", reverse_lists}, {NULL, NULL},
    };
    luaL_register(L, NULL, functions);
}
