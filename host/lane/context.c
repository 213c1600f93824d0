/* Makes the two arguments of a reconcile. The context is filled when a field is first read: until
 * then its parts are one text. Scripts can change the table with that text, so the text is not
 * trusted. */
#include "lane/context.h"

#include "base/clock.h"
#include "lane/lane.h"
#include "lua/lazy.h"

/* The field of a context until it is filled; see new_arguments in prelude.lua. */
#define UNREAD "unread"

/* Seconds since 1970, as perilune.time.now() counts. */
static double deadline_seconds(const struct pl_clock *clock, int64_t deadline_ns)
{
    int64_t left = deadline_ns - pl_clock_mono(clock);
    return (double)(pl_clock_wall(clock) + left) / (double)PL_SECOND;
}

void pl_context_push(lua_State *L, struct pl_state *s, const struct pl_exec *exec)
{
    pl_ref_push(L, s->refs.new_arguments);
    if (*exec->ns != '\0')
        lua_pushstring(L, exec->ns);
    else
        lua_pushnil(L);
    lua_pushstring(L, exec->name);
    lua_pushstring(L, exec->key);
    lua_pushinteger(L, exec->attempt);
    pl_lua_push(L, exec->unread);
    lua_pushinteger(L, (lua_Integer)exec->causes_dropped);
    if (exec->deadline_ns != 0)
        lua_pushnumber(L, deadline_seconds(pl_lanes_clock(exec->lane->lanes), exec->deadline_ns));
    else
        lua_pushnil(L);
    lua_call(L, 7, 2);
}

/* ---- the unread part ---- */

/* The next text, without its NUL; empty at the end. */
static struct pl_slice context_take(struct pl_slice *rest)
{
    const char *end = pl_slice_chr(*rest, '\0');
    struct pl_slice text = pl_slice(rest->ptr, end != NULL ? (size_t)(end - rest->ptr) : rest->len);
    size_t used = text.len + (end != NULL);
    *rest = pl_slice(rest->ptr + used, rest->len - used);
    return text;
}

static void set_changed(lua_State *L, struct pl_state *s, struct pl_slice *rest)
{
    struct pl_slice path = context_take(rest);
    if (path.len == 0)
        return;
    lua_newtable(L);
    for (int i = 1; path.len > 0 && i <= PL_CHANGED_MAX; i++, path = context_take(rest)) {
        pl_lua_push(L, path);
        lua_rawseti(L, -2, i);
    }
    pl_array_mark(L, s);
    lua_setfield(L, -2, "changed");
}

/* The format of put_cause in exec.c. */
static void push_cause(lua_State *L, struct pl_state *s, struct pl_slice *rest)
{
    struct pl_slice type = context_take(rest);
    lua_newtable(L);
    pl_lua_set(L, "type", type);
    pl_lua_set(L, pl_slice_eqz(type, "CHANNEL") ? "channel" : "kind", context_take(rest));
    pl_lua_set(L, "key", context_take(rest));
    set_changed(L, s, rest);
}

/* Scripts can change the text: it must not produce more than a run has. */
static void push_causes(lua_State *L, struct pl_state *s, struct pl_slice rest)
{
    lua_newtable(L);
    for (int i = 1; rest.len > 0 && i <= PL_CAUSES_MAX; i++) {
        push_cause(L, s, &rest);
        lua_rawseti(L, -2, i);
    }
    pl_array_mark(L, s);
}

/* Pops the value and sets the field, unless the script has set it. */
static void set_if_unset(lua_State *L, int context, const char *field)
{
    lua_pushstring(L, field);
    lua_pushvalue(L, -1);
    lua_rawget(L, context); /* -- value, field, current value */
    if (lua_isnil(L, -1)) {
        lua_pop(L, 1);
        lua_insert(L, -2);
        lua_rawset(L, context);
    } else {
        lua_pop(L, 3);
    }
}

void pl_context_fill(lua_State *L, struct pl_state *s, int index)
{
    luaL_checkstack(L, 10, "a context");
    lua_pushliteral(L, UNREAD);
    lua_rawget(L, index);
    if (lua_type(L, -1) == LUA_TSTRING) {
        struct pl_slice rest = pl_lua_slice(L, -1);
        pl_lua_push(L, context_take(&rest));
        set_if_unset(L, index, "reconcile_id");
        push_causes(L, s, rest);
        set_if_unset(L, index, "causes");
    }
    lua_pop(L, 1);
    lua_pushliteral(L, UNREAD);
    lua_pushnil(L);
    lua_rawset(L, index);
    lua_pushnil(L);
    lua_setmetatable(L, index);
}

static int context_index(lua_State *L)
{
    if (lua_type(L, 1) != LUA_TTABLE || lua_type(L, 2) != LUA_TSTRING)
        return 0;
    struct pl_slice field = pl_lua_slice(L, 2);
    if (!pl_slice_eqz(field, "causes") && !pl_slice_eqz(field, "reconcile_id"))
        return 0;
    pl_context_fill(L, pl_state_of(L), 1);
    lua_rawget(L, 1);
    return 1;
}

void pl_context_open(struct pl_state *s)
{
    lua_State *L = s->L;
    static const luaL_Reg context[] = {{"__index", context_index}, {NULL, NULL}};
    lua_newtable(L);
    pl_state_register(L, s, context);
    s->unread_meta = lua_topointer(L, -1);
    s->refs.unread_meta = luaL_ref(L, LUA_REGISTRYINDEX);
}
