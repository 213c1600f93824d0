/* The C helpers of prelude.lua, and the call that runs it. Scripts can reach these functions: each
 * checks its arguments and counts its allocations against the memory limit. */
#include "bind/prelude.h"

#include "bind/bind.h"
#include "lua/fault.h"
#include "lua/lazy.h"
#include "lua/lerr.h"
#include "lua/lval.h"
#include "lua/number.h"
#include "lua/own_modules.h"
#include "lane/co.h"

static int prelude_fill(lua_State *L)
{
    if (lua_type(L, 1) == LUA_TTABLE)
        pl_lazy_fill(L, pl_state_of(L), 1);
    return 0;
}

/* The digits of a perilune.number, or nil. */
static int prelude_digits(lua_State *L)
{
    struct pl_slice text;
    if (!pl_number_text(L, pl_state_of(L), 1, &text))
        return 0;
    pl_lua_push(L, text);
    return 1;
}

static void fill_all(lua_State *L, struct pl_state *s, int depth, size_t *bytes)
{
    *bytes += 16 + (lua_type(L, -1) == LUA_TSTRING ? lua_objlen(L, -1) : 0);
    if (*bytes > pl_lval_most(s))
        pl_lerr_raise(L, s, "more than %zu MiB can't be encoded", pl_lval_most(s) >> 20);
    if (lua_type(L, -1) != LUA_TTABLE)
        return;
    luaL_checkstack(L, 6, "nested too deeply");
    if (depth > 512)
        pl_lerr_raise(L, s, "nested deeper than 512 levels, or a table that contains itself");
    pl_limits_check(&s->limits, L);
    pl_lazy_fill(L, s, -1);
    lua_pushnil(L);
    while (lua_next(L, -2) != 0) {
        fill_all(L, s, depth + 1, bytes);
        lua_pop(L, 1);
    }
}

static int fill_deep(lua_State *L)
{
    luaL_checkany(L, 1);
    lua_settop(L, 1);
    size_t bytes = 0;
    fill_all(L, pl_state_of(L), 0, &bytes);
    return 1;
}

/* Before a function that calls scripts from C. */
static int nest(lua_State *L)
{
    pl_lerr_check_nesting(L, pl_state_of(L), __builtin_frame_address(0));
    return 0;
}

/* note(co, e) */
static int prelude_note(lua_State *L)
{
    lua_State *co = lua_tothread(L, 1);
    lua_settop(L, 2);
    if (co != NULL)
        pl_fault_note(L, pl_state_of(L), co);
    return 0;
}

/* A message handler that lets limits pass: the hook that raises is still active while handlers run,
 * so a handler without end could not be stopped. Upvalue 2: the script's. */
static int guarded_handler(lua_State *L)
{
    if (pl_state_of(L)->limits.excess != PL_EXCESS_NONE)
        return 1;
    pl_lerr_check_nesting(L, pl_state_of(L), __builtin_frame_address(0));
    lua_settop(L, 1);
    lua_pushvalue(L, lua_upvalueindex(2));
    lua_insert(L, 1);
    lua_call(L, 1, LUA_MULTRET);
    return lua_gettop(L);
}

static int guard(lua_State *L)
{
    lua_settop(L, 1);
    lua_pushlightuserdata(L, pl_state_of(L));
    lua_insert(L, 1);
    lua_pushcclosure(L, guarded_handler, 2);
    return 1;
}

/* A reference to a new weak set, which is also a field of the table at the top. */
static int set_weak(lua_State *L, const char *name)
{
    int ref = pl_weak_ref(L, "k");
    pl_ref_push(L, ref);
    lua_setfield(L, -2, name);
    return ref;
}

static void push_helpers(lua_State *L, struct pl_state *s)
{
    static const luaL_Reg helpers[] = {
        {"fill", prelude_fill},
        {"digits", prelude_digits},
        {"fill_deep", fill_deep},
        {"nest", nest},
        {"note", prelude_note},
        {"guard", guard},
        {"why_not", pl_co_why_not},
        {"batch_next", pl_bind_batch_next},
        {"batch_iterator", pl_bind_batch_iterator},
        {NULL, NULL},
    };
    lua_newtable(L);
    pl_state_register(L, s, helpers);
    lua_pushlightuserdata(L, s);
    lua_setfield(L, -2, "wait");
    pl_ref_push(L, s->refs.unread_meta);
    lua_setfield(L, -2, "unread_meta");
    lua_pushboolean(L, s->unsafe);
    lua_setfield(L, -2, "unsafe");
    lua_pushboolean(L, s->trusted);
    lua_setfield(L, -2, "trusted");
    lua_pushnumber(L, (lua_Number)s->memory_limit);
    lua_setfield(L, -2, "memory_limit");
    lua_newtable(L);
    lua_pushvalue(L, -1);
    s->refs.blocking = luaL_ref(L, LUA_REGISTRYINDEX);
    lua_setfield(L, -2, "blocking");
    s->refs.run_threads = set_weak(L, "run_threads");
    s->limits.ended = set_weak(L, "ended");
    pl_bind_push_waits(L, s);
    lua_setfield(L, -2, "waits");
    pl_bind_push_reads(L, s);
    lua_setfield(L, -2, "reads");
}

/* Takes a function that the prelude has made. */
static int take_helper(lua_State *L, const char *name)
{
    lua_getfield(L, -1, name);
    return luaL_ref(L, LUA_REGISTRYINDEX);
}

void pl_prelude_run(lua_State *L, struct pl_state *s)
{
    /* -- cjson */
    s->refs.own_chunks = pl_weak_ref(L, "k");
    s->own_code = pl_own_is_native(L, pl_embedded_sample);
    if (pl_own_load(L, s, pl_own_find("perilune.prelude"), PL_OWN_CHUNK "prelude") != 0)
        lua_error(L);
    lua_insert(L, -2);
    push_helpers(L, s);
    lua_pushvalue(L, -1);
    lua_insert(L, -4); /* -- helpers, chunk, cjson, helpers */
    lua_insert(L, -2);
    pl_ref_push(L, s->refs.host);
    lua_call(L, 3, 0);
    s->refs.new_arguments = take_helper(L, "new_arguments");
    lua_pop(L, 1);
}
