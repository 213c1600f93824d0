/* Builds the table of functions from the files of this folder, and has a few functions of its own.
 * Scripts reach them only through Perilune's own Lua; nevertheless no function trusts its
 * arguments. */
#include "bind/bind.h"

#include "bind/batch.h"
#include "bind/list.h"
#include "lane/declare.h"
#include "lane/hook.h"
#include "lane/lane.h"
#include "lua/fault.h"
#include "lua/lazy.h"
#include "lua/lerr.h"
#include "lua/number.h"
#include "lua/require.h"
#include "lane/co.h"
#include "lane/context.h"
#include "bind/prelude.h"

#include <stdlib.h>

/* host.where([level]) -> file, line of the script's frame; nil when no script is running.
 * host.where(f) -> file, line where the script's function f begins. */
static int where(lua_State *L)
{
    lua_Debug ar;
    bool function = lua_isfunction(L, 1);
    if (function) {
        lua_settop(L, 1);
        lua_getinfo(L, ">S", &ar);
        if (ar.linedefined < 0)
            return 0;
    } else if (!pl_lerr_where(L, pl_state_of(L), (int)luaL_optinteger(L, 1, 0), &ar)) {
        return 0;
    }
    lua_pushstring(L, pl_lerr_chunk(&ar));
    lua_pushinteger(L, function ? ar.linedefined : ar.currentline);
    return 2;
}

/* host.remember(e): the traceback of e, which will be raised again, is the current one. */
static int bind_remember(lua_State *L)
{
    lua_settop(L, 1);
    pl_fault_note_here(L, pl_state_of(L));
    return 0;
}

static int phase(lua_State *L)
{
    static const char names[][8] = {
        [PL_PHASE_LOAD] = "load", [PL_PHASE_RUN] = "run", [PL_PHASE_MAP] = "map"};
    lua_pushstring(L, names[pl_state_of(L)->phase]);
    return 1;
}

static int controller_name(lua_State *L)
{
    const struct pl_state *s = pl_state_of(L);
    if (s->task == NULL)
        return 0;
    lua_pushstring(L, s->lane->lanes->controllers[s->task->exec->controller].name);
    return 1;
}

static int stopping(lua_State *L)
{
    const struct pl_state *s = pl_state_of(L);
    lua_pushboolean(L, s->task != NULL && (s->task->exec->stopping || s->task->exec->canceled));
    return 1;
}

static const luaL_Reg places[] = {
    {"where", where},
    {"remember", bind_remember},
    {"phase", phase},
    {"controller_name", controller_name},
    {"stopping", stopping},
    {"controller", pl_declare_controller},
    {"index", pl_declare_index},
    {"cluster", pl_declare_cluster},
    {"read_file", pl_require_read_file},
    {"number", pl_number_from_text},
    {"spawn", pl_co_spawn},
    {NULL, NULL},
};

/* os.getenv, for the tape. */
static int bind_getenv(lua_State *L)
{
    lua_pushstring(L, getenv(luaL_checkstring(L, 1))); /* NULL: nil */
    return 1;
}

/* Functions whose results do not depend only on their arguments, and digests, whose arguments are
 * not always in the record. A tape records their calls, and a replay answers them from the record.
 */
static const char *const local_names[] = {"random",    "x509_key",  "x509_public", "x509_request",
                                          "x509_sign", "x509_read", "x509_verify", "x509_is_pair",
                                          "read_file", "zone_file", "sha256",      "digest",
                                          "hmac",      NULL};

bool pl_bind_is_local(const char *name)
{
    for (const char *const *one = local_names; *one != NULL; one++)
        if (strcmp(*one, name) == 0)
            return true;
    return false;
}

static void register_outside(lua_State *L, struct pl_state *s)
{
    static const luaL_Reg environment[] = {{"getenv", bind_getenv}, {NULL, NULL}};
    const luaL_Reg *const lists[] = {pl_bind_texts, pl_bind_bytes, places, pl_bind_zones};
    pl_tape_register(L, s, pl_bind_events);
    pl_tape_register(L, s, pl_bind_memos);
    pl_tape_register(L, s, pl_bind_scopes);
    pl_tape_register(L, s, pl_bind_shards);
    pl_tape_register(L, s, pl_bind_hooks);
    for (const char *const *name = local_names; *name != NULL; name++) {
        for (size_t i = 0; i < PL_ARRAY_LEN(lists); i++) {
            for (const luaL_Reg *one = lists[i]; one->name != NULL; one++) {
                const luaL_Reg alone[] = {*one, {NULL, NULL}};
                if (strcmp(one->name, *name) == 0)
                    pl_tape_register(L, s, alone);
            }
        }
    }
    lua_getglobal(L, "os");
    pl_tape_register(L, s, environment);
    lua_pop(L, 1);
}

static void push_config(lua_State *L, struct pl_state *s)
{
    if (s->config == NULL) {
        lua_newtable(L);
        return;
    }
    bool eager = s->eager;
    s->eager = true; /* one table for the whole process: filled, so that it is only read */
    pl_lazy_push(L, s, s->config, 0);
    s->eager = eager;
}

/* Pushes a new host table. */
static void bind_push(lua_State *L, struct pl_state *s)
{
    pl_co_open(s);
    pl_batch_open(s);
    s->refs.kinds = pl_weak_ref(L, "v");
    lua_newtable(L);
    pl_state_register(L, s, places);
    pl_state_register(L, s, pl_bind_values);
    pl_state_register(L, s, pl_bind_texts);
    pl_state_register(L, s, pl_bind_bytes);
    pl_state_register(L, s, pl_bind_logs);
    pl_state_register(L, s, pl_bind_events);
    pl_state_register(L, s, pl_bind_memos);
    pl_state_register(L, s, pl_bind_scopes);
    pl_state_register(L, s, pl_bind_shards);
    pl_state_register(L, s, pl_bind_metrics);
    pl_state_register(L, s, pl_bind_dialogs);
    pl_state_register(L, s, pl_bind_regexes);
    pl_state_register(L, s, pl_bind_zones);
    pl_state_register(L, s, pl_bind_hooks);
    if (s->lane != NULL && s->lane->tape != NULL)
        register_outside(L, s);
    lua_pushlightuserdata(L, NULL);
    lua_setfield(L, -2, "null");
    pl_ref_push(L, s->refs.error_meta);
    lua_setfield(L, -2, "error_mt");
    push_config(L, s);
    lua_setfield(L, -2, "config");
    lua_pushstring(L, s->version ? s->version : "");
    lua_setfield(L, -2, "version");
    lua_pushnumber(L, (lua_Number)s->generation);
    lua_setfield(L, -2, "generation");
    lua_pushboolean(L, s->lane != NULL && s->lane->lanes->options.leaving);
    lua_setfield(L, -2, "leaving");
}

/* ---- hooks of a script's state ---- */

static void open_state(struct pl_state *s)
{
    pl_context_open(s);
    pl_declare_open(s);
}

static bool push_blamed(lua_State *L, struct pl_state *s)
{
    if (s->task == NULL || !s->task->is_main)
        return false;
    pl_declare_push_blamed(L, s, s->task->exec->controller, -1);
    return true;
}

const struct pl_state_hooks pl_bind_state_hooks = {
    .open = open_state,
    .close = pl_declare_close,
    .push_host = bind_push,
    .prepare = pl_prelude_run,
    .fill = pl_context_fill,
    .push_blamed = push_blamed,
    .told_read = pl_lane_tell_read,
};
