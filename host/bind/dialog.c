/* host: functions with which one of Perilune's own scripts talks with the I/O thread. */
#include "bind/list.h"
#include "lane/co.h"
#include "lua/lerr.h"

/* compile(text, name, env) -> function | nil, message */
static int dialog_compile(lua_State *L)
{
    struct pl_slice text = {luaL_checkstring(L, 1), 0};
    text = pl_lua_slice(L, 1);
    const char *name = lua_pushfstring(L, "=%s", luaL_checkstring(L, 2));
    luaL_checktype(L, 3, LUA_TTABLE);
    if (text.len > 0 && text.ptr[0] == LUA_SIGNATURE[0]) {
        lua_pushnil(L);
        lua_pushliteral(L, "bytecode is not loaded");
        return 2;
    }
    if (luaL_loadbuffer(L, text.ptr, text.len, name) != 0) {
        lua_pushnil(L);
        lua_insert(L, -2);
        return 2;
    }
    lua_pushvalue(L, 3);
    lua_setfenv(L, -2);
    return 1;
}

static int push_said(lua_State *L, struct pl_state *s, struct pl_lop *op)
{
    PL_UNUSED(s);
    lua_pushlstring(L, pl_buf_z(&op->out.body), op->out.body.len);
    return 1;
}

/* say(text, failed) -> what is said next */
static int dialog_say(lua_State *L)
{
    struct pl_state *s = pl_state_of(L);
    luaL_checkstring(L, 1);
    pl_co_check_wait(L, s);
    if (s->lane->lanes->options.dialog == NULL)
        return pl_lerr_raise(L, s, "no debugger is connected");
    struct pl_lop *op = pl_lop_create(PL_LOP_SAY);
    op->verb = "say";
    op->in.say.text = pl_lop_text(op, pl_lua_slice(L, 1));
    op->in.say.failed = lua_toboolean(L, 2);
    op->push = push_said;
    return pl_co_wait(L, s, op);
}

const luaL_Reg pl_bind_dialogs[] = {
    {"compile", dialog_compile},
    {NULL, NULL},
};

const luaL_Reg pl_bind_says[] = {
    {"say", dialog_say},
    {NULL, NULL},
};
