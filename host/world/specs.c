/* The Lua state of specs. It is not a sandbox: specs belong to the developer, and busted needs all
 * of Lua. Perilune's own modules are found in the binary, and perilune.host is that of a process
 * without a cluster, since scripts run in the lanes of worlds and never here.
 *
 * A hook ends a spec that computes without end: every HOOK_EVERY instructions it checks the CPU
 * time of this thread since a world was last asked. */
#include "world/specs.h"

#include "base/alloc.h"
#include "base/base.h"
#include "base/log.h"
#include "bind/bind.h"
#include "lua/string_seed.h"
#include "lua/lerr.h"
#include "lua/own_modules.h"
#include "world/binding.h"
#include "world/branch.h"

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <luajit.h>
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define HOOK_EVERY    1000000 /* instructions */
#define LIMIT_SECONDS 5
#define SEED          1          /* of hashes: `pairs` has the same order in each process */
#define KEPT          (32 << 20) /* bytes */

struct run {
    struct pl_slice input;
    struct pl_watchdog *dog;
    int log; /* the log of hosts goes there */
    int exit_code;
};

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void set_limit(lua_State *L)
{
    lua_pushnumber(L, cpu_seconds() + LIMIT_SECONDS);
    lua_setfield(L, LUA_REGISTRYINDEX, PL_SPEC_LIMIT);
}

/* Pushes "file:line: " of the spec; "": none of its functions runs. */
static void push_place(lua_State *L)
{
    lua_Debug at;
    lua_getfield(L, LUA_REGISTRYINDEX, PL_SPEC_STATE);
    struct pl_state *state = lua_touserdata(L, -1);
    lua_pop(L, 1);
    if (state != NULL && pl_lerr_where(L, state, 0, &at))
        lua_pushfstring(L, "%s:%d: ", pl_lerr_chunk(&at), at.currentline);
    else
        lua_pushliteral(L, "");
}

static void on_hook(lua_State *L, lua_Debug *ar)
{
    PL_UNUSED(ar);
    lua_getfield(L, LUA_REGISTRYINDEX, PL_SPEC_LIMIT);
    bool renewed = lua_isnil(L, -1);
    double until = lua_tonumber(L, -1);
    lua_pop(L, 1);
    if (!renewed && cpu_seconds() < until)
        return;
    set_limit(L); /* for the code after the test */
    if (renewed)
        return;
    push_place(L);
    lua_pushfstring(L, "the spec has computed for %d s without a pause: an endless loop?",
                    LIMIT_SECONDS);
    lua_concat(L, 2);
    lua_error(L);
}

/* renew(): a test, or work of a world, begins. */
static int specs_renew(lua_State *L)
{
    set_limit(L);
    return 0;
}

/* A loader for package.loaders. */
static int find_own(lua_State *L)
{
    const char *name = luaL_checkstring(L, 1);
    const struct pl_embedded *own = pl_own_find(name);
    if (own == NULL) {
        lua_pushfstring(L, "\n\tno module '%s' of Perilune's own", name);
        return 1;
    }
    lua_pushfstring(L, "=perilune:%s", pl_own_file(name));
    if (luaL_loadbufferx(L, pl_own_text(own).ptr, own->text_len, lua_tostring(L, -1), "t") != 0)
        return lua_error(L);
    return 1;
}

/* logged() -> log lines of hosts since the last call: lines of JSON. */
static int logged(lua_State *L)
{
    int fd = (int)lua_tointeger(L, lua_upvalueindex(1));
    off_t size = lseek(fd, 0, SEEK_CUR);
    char *text = pl_calloc(1, (size_t)size + 1);
    ssize_t got = pread(fd, text, (size_t)size, 0);
    lua_pushlstring(L, text, got > 0 ? (size_t)got : 0);
    pl_free(text);
    if (ftruncate(fd, 0) == 0)
        lseek(fd, 0, SEEK_SET);
    return 1;
}

/* quiet(): from now on hosts log nothing, which is faster. */
static int quiet(lua_State *L)
{
    pl_log_configure(PL_LOG_OFF, true, (int)lua_tointeger(L, lua_upvalueindex(1)));
    return 0;
}

static int open_world_module(lua_State *L)
{
    const struct run *run = lua_touserdata(L, lua_upvalueindex(1));
    pl_world_push(L, run->dog);
    lua_pushcfunction(L, specs_renew);
    lua_setfield(L, -2, "renew");
    lua_pushinteger(L, run->log);
    lua_pushcclosure(L, logged, 1);
    lua_setfield(L, -2, "logged");
    lua_pushinteger(L, run->log);
    lua_pushcclosure(L, quiet, 1);
    lua_setfield(L, -2, "quiet");
    lua_pushboolean(L, isatty(STDOUT_FILENO) && isatty(STDERR_FILENO));
    lua_setfield(L, -2, "terminal");
    pl_branch_add(L, run->dog, run->log);
    return 1;
}

static void add_modules(lua_State *L, struct run *run)
{
    lua_getglobal(L, "package");
    lua_getfield(L, -1, "preload");
    lua_pushcfunction(L, luaopen_perilune_host);
    lua_setfield(L, -2, "perilune.host");
    lua_pushlightuserdata(L, run);
    lua_pushcclosure(L, open_world_module, 1);
    lua_setfield(L, -2, "perilune.world");
    lua_getfield(L, -2, "loaders");
    for (int i = (int)lua_objlen(L, -1); i >= 2; i--) { /* after preload, before any file */
        lua_rawgeti(L, -1, i);
        lua_rawseti(L, -2, i + 1);
    }
    lua_pushcfunction(L, find_own);
    lua_rawseti(L, -2, 2);
    lua_pop(L, 3);
}

static int traceback(lua_State *L)
{
    luaL_traceback(L, L, lua_tostring(L, 1), 1);
    return 1;
}

static int run_protected(lua_State *L)
{
    struct run *run = lua_touserdata(L, 1);
    luaL_openlibs(L); /* which turns the compiler on; no hook ends compiled loops */
    luaJIT_setmode(L, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_OFF);
    add_modules(L, run);
    lua_sethook(L, on_hook, LUA_MASKCOUNT, HOOK_EVERY);
    set_limit(L);
    lua_pushcfunction(L, traceback);
    lua_getglobal(L, "require");
    lua_pushliteral(L, "perilune.tool.specs");
    lua_call(L, 1, 1);
    lua_pushlstring(L, run->input.ptr, run->input.len);
    if (lua_pcall(L, 1, 1, -3) != 0)
        return lua_error(L);
    run->exit_code = (int)lua_tointeger(L, -1);
    return 0;
}

int pl_specs_run(struct pl_slice input, enum pl_log_level level)
{
    struct run run = {.input = input, .exit_code = 1, .log = memfd_create("log", MFD_CLOEXEC)};
    if (run.log < 0) {
        fprintf(stderr, "perilune test: no memory for the log: %s\n", strerror(errno));
        return 1;
    }
    pl_log_configure(level, true, run.log);
    mallopt(M_MMAP_THRESHOLD, KEPT); /* memory of a world serves the next one */
    mallopt(M_TRIM_THRESHOLD, KEPT);
    run.dog = pl_watchdog_create();
    pl_string_seed(SEED);
    lua_State *L = luaL_newstate();
    pl_string_seed(0);
    if (lua_cpcall(L, run_protected, &run) != 0)
        fprintf(stderr, "perilune test: %s\n", lua_tostring(L, -1));
    lua_getfield(L, LUA_REGISTRYINDEX, PL_SPEC_STATE);
    void *state = lua_touserdata(L, -1);
    lua_close(L);
    pl_free(state);
    pl_watchdog_destroy(run.dog);
    pl_log_configure(level, false, STDERR_FILENO);
    close(run.log);
    return run.exit_code;
}
