/* A branch is a child of fork(2): it has the worlds, the Lua states and the clock of its parent, at
 * the same point. Only the thread of the watchdog and the file of the log are its own. It tells its
 * result through a pipe, and ends without cleaning up.
 *
 * The original must not go on before the branch has ended: both write to the same standard output.
 * A branch that does not end in time is killed. */
#include "world/branch.h"

#include "base/base.h"
#include "base/buf.h"
#include "base/check.h"
#include "base/clock.h"
#include "lua/region.h"
#include "lua/watchdog.h"
#include "world/binding.h"

#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT_MS  120000 /* for one execution; scripts and specs have limits of their own */
#define MOST_TEXT ((size_t)64 << 20) /* bytes of a result */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define BRANCHES                                                                                   \
    false /* all executions are to be seen in one process, and it may have no threads */
#else
#define BRANCHES true
#endif

static const char answer_key[] = "perilune.branch_answer"; /* registry: the pipe of a branch */

/* The file position belongs to both processes, so the branch gets a copy of the file. */
static void own_log(int log)
{
    char text[4096];
    off_t at = 0;
    int copy = memfd_create("log", MFD_CLOEXEC);
    PL_REQUIRE(copy >= 0);
    for (;;) {
        ssize_t got = pread(log, text, sizeof text, at);
        if (got <= 0)
            break;
        PL_REQUIRE(write(copy, text, (size_t)got) == got);
        at += got;
    }
    PL_REQUIRE(dup3(copy, log, O_CLOEXEC) == log);
    close(copy);
}

static int go_on(lua_State *L, int log, const int ends[2])
{
    close(ends[0]);
    own_log(log);
    lua_gc(L, LUA_GCSTOP, 0); /* it would touch, and so copy, all pages; the branch is short */
    pl_region_own(L);
    lua_pushnil(L); /* its CPU time begins anew */
    lua_setfield(L, LUA_REGISTRYINDEX, PL_SPEC_LIMIT);
    lua_pushinteger(L, ends[1]);
    lua_setfield(L, LUA_REGISTRYINDEX, answer_key);
    lua_pushboolean(L, true);
    return 1;
}

/* What the branch says until it ends. */
static bool hear(int from, struct pl_buf *text)
{
    char some[16384];
    int64_t end = pl_clock_mono(pl_clock_system()) + LIMIT_MS * PL_MS;
    for (;;) {
        int64_t left = (end - pl_clock_mono(pl_clock_system())) / PL_MS;
        struct pollfd wanted = {.fd = from, .events = POLLIN};
        int ready = left > 0 ? poll(&wanted, 1, (int)left) : 0;
        if (ready < 0 && errno == EINTR)
            continue;
        ssize_t got = ready > 0 ? read(from, some, sizeof some) : -1;
        if (got == 0)
            return true;
        if (got < 0 || text->len + (size_t)got > MOST_TEXT)
            return false;
        pl_buf_add(text, some, (size_t)got);
    }
}

static bool has_finished(pid_t child)
{
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return false;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int branch_fail(lua_State *L, const char *message)
{
    lua_pushboolean(L, false);
    lua_pushnil(L);
    lua_pushstring(L, message);
    return 3;
}

static int branch_fork(lua_State *L)
{
    struct pl_watchdog *dog = lua_touserdata(L, lua_upvalueindex(1));
    int ends[2];
    fflush(NULL); /* else the branch writes it again */
    if (pipe2(ends, O_CLOEXEC) != 0)
        return branch_fail(L, strerror(errno));
    pid_t child = pl_watchdog_fork(dog);
    if (child == 0)
        return go_on(L, (int)lua_tointeger(L, lua_upvalueindex(2)), ends);
    close(ends[1]);
    struct pl_buf text = PL_BUF_INIT;
    bool heard = child > 0 && hear(ends[0], &text);
    close(ends[0]);
    if (child > 0 && !heard)
        kill(child, SIGKILL);
    bool finished = child > 0 && has_finished(child);
    lua_pushboolean(L, false);
    lua_pushlstring(L, pl_buf_z(&text), text.len);
    pl_buf_deinit(&text);
    return heard && finished ? 2 : branch_fail(L, "the branch did not finish");
}

static int branch_finish(lua_State *L)
{
    size_t len;
    const char *text = luaL_checklstring(L, 1, &len);
    lua_getfield(L, LUA_REGISTRYINDEX, answer_key);
    luaL_argcheck(L, lua_isnumber(L, -1), 1, "this process is no branch");
    int to = (int)lua_tointeger(L, -1);
    fflush(NULL);
    while (len > 0) {
        ssize_t told = write(to, text, len);
        if (told < 0 && errno != EINTR)
            _exit(1);
        text += told > 0 ? told : 0;
        len -= told > 0 ? (size_t)told : 0;
    }
    _exit(0);
}

void pl_branch_add(lua_State *L, struct pl_watchdog *dog, int log)
{
    if (!BRANCHES)
        return;
    lua_pushlightuserdata(L, dog);
    lua_pushinteger(L, log);
    lua_pushcclosure(L, branch_fork, 2);
    lua_setfield(L, -2, "fork");
    lua_pushcfunction(L, branch_finish);
    lua_setfield(L, -2, "finish");
}
