/* A Lua function as the chooser of a world: it is called at each point with tables that describe
 * the point, and returns a table with the act. It runs inside a call of a spec (settle, step), on
 * the same thread; its errors are kept, and raised when that call returns. */
#include "world/choose.h"

#include "base/base.h"
#include "world/binding.h"

#include <lauxlib.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const char kinds[][12] = {
    [PL_POINT_REQUEST] = "request",   [PL_POINT_APPLIED] = "applied",
    [PL_POINT_ANSWERED] = "answered", [PL_POINT_EVENT] = "event",
    [PL_POINT_WAIT] = "wait",         [PL_POINT_RAN] = "ran",
    [PL_POINT_FAULT] = "fault",       [PL_POINT_PICK] = "pick",
};

static const char points_key[] = "perilune.points"; /* registry: name -> point */

#define NAME_SIZE   1024 /* longer points are not kept */
#define POINTS_MOST 2000 /* that are kept, of about 1 KiB each */

static void choose_set(lua_State *L, const char *name, const char *text)
{
    lua_pushstring(L, text);
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

/* What is the same each time when a point comes again, besides its kind and its candidates. */

static const struct {
    const char *name;
    size_t at;
} texts[] =
    {
        {"host", offsetof(struct pl_point, host)},
        {"controller", offsetof(struct pl_point, controller)},
        {"key", offsetof(struct pl_point, key)},
        {"line", offsetof(struct pl_point, line)},
        {"verb", offsetof(struct pl_point, verb)},
        {"object", offsetof(struct pl_point, object)},
        {"api_kind", offsetof(struct pl_point, api_kind)},
        {"name", offsetof(struct pl_point, name)},
        {"subresource", offsetof(struct pl_point, subresource)},
},
  flags[] = {
      {"script", offsetof(struct pl_point, by_script)},
      {"delayed", offsetof(struct pl_point, delayed)},
      {"writes", offsetof(struct pl_point, writes)},
      {"versioned", offsetof(struct pl_point, versioned)},
};

static const char *point_text(const struct pl_point *point, size_t i)
{
    const char *text = *(const char *const *)((const char *)point + texts[i].at);
    return text != NULL ? text : "";
}

static bool point_flag(const struct pl_point *point, size_t i)
{
    return *(const bool *)((const char *)point + flags[i].at);
}

static void push_new_point(lua_State *L, const struct pl_point *point)
{
    lua_createtable(L, 0, 16);
    choose_set(L, "kind", kinds[point->kind]);
    for (size_t i = 0; i < PL_ARRAY_LEN(texts); i++)
        choose_set(L, texts[i].name, point_text(point, i));
    for (size_t i = 0; i < PL_ARRAY_LEN(flags); i++)
        if (point_flag(point, i)) {
            lua_pushboolean(L, true);
            lua_setfield(L, -2, flags[i].name);
        }
    if (point->kind == PL_POINT_PICK)
        choose_set_candidates(L, point);
}

/* All of it as one text. Returns its length; 0: it is too long. */
static size_t name_point(char name[NAME_SIZE], const struct pl_point *point)
{
    size_t at = 0;
    name[at++] = (char)('a' + point->kind);
    for (size_t i = 0; i < PL_ARRAY_LEN(flags); i++)
        name[at++] = point_flag(point, i) ? '1' : '0';
    for (size_t i = 0; i < PL_ARRAY_LEN(texts); i++) {
        const char *text = point_text(point, i);
        size_t size = strlen(text) + 1;
        if (size > NAME_SIZE - at)
            return 0;
        memcpy(name + at, text, size);
        at += size;
    }
    return at;
}

/* Pushes the table of the points that are kept, an empty one if it is full. */
static void push_points(lua_State *L)
{
    lua_getfield(L, LUA_REGISTRYINDEX, points_key);
    if (lua_istable(L, -1) && lua_objlen(L, -1) < POINTS_MOST)
        return;
    lua_pop(L, 1);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_setfield(L, LUA_REGISTRYINDEX, points_key);
}

/* Points that are alike share a table. A copy of the process (branch.h) finds it there, and need
 * not write it. */
static void push_point(lua_State *L, const struct pl_point *point)
{
    char name[NAME_SIZE];
    size_t len = point->kind == PL_POINT_PICK ? 0 : name_point(name, point);
    if (len == 0) {
        push_new_point(L, point);
        return;
    }
    push_points(L);
    lua_pushlstring(L, name, len);
    lua_rawget(L, -2);
    if (lua_isnil(L, -1)) {
        lua_pop(L, 1);
        push_new_point(L, point);
        lua_pushlstring(L, name, len);
        lua_pushvalue(L, -2);
        lua_rawset(L, -4);
        lua_pushvalue(L, -1);
        lua_rawseti(L, -3, (int)lua_objlen(L, -3) + 1); /* so they are counted */
    }
    lua_remove(L, -2);
}

static void choose_set_once(lua_State *L, const char *name, const char *text)
{
    if (text != NULL && text[0] != '\0')
        choose_set(L, name, text);
}

/* What differs each time. Texts that are empty are left out. */
static void push_once(lua_State *L, const struct pl_point *point)
{
    lua_createtable(L, 0, 4);
    choose_set_once(L, "run_id", point->run_id);
    choose_set_once(L, "version", point->version);
    choose_set_once(L, "message", point->message);
    lua_pushinteger(L, point->status);
    lua_setfield(L, -2, "status");
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
    if (choose->failed || skips || !lua_checkstack(L, 12))
        return;
    lua_pushnil(L); /* time that the world needs does not count as computing of the specification */
    lua_setfield(L, LUA_REGISTRYINDEX, PL_SPEC_LIMIT);
    lua_rawgeti(L, LUA_REGISTRYINDEX, choose->ref);
    push_point(L, point);
    push_once(L, point);
    const struct pl_point *outer = choose->point; /* the function may make a request */
    choose->point = point;
    int rc = lua_pcall(L, 2, 1, 0);
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
