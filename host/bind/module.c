/* perilune.host as a module for plain LuaJIT, so that the specs of Perilune's own Lua run with the
 * core's values, texts and checks, but without a cluster: functions that wait raise an error. */
#include "base/alloc.h"
#include "base/metrics.h"
#include "bind/bind.h"
#include "lua/lazy.h"
#include "lua/lerr.h"
#include "lua/sandbox.h"
#include "value/scan.h"

static int no_cluster(lua_State *L)
{
    return pl_lerr_raise(L, pl_state_of(L),
                         "there is no cluster here: a spec calls the API through a world "
                         "(perilune.test), or replaces this function by one of its own");
}

/* Replaces each function that waits by one that raises: takes the table at the top. Specs put fakes
 * there. */
static void module_refuse(lua_State *L, struct pl_state *s, int host)
{
    lua_pushnil(L);
    while (lua_next(L, -2) != 0) {
        lua_pop(L, 1);
        lua_pushvalue(L, -1);
        lua_pushlightuserdata(L, s);
        lua_pushcclosure(L, no_cluster, 1);
        lua_rawset(L, host);
    }
    lua_pop(L, 1);
}

/* host.set_phase(name), for specs. */
static int set_phase(lua_State *L)
{
    static const char *const names[] = {"load", "run", "map", NULL};
    pl_state_of(L)->phase = (enum pl_phase)luaL_checkoption(L, 1, NULL, names);
    return 0;
}

/* host.read_object(json [, lazy]) -> the table that a read of the object gives, for specs. Lazy:
 * not filled; pairs and next of plain LuaJIT do not support that. */
static int read_object(lua_State *L)
{
    struct pl_state *s = pl_state_of(L);
    luaL_checkstring(L, 1);
    struct pl_scan_options options = {.keep_managed_fields = true};
    struct pl_err err;
    pl_err_clear(&err);
    struct pl_doc *doc = pl_scan_text(pl_lua_slice(L, 1), &options, &err);
    if (doc == NULL)
        return luaL_error(L, "%s", err.message);
    s->eager = !lua_toboolean(L, 2);
    pl_lazy_push(L, s, doc, PL_OBJECT_ROOT);
    s->eager = true;
    pl_doc_unref(doc);
    return 1;
}

/* host.add_folder(path): files beside its scripts can be read, for specs. */
static int add_folder(lua_State *L)
{
    struct pl_state *s = pl_state_of(L);
    pl_map_put(&s->roots, pl_slice_z(luaL_checkstring(L, 1)), s);
    return 0;
}

/* host.metrics_page() -> the page of /metrics, for specs. */
static int metrics_page(lua_State *L)
{
    struct pl_buf page = PL_BUF_INIT;
    pl_metrics_write(pl_state_of(L)->metrics, &page);
    lua_pushlstring(L, pl_buf_z(&page), page.len);
    pl_buf_deinit(&page);
    return 1;
}

static int close_state(lua_State *L)
{
    struct pl_state *s = *(struct pl_state **)lua_touserdata(L, 1);
    pl_metrics_destroy(s->metrics);
    s->metrics = NULL;
    /* Boxes may be collected after this: they still find s, whose memory is freed at the end of the
     * process. */
    pl_state_close(s);
    s->declared = NULL;
    return 0;
}

static void anchor(lua_State *L, struct pl_state *s)
{
    struct pl_state **holder = lua_newuserdata(L, sizeof(struct pl_state *));
    *holder = s;
    lua_newtable(L);
    lua_pushcfunction(L, close_state);
    lua_setfield(L, -2, "__gc");
    lua_setmetatable(L, -2);
    luaL_ref(L, LUA_REGISTRYINDEX);
}

__attribute__((visibility("default"))) int luaopen_perilune_host(lua_State *L)
{
    struct pl_state *s = PL_NEW(struct pl_state);
    s->hooks = &pl_bind_state_hooks;
    s->L = L;
    s->eager = true;
    s->asking = -1;
    s->version = "spec";
    s->metrics = pl_metrics_create();
    s->generation = 1;
    s->phase = PL_PHASE_LOAD;
    anchor(L, s);
    lua_pushlightuserdata(L, s);
    lua_setfield(L, LUA_REGISTRYINDEX, PL_SPEC_STATE);
    pl_state_open(s);
    pl_ref_push(L, s->refs.host);
    int host = lua_gettop(L);
    pl_bind_push_waits(L, s);
    module_refuse(L, s, host);
    pl_bind_push_reads(L, s);
    module_refuse(L, s, host);
    pl_state_set(L, s, "set_phase", set_phase);
    pl_state_set(L, s, "read_object", read_object);
    pl_state_set(L, s, "add_folder", add_folder);
    pl_state_set(L, s, "metrics_page", metrics_page);
    return 1;
}
