/* host.regex*: regular expressions (format/regex.h). A compiled one lies in a userdata, so it
 * counts as the script's memory; the temporary memory of a search does not, and has its own limit.
 */
#include "bind/list.h"
#include "format/regex.h"

#include <string.h>

static const char regex_name[] = "perilune.regex", guard_name[] = "perilune.regex.guard";
static const char search_name[] = "perilune.regex.search";

static int free_guarded(lua_State *L)
{
    struct pl_regex **guard = lua_touserdata(L, 1);
    pl_regex_destroy(*guard);
    *guard = NULL;
    return 0;
}

static int free_search(lua_State *L)
{
    struct pl_regex_search **search = lua_touserdata(L, 1);
    pl_regex_search_destroy(*search);
    *search = NULL;
    return 0;
}

/* Pushes a userdata with a pointer, which is freed with it. */
static void *push_pointer(lua_State *L, const char *name, lua_CFunction gc)
{
    void **pointer = lua_newuserdata(L, sizeof *pointer);
    *pointer = NULL;
    if (luaL_newmetatable(L, name)) {
        lua_pushcfunction(L, gc);
        lua_setfield(L, -2, "__gc");
    }
    lua_setmetatable(L, -2);
    return pointer;
}

/* The state's own, created when it is first needed. */
static struct pl_regex_search *search_of(lua_State *L)
{
    lua_pushlightuserdata(L, (void *)search_name);
    lua_rawget(L, LUA_REGISTRYINDEX);
    struct pl_regex_search **search = lua_touserdata(L, -1);
    lua_pop(L, 1);
    if (search != NULL)
        return *search;
    lua_pushlightuserdata(L, (void *)search_name);
    search = push_pointer(L, search_name, free_search);
    *search = pl_regex_search_create();
    lua_rawset(L, LUA_REGISTRYINDEX);
    return *search;
}

/* regex_compile(text) -> regex, groups | nil, message */
static int regex_make(lua_State *L)
{
    luaL_checkstring(L, 1);
    struct pl_err err;
    pl_err_clear(&err);
    struct pl_regex **guard = push_pointer(L, guard_name, free_guarded);
    *guard = pl_regex_compile(pl_lua_slice(L, 1), &err);
    if (*guard == NULL) {
        lua_pushnil(L);
        lua_pushstring(L, err.message);
        return 2;
    }
    size_t size = pl_regex_bytes(*guard);
    memcpy(lua_newuserdata(L, size), *guard, size); /* may raise: then the guard is collected */
    luaL_newmetatable(L, regex_name);
    lua_setmetatable(L, -2);
    lua_pushinteger(L, (lua_Integer)pl_regex_groups(*guard));
    pl_regex_destroy(*guard);
    *guard = NULL;
    return 2;
}

/* regex_search(regex, text, from, more) -> nil | first, last, captures... | false, message
 * Positions count from 1, last is the last byte's; a group that took no part is nil. */
static int search(lua_State *L)
{
    const struct pl_regex *regex = luaL_checkudata(L, 1, regex_name);
    luaL_checkstring(L, 2);
    struct pl_slice text = pl_lua_slice(L, 2);
    lua_Integer from = luaL_checkinteger(L, 3);
    struct pl_err err;
    pl_err_clear(&err);
    luaL_argcheck(L, from >= 1 && (size_t)from <= text.len + 1, 3, "a place in the text");
    luaL_checkstack(L, PL_REGEX_GROUPS + 8, "a match");
    struct pl_regex_search *s = search_of(L);
    int rc = pl_regex_search(s, regex, text, (size_t)from - 1, lua_toboolean(L, 4), &err);
    if (rc == 0) {
        lua_pushnil(L);
        return 1;
    }
    if (rc < 0) {
        lua_pushboolean(L, 0);
        lua_pushstring(L, err.message);
        return 2;
    }
    size_t first, end, groups = pl_regex_groups(regex);
    pl_regex_group(s, 0, &first, &end);
    lua_pushinteger(L, (lua_Integer)first + 1);
    lua_pushinteger(L, (lua_Integer)end);
    for (size_t i = 1; i <= groups; i++) {
        pl_regex_group(s, i, &first, &end);
        if (first == PL_REGEX_NONE)
            lua_pushnil(L);
        else
            lua_pushlstring(L, text.ptr + first, end - first);
    }
    return (int)groups + 2;
}

const luaL_Reg pl_bind_regexes[] = {
    {"regex_compile", regex_make},
    {"regex_search", search},
    {NULL, NULL},
};
