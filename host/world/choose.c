/* A Lua function as the chooser of a world: it is called at each point with a table that describes
 * the point, and returns a table with the act. It runs inside a call of a spec (settle, step), on
 * the same thread; its errors are kept, and raised when that call returns. */
#include "world/choose.h"

#include "base/base.h"
#include "world/binding.h"

#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

static const char kinds[][12] = {
    [PL_POINT_REQUEST] = "request",   [PL_POINT_APPLIED] = "applied",
    [PL_POINT_ANSWERED] = "answered", [PL_POINT_EVENT] = "event",
    [PL_POINT_WAIT] = "wait",         [PL_POINT_RAN] = "ran",
    [PL_POINT_FAULT] = "fault",       [PL_POINT_PICK] = "pick",
};

static const char point_type[] = "perilune.point"; /* registry: the metatable of points */

static void choose_set(lua_State *L, const char *name, struct pl_slice text)
{
    if (text.len == 0)
        return;
    lua_pushlstring(L, text.ptr, text.len);
    lua_setfield(L, -2, name);
}

static void choose_set_flag(lua_State *L, const char *name, bool value)
{
    if (!value)
        return;
    lua_pushboolean(L, true);
    lua_setfield(L, -2, name);
}

static void choose_set_candidates(lua_State *L, const struct pl_point *point)
{
    lua_createtable(L, point->count, 0);
    for (int i = 0; i < point->count; i++) {
        lua_pushstring(L, point->candidates[i]);
        lua_rawseti(L, -2, i + 1);
    }
    lua_setfield(L, -2, "candidates");
}

/* Most texts of most points are empty, so the metatable has these. */
static void choose_set_metatable(lua_State *L)
{
    static const char texts[][12] = {"host", "controller",  "key",     "run_id",
                                     "line", "verb",        "object",  "api_kind",
                                     "name", "subresource", "version", "message"};
    if (luaL_newmetatable(L, point_type)) {
        lua_createtable(L, 0, (int)PL_ARRAY_LEN(texts));
        for (size_t i = 0; i < PL_ARRAY_LEN(texts); i++) {
            lua_pushliteral(L, "");
            lua_setfield(L, -2, texts[i]);
        }
        lua_setfield(L, -2, "__index");
    }
    lua_setmetatable(L, -2);
}

static void push_point(lua_State *L, const struct pl_point *point)
{
    lua_createtable(L, 0, 16);
    choose_set_metatable(L);
    choose_set(L, "kind", pl_slice_z(kinds[point->kind]));
    const struct {
        const char *name, *text;
    } texts[] = {
        {"host", point->host},       {"controller", point->controller},
        {"key", point->key},         {"run_id", point->run_id},
        {"line", point->line},       {"verb", point->verb},
        {"object", point->object},   {"api_kind", point->api_kind},
        {"name", point->name},       {"subresource", point->subresource},
        {"version", point->version}, {"message", point->message},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(texts); i++)
        if (texts[i].text != NULL)
            choose_set(L, texts[i].name, pl_slice_z(texts[i].text));
    choose_set_flag(L, "script", point->by_script);
    choose_set_flag(L, "delayed", point->delayed);
    choose_set_flag(L, "writes", point->writes);
    choose_set_flag(L, "versioned", point->versioned);
    lua_pushinteger(L, point->status);
    lua_setfield(L, -2, "status");
    if (point->kind == PL_POINT_PICK)
        choose_set_candidates(L, point);
    lua_pushnumber(L, (lua_Number)point->call_id);
    lua_setfield(L, -2, "call_id");
}

static const struct {
    const char *name;
    enum pl_act act;
} acts[] = {
    {"crash", PL_ACT_CRASH}, {"refuse", PL_ACT_REFUSE}, {"lose", PL_ACT_LOSE},
    {"later", PL_ACT_LATER}, {"cut", PL_ACT_CUT},       {"pick", PL_ACT_PICK},
    {"stale", PL_ACT_STALE},
};

static lua_Number choose_number_of(lua_State *L, const char *name)
{
    lua_getfield(L, -1, name);
    lua_Number value = lua_tonumber(L, -1);
    lua_pop(L, 1);
    return value;
}

/* A copy, since the table may be collected. */
static const char *choose_text_of(lua_State *L, struct pl_choose *choose, const char *name)
{
    lua_getfield(L, -1, name);
    const char *text = lua_tostring(L, -1);
    snprintf(choose->text, sizeof choose->text, "%s", text != NULL ? text : "");
    lua_pop(L, 1);
    return text != NULL ? choose->text : NULL;
}

static void read_act(lua_State *L, struct pl_choose *choose, struct pl_disturbance *out)
{
    lua_getfield(L, -1, "act");
    const char *name = lua_tostring(L, -1);
    for (size_t i = 0; name != NULL && i < PL_ARRAY_LEN(acts); i++)
        if (strcmp(acts[i].name, name) == 0)
            out->act = acts[i].act;
    lua_pop(L, 1);
    out->status = (int)choose_number_of(L, "status");
    out->delay_ns = (int64_t)(choose_number_of(L, "delay") * 1e9);
    out->pick = (int)choose_number_of(L, "pick");
    out->reason = choose_text_of(L, choose, out->act == PL_ACT_STALE ? "version" : "reason");
}

/* No disturbance begins here. */
static bool choose_is_quiet(const struct pl_point *point)
{
    switch (point->kind) {
    case PL_POINT_APPLIED:
        return !point->by_run;
    case PL_POINT_EVENT:
        return strcmp(point->verb, "BOOKMARK") == 0;
    default:
        return point->kind == PL_POINT_ANSWERED || point->kind == PL_POINT_WAIT;
    }
}

static void choose_at(void *arg, const struct pl_point *point, struct pl_disturbance *out)
{
    struct pl_choose *choose = arg;
    lua_State *L = choose->L;
    bool skips = !choose->attentive && choose_is_quiet(point);
    if (choose->failed || skips || !lua_checkstack(L, 8))
        return;
    lua_pushnil(L); /* time that the world needs does not count as computing of the specification */
    lua_setfield(L, LUA_REGISTRYINDEX, PL_SPEC_LIMIT);
    lua_rawgeti(L, LUA_REGISTRYINDEX, choose->ref);
    push_point(L, point);
    const struct pl_point *outer = choose->point; /* the function may make a request */
    choose->point = point;
    int rc = lua_pcall(L, 1, 1, 0);
    choose->point = outer;
    if (rc != 0) {
        choose->failed = true;
        lua_pushvalue(L, -1);
        choose->problem = luaL_ref(L, LUA_REGISTRYINDEX);
    } else if (lua_istable(L, -1)) {
        read_act(L, choose, out);
    }
    lua_pop(L, 1);
}

void pl_choose_push_body(const struct pl_choose *choose, lua_State *L)
{
    if (choose->point == NULL)
        lua_pushnil(L);
    else
        lua_pushlstring(L, choose->point->body.len > 0 ? choose->point->body.ptr : "",
                        choose->point->body.len);
}

static bool choose_is_held(void *arg, const char *resource)
{
    const struct pl_choose *choose = arg;
    return pl_map_get(&choose->held, pl_slice_z(resource)) != NULL;
}

void pl_choose_hold(struct pl_choose *choose, const char *resource, bool held)
{
    if (held)
        pl_map_put(&choose->held, pl_slice_z(resource), choose);
    else
        pl_map_remove(&choose->held, pl_slice_z(resource));
}

void pl_choose_attend(struct pl_choose *choose, bool attentive)
{
    choose->attentive = attentive;
}

void pl_choose_init(struct pl_choose *choose, lua_State *L, int index)
{
    lua_pushvalue(L, index);
    *choose = (struct pl_choose){.L = L, .ref = luaL_ref(L, LUA_REGISTRYINDEX)};
    choose->chooser = (struct pl_chooser){choose_at, choose_is_held, choose};
}

void pl_choose_deinit(struct pl_choose *choose)
{
    if (choose->L == NULL)
        return;
    luaL_unref(choose->L, LUA_REGISTRYINDEX, choose->ref);
    if (choose->failed)
        luaL_unref(choose->L, LUA_REGISTRYINDEX, choose->problem);
    pl_map_deinit(&choose->held);
    choose->L = NULL;
}

void pl_choose_raise(struct pl_choose *choose, lua_State *L)
{
    if (!choose->failed)
        return;
    lua_rawgeti(L, LUA_REGISTRYINDEX, choose->problem);
    luaL_unref(L, LUA_REGISTRYINDEX, choose->problem);
    choose->failed = false;
    lua_error(L);
}
