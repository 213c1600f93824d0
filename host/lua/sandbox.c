/* Creates a Lua state: the allow-list of libraries, the allocator, the collector's pace; and closes
 * it. A state knows neither lanes nor the API of scripts; both come as its hooks. */
#include "lua/origin.h"
#include "lua/sandbox.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/log.h"
#include "base/rand.h"
#include "lua/clock.h"
#include "lua/lazy.h"
#include "lua/number.h"
#include "lua/require.h"
#include "lua/script.h"
#include "lua/string_seed.h"
#include "value/doc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_MEMORY ((size_t)512 << 20)
#define STEP_BYTES     4096 /* bytes of documents for one step; see pl_state_pay */

/* In percent. LuaJIT's default begins again when the heap has doubled, and works twice as fast as
 * allocations. For a large heap a smaller peak is worth more than a sixth of the collector's work.
 */
#define GC_PAUSE 120
#define GC_SPEED 400
/* Amount of garbage that does not justify a full mark phase: on the heap, and of documents. */
#define HEAP_SLACK ((size_t)1 << 20)
#define PINS_SLACK ((size_t)4 << 20)

/* ---- libraries ---- */

static const luaL_Reg libraries[] = {
    {"", luaopen_base},
    {LUA_TABLIBNAME, luaopen_table},
    {LUA_STRLIBNAME, luaopen_string},
    {LUA_MATHLIBNAME, luaopen_math},
    {LUA_BITLIBNAME, luaopen_bit},
    {LUA_OSLIBNAME, luaopen_os},
    {LUA_DBLIBNAME, luaopen_debug},
    {LUA_LOADLIBNAME, luaopen_package},
    {LUA_JITLIBNAME, luaopen_jit}, /* initialises the compiler, without which nothing is compiled */
    {NULL, NULL},
};

static void open_libraries(lua_State *L)
{
    lua_pushboolean(L, true);
    lua_setfield(L, LUA_REGISTRYINDEX, "LUA_NOENV"); /* no LUA_CPATH from the environment */
    for (const luaL_Reg *library = libraries; library->func != NULL; library++) {
        lua_pushcfunction(L, library->func);
        lua_pushstring(L, library->name);
        lua_call(L, 1, 0);
    }
}

/* lua-cjson only from the system's folders: "./?.so" is in LuaJIT's default. */
static void keep_absolute(lua_State *L)
{
    /* -- package */
    lua_getfield(L, -1, "cpath");
    const char *at = lua_tostring(L, -1);
    luaL_Buffer kept;
    luaL_buffinit(L, &kept);
    while (*at != '\0') {
        size_t len = strcspn(at, ";");
        if (*at == '/') {
            luaL_addlstring(&kept, at, len);
            luaL_addchar(&kept, ';');
        }
        at += len + (at[len] == ';');
    }
    luaL_pushresult(&kept);
    lua_setfield(L, -3, "cpath");
    lua_pop(L, 1);
    lua_pushliteral(L, "");
    lua_setfield(L, -2, "path");
}

/* If lua-cjson is part of the program (scripts/package), no file is searched. */
extern int luaopen_cjson(lua_State *L) __attribute__((weak));

static void preload_cjson(lua_State *L)
{
    if (luaopen_cjson == NULL)
        return;
    lua_getglobal(L, "package");
    lua_getfield(L, -1, "preload");
    lua_pushcfunction(L, luaopen_cjson);
    lua_setfield(L, -2, "cjson");
    lua_pop(L, 2);
}

static int load_cjson(lua_State *L, struct pl_err *err)
{
    preload_cjson(L);
    lua_getglobal(L, "package");
    keep_absolute(L);
    lua_pop(L, 1);
    lua_getglobal(L, "require");
    lua_pushliteral(L, "cjson");
    errno = 0;
    if (lua_pcall(L, 1, 1, 0) != 0) {
        /* Lua also says "no file" for a file that could not be opened for another reason. */
        const char *why = errno == EMFILE || errno == ENFILE ? strerror(errno) : "";
        pl_err_set(err, PL_EIO, "lua-cjson can't be loaded: %s%s%.300s", why, *why ? ": " : "",
                   lua_tostring(L, -1));
        lua_pop(L, 1);
        return PL_EIO;
    }
    return 0; /* -- cjson */
}

/* ---- print, globals ---- */

static int script_print(lua_State *L)
{
    struct pl_state *s = pl_state_of(L);
    pl_lerr_check_nesting(L, s, __builtin_frame_address(0));
    int count = lua_gettop(L);
    luaL_Buffer text;
    luaL_buffinit(L, &text);
    for (int i = 1; i <= count; i++) {
        lua_pushvalue(L, lua_upvalueindex(2)); /* tostring */
        lua_pushvalue(L, i);
        lua_call(L, 1, 1);
        if (lua_type(L, -1) != LUA_TSTRING)
            return luaL_error(L, "'tostring' must return a string to 'print'");
        if (i > 1)
            luaL_addchar(&text, '\t');
        luaL_addvalue(&text);
    }
    luaL_pushresult(&text);
    lua_Debug ar;
    bool known = pl_lerr_where(L, s, 0, &ar);
    char *clean = pl_secrets_mask(&s->secrets, pl_lua_slice(L, -1));
    pl_log(PL_LOG_INFO, clean ? clean : lua_tostring(L, -1),
           pl_str("script", known ? pl_lerr_chunk(&ar) : "?"),
           pl_int("line", known ? ar.currentline : 0));
    pl_free(clean);
    return 0;
}

/* __newindex of the globals. */
static int undeclared(lua_State *L)
{
    const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "?";
    return pl_lerr_raise(L, pl_state_of(L),
                         "assignment to the undeclared global '%s'; write 'local %s = ...'", name,
                         name);
}

static void lock_globals(struct pl_state *s)
{
    lua_State *L = s->L;
    lua_pushvalue(L, LUA_GLOBALSINDEX);
    lua_newtable(L);
    pl_state_set(L, s, "__newindex", undeclared);
    lua_pushboolean(L, false);
    lua_setfield(L, -2, "__metatable");
    lua_setmetatable(L, -2);
    lua_pop(L, 1);
    lua_pushliteral(L, "");
    lua_getmetatable(L, -1);
    lua_pushboolean(L, false);
    lua_setfield(L, -2, "__metatable");
    lua_pop(L, 2);
}

/* ---- removing ---- */

static const char *const removed_globals[] = {
    "collectgarbage", "dofile",  "gcinfo",  "getfenv", "jit",   "loadfile", "module",
    "newproxy",       "package", "setfenv", "io",      "debug", "ffi",      NULL,
};

static const char *const removed_os[] = {"execute", "exit",      "remove",   "rename",
                                         "tmpname", "setlocale", "difftime", NULL};

static void remove_names(lua_State *L, const char *const *names)
{
    for (; *names != NULL; names++) {
        lua_pushnil(L);
        lua_setfield(L, -2, *names);
    }
}

static void purge(struct pl_state *s)
{
    lua_State *L = s->L;
    lua_pushvalue(L, LUA_GLOBALSINDEX);
    lua_getfield(L, -1, "debug");
    lua_getfield(L, -1, "traceback");
    lua_replace(L, -2); /* -- _G, traceback */
    lua_insert(L, -2);
    remove_names(L, removed_globals);
    lua_createtable(L, 0, 1);
    lua_pushvalue(L, -3);
    lua_setfield(L, -2, "traceback");
    lua_setfield(L, -2, "debug");
    lua_getfield(L, -1, "os");
    remove_names(L, removed_os);
    lua_pop(L, 1);
    lua_getfield(L, -1, "string");
    lua_pushnil(L);
    lua_setfield(L, -2, "dump");
    lua_pop(L, 3);
}

static void keep_getinfo(struct pl_state *s)
{
    lua_getglobal(s->L, "debug");
    lua_getfield(s->L, -1, "getinfo");
    s->refs.getinfo = luaL_ref(s->L, LUA_REGISTRYINDEX);
    lua_pop(s->L, 1);
}

static void seed_random(lua_State *L, struct pl_state *s, uint64_t seed)
{
    if (seed != 0)
        seed <<= 12; /* of a chosen seed the lower 52 bits count, of others the upper ones */
    else if (s->seeded)
        seed = pl_rand_u64(&s->rand);
    else if (pl_rand_bytes(&seed, sizeof seed) != 0)
        return;
    lua_getglobal(L, "math");
    lua_getfield(L, -1, "randomseed");
    lua_pushnumber(L, (lua_Number)(seed >> 12));
    lua_call(L, 1, 0);
    lua_pop(L, 1);
}

/* require, with the modules that need no file; with --unsafe-stdlib, LuaJIT's own require searches
 * for others. */
static void install_require(struct pl_state *s)
{
    /* -- cjson */
    static const char *const builtin[] = {"string", "table",     "math", "bit",
                                          "os",     "coroutine", NULL};
    lua_State *L = s->L;
    lua_pushlightuserdata(L, s);
    lua_newtable(L); /* -- cjson, s, modules */
    lua_pushvalue(L, -3);
    lua_setfield(L, -2, "cjson");
    for (const char *const *name = builtin; *name != NULL; name++) {
        lua_getglobal(L, *name);
        lua_setfield(L, -2, *name);
    }
    if (s->unsafe)
        lua_getglobal(L, "require");
    else
        lua_pushnil(L);
    lua_pushcclosure(L, pl_require, 3);
    lua_setglobal(L, "require");
    lua_pop(L, 1);
}

/* -- table; pushes a copy of it, one level deep */
static void copy_table(lua_State *L)
{
    lua_newtable(L);
    lua_pushnil(L);
    while (lua_next(L, -3) != 0) {
        lua_pushvalue(L, -2);
        lua_insert(L, -2);
        lua_rawset(L, -4);
    }
}

/* Saves the globals and the libraries as they are now. */
static void keep_own_globals(struct pl_state *s)
{
    lua_State *L = s->L;
    lua_pushvalue(L, LUA_GLOBALSINDEX);
    copy_table(L); /* -- _G, own */
    lua_pushnil(L);
    while (lua_next(L, -3) != 0) {
        if (lua_istable(L, -1) && !lua_rawequal(L, -1, -4)) {
            copy_table(L);
            lua_pushvalue(L, -3);
            lua_insert(L, -2);
            lua_rawset(L, -5);
        }
        lua_pop(L, 1);
    }
    s->refs.own_globals = luaL_ref(L, LUA_REGISTRYINDEX);
    lua_pop(L, 1);
}

static int null_text(lua_State *L)
{
    lua_pushliteral(L, "null");
    return 1;
}

/* tostring(perilune.null). All light userdata share one metatable, and scripts see only this one.
 */
static void name_null(lua_State *L)
{
    lua_pushlightuserdata(L, NULL);
    lua_createtable(L, 0, 2);
    lua_pushcfunction(L, null_text);
    lua_setfield(L, -2, "__tostring");
    lua_pushboolean(L, false);
    lua_setfield(L, -2, "__metatable");
    lua_setmetatable(L, -2);
    lua_pop(L, 1);
}

static void replace_globals(struct pl_state *s)
{
    lua_State *L = s->L;
    lua_pushlightuserdata(L, s);
    lua_getglobal(L, "tostring");
    lua_pushcclosure(L, script_print, 2);
    lua_setglobal(L, "print");
    name_null(L);
    pl_lazy_install(s);
}

/* ---- states ---- */

void pl_state_open(struct pl_state *s)
{
    lua_State *L = s->L;
    pl_lazy_open(s);
    pl_number_open(s);
    pl_fault_open(s);
    if (s->hooks->open != NULL)
        s->hooks->open(s);
    lua_newtable(L);
    s->refs.loaded = luaL_ref(L, LUA_REGISTRYINDEX);
    if (s->hooks->push_host != NULL)
        s->hooks->push_host(L, s);
    else
        lua_newtable(L);
    s->refs.host = luaL_ref(L, LUA_REGISTRYINDEX);
}

void pl_state_close(struct pl_state *s)
{
    if (s->hooks->close != NULL)
        s->hooks->close(s);
    pl_script_deinit(s);
    pl_origin_unref(s->origin);
    pl_secrets_clear(&s->secrets);
    pl_doc_unref(s->config);
}

static const char *script_of(void *arg)
{
    const struct pl_state *s = arg;
    return s->script != NULL ? s->script : "?";
}

static int on_panic(lua_State *L)
{
    const char *message = lua_tostring(L, -1);
    pl_log(PL_LOG_ERROR, "an error outside of any script", pl_str("error", message));
    return 0; /* LuaJIT ends the process */
}

struct open_arguments {
    struct pl_state *s;
    bool unsafe;
    uint64_t math_seed;
    struct pl_err *err;
    int failed;
};

static int open_protected(lua_State *L)
{
    struct open_arguments *args = lua_touserdata(L, 1);
    struct pl_state *s = args->s;
    if (args->unsafe)
        luaL_openlibs(L);
    else
        open_libraries(L);
    seed_random(L, s, args->math_seed);
    pl_limits_opened();
    if (s->clock != NULL)
        pl_lua_clock_install(s);
    args->failed = load_cjson(L, args->err);
    if (args->failed)
        return 0;
    pl_state_open(s);
    lua_pushvalue(L, -1);
    if (s->hooks->prepare != NULL)
        s->hooks->prepare(L, s); /* wraps cjson, strings and coroutines, and pops cjson */
    else
        lua_pop(L, 1);
    install_require(s);
    replace_globals(s);
    keep_getinfo(s);
    if (!args->unsafe)
        purge(s);
    keep_own_globals(s);
    lock_globals(s);
    return 0;
}

/* LuaJIT's own allocator maps the memory of each state and unmaps it at its end, so that each page
 * is a page fault. */
static void *alloc_kept(void *data, void *ptr, size_t old_size, size_t new_size)
{
    PL_UNUSED(data);
    PL_UNUSED(old_size);
    if (new_size != 0)
        return realloc(ptr, new_size); /* LuaJIT handles failures, or the limits do */
    free(ptr);
    return NULL;
}

static lua_State *new_lua(const struct pl_sandbox_options *options)
{
    pl_string_seed(options->math_seed != 0 ? options->math_seed : options->rand_seed);
    lua_State *L = options->short_lived ? lua_newstate(alloc_kept, NULL) : luaL_newstate();
    pl_string_seed(0);
    return L;
}

/* A state as the options say, in which no library is open yet. */
static struct pl_state *new_state(const struct pl_sandbox_options *options)
{
    static const struct pl_state_hooks none = {.open = NULL};
    struct pl_state *s = PL_NEW(struct pl_state);
    s->hooks = options->hooks != NULL ? options->hooks : &none;
    s->L = new_lua(options);
    PL_REQUIRE(s->L != NULL);
    pl_limits_opened();
    s->own = true;
    s->unsafe = options->unsafe;
    s->trusted = options->trusted;
    s->in_dialog = options->in_dialog;
    s->lane = options->lane;
    s->config = pl_doc_ref(options->config);
    s->version = options->version;
    s->metrics = options->metrics;
    s->clock = options->clock;
    s->seeded = options->rand_seed != 0;
    if (s->seeded)
        pl_rand_seed(&s->rand, options->rand_seed);
    s->generation = options->generation;
    s->origin = options->origin != NULL ? pl_origin_ref(options->origin) : NULL;
    s->memory_limit = options->memory ? options->memory : DEFAULT_MEMORY;
    s->asking = -1;
    s->phase = PL_PHASE_LOAD;
    lua_atpanic(s->L, on_panic);
    return s;
}

struct pl_state *pl_state_create(const struct pl_sandbox_options *options, struct pl_err *err)
{
    struct pl_state *s = new_state(options);
    struct open_arguments args = {
        .s = s, .unsafe = options->unsafe, .math_seed = options->math_seed, .err = err};
    if (lua_cpcall(s->L, open_protected, &args) != 0) {
        pl_log(PL_LOG_ERROR, "a Lua state can't be made", pl_str("error", lua_tostring(s->L, -1)));
        args.failed = pl_err_set(err, PL_ESCRIPT, "a Lua state can't be made: %.300s",
                                 lua_tostring(s->L, -1));
    }
    luaJIT_setmode(s->L, 0, LUAJIT_MODE_ENGINE | (options->jit ? LUAJIT_MODE_ON : LUAJIT_MODE_OFF));
    lua_gc(s->L, LUA_GCSETPAUSE, GC_PAUSE);
    lua_gc(s->L, LUA_GCSETSTEPMUL, GC_SPEED);
    s->limits.compiles = options->jit;
    s->limits.who = script_of;
    s->limits.who_arg = s;
    pl_limits_init(&s->limits, s->L, s->memory_limit);
    pl_limits_watch_lines(&s->limits, options->lines);
    if (options->dog != NULL)
        pl_watchdog_add(options->dog, &s->limits);
    if (args.failed) {
        pl_state_destroy(s);
        return NULL;
    }
    return s;
}

void pl_state_destroy(struct pl_state *s)
{
    if (s == NULL)
        return;
    pl_watchdog_remove(&s->limits);
    pl_limits_deinit(&s->limits);
    if (s->own)
        lua_close(s->L);
    pl_limits_closed();
    pl_state_close(s);
    pl_free(s);
}

void pl_state_collect(struct pl_state *s)
{
    pl_shelf_close(s);
    pl_limits_collect(&s->limits, s->L);
    s->pins = 0;
    s->pins_kept = s->pinned;
}

/* After each cycle a small heap may grow by the slack instead of a share of itself. */
static void set_pause(struct pl_state *s)
{
    size_t used = pl_limits_used(&s->limits) + 1;
    lua_gc(s->L, LUA_GCSETPAUSE, GC_PAUSE + (int)(HEAP_SLACK * 100 / (used + HEAP_SLACK / 8)));
}

void pl_state_pay(struct pl_state *s)
{
    set_pause(s);
    if (s->pins < STEP_BYTES)
        return;
    if (s->pinned < s->pins_kept)
        s->pins_kept = s->pinned;
    if (s->pinned > s->pins_kept + s->pins_kept / 4 + PINS_SLACK &&
        lua_gc(s->L, LUA_GCSTEP, (int)(s->pins >> 10)) != 0)
        s->pins_kept = s->pinned;
    s->pins = 0;
}

int pl_state_call(struct pl_state *s, enum pl_phase phase, int64_t cpu_ns, int args, int results,
                  struct pl_fault *fault)
{
    enum pl_phase before = s->phase;
    s->phase = phase;
    pl_limits_enter(&s->limits, s->L, cpu_ns);
    int failed = pl_fault_pcall(s->L, s, args, results, fault);
    enum pl_excess excess = pl_limits_leave(&s->limits);
    s->phase = before;
    if (excess == PL_EXCESS_MEMORY)
        pl_state_collect(s);
    return failed;
}
