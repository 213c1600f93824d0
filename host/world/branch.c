/* A branch is a child of fork(2): it has the worlds, the Lua states and the clock of its parent, at
 * the same point. Only the timer of the watchdog and the file of the log are its own. It tells its
 * result through a pipe, and ends without cleaning up.
 *
 * Several branches may run at a time, and all write to the same standard output, each whole
 * buffers. A branch that does not end in time, or that nobody waits for any more, is killed. */
#include "world/branch.h"

#include "base/base.h"
#include "base/buf.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/file.h"
#include "lua/region.h"
#include "lua/watchdog.h"
#include "world/binding.h"

#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT         120 /* seconds for one execution; scripts and specs have limits of their own */
#define MOST_TEXT     ((size_t)64 << 20) /* bytes of a result */
#define MOST_BRANCHES 64                 /* at a time */
#define BRANCH        "perilune.branch"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define BRANCHES                                                                                   \
    false /* all executions are to be seen in one process, and it may have no threads */
#else
#define BRANCHES true
#endif

static const char answer_key[] = "perilune.branch_answer"; /* registry: the pipe of a branch */

/* A branch that runs, as the original sees it. */
struct branch {
    pid_t pid;          /* 0: it has ended */
    int from;           /* owned: the pipe of its result */
    int64_t end;        /* ns of the monotonic clock, when it is killed */
    struct pl_buf text; /* of its result until now */
};

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
        PL_REQUIRE(pl_file_put(copy, pl_slice(text, (size_t)got)));
        at += got;
    }
    PL_REQUIRE(dup3(copy, log, O_CLOEXEC) == log);
    close(copy);
}

/* Nobody else wants the result of a branch. */
static void end_with(pid_t original)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != original)
        _exit(1); /* it had ended before */
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

/* ---- in the original ---- */

static struct branch *branch_at(lua_State *L, int index)
{
    return luaL_checkudata(L, index, BRANCH);
}

/* Ends a branch that still runs. Returns whether it has ended by itself, with its whole result. */
static bool end_branch(struct branch *branch, bool is_heard)
{
    int status = -1;
    if (branch->pid <= 0)
        return false;
    if (!is_heard)
        kill(branch->pid, SIGKILL);
    while (waitpid(branch->pid, &status, 0) < 0 && errno == EINTR)
        ;
    close(branch->from);
    branch->pid = 0;
    return is_heard && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int branch_gc(lua_State *L)
{
    struct branch *branch = branch_at(L, 1);
    end_branch(branch, false);
    pl_buf_deinit(&branch->text);
    return 0;
}

static struct branch *push_branch(lua_State *L)
{
    struct branch *branch = lua_newuserdata(L, sizeof *branch);
    *branch = (struct branch){.from = -1, .text = PL_BUF_INIT};
    if (luaL_newmetatable(L, BRANCH)) {
        lua_pushcfunction(L, branch_gc);
        lua_setfield(L, -2, "__gc");
    }
    lua_setmetatable(L, -2);
    return branch;
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
    lua_Integer limit = luaL_optinteger(L, 1, LIMIT);
    int ends[2];
    lua_pushboolean(L, false);
    struct branch *branch = push_branch(L);
    fflush(NULL); /* else the branch writes it again */
    if (pipe2(ends, O_CLOEXEC) != 0)
        return branch_fail(L, strerror(errno));
    pid_t original = getpid(), child = pl_watchdog_fork(dog);
    if (child == 0) {
        end_with(original);
        return go_on(L, (int)lua_tointeger(L, lua_upvalueindex(2)), ends);
    }
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        return branch_fail(L, "there is no room for another process");
    }
    branch->pid = child;
    branch->from = ends[0];
    branch->end = pl_clock_mono(pl_clock_system()) + limit * PL_SECOND;
    return 2;
}

/* The branches of the array at `index`, in `polled`. Returns the ms until the first has to have
 * ended. */
static int gather(lua_State *L, int index, struct pollfd *polled, int count)
{
    int64_t now = pl_clock_mono(pl_clock_system()), first = INT64_MAX;
    for (int i = 0; i < count; i++) {
        lua_rawgeti(L, index, i + 1);
        const struct branch *branch = branch_at(L, -1);
        luaL_argcheck(L, branch->pid > 0, index, "a branch has ended already");
        polled[i] = (struct pollfd){.fd = branch->from, .events = POLLIN};
        first = branch->end < first ? branch->end : first;
        lua_pop(L, 1);
    }
    return first > now ? (int)((first - now + PL_MS - 1) / PL_MS) : 0;
}

enum hearing {
    MORE,  /* it still runs */
    WHOLE, /* it has said everything */
    OVER,  /* it is late, or says too much */
};

static enum hearing hear(struct branch *branch, const struct pollfd *polled)
{
    char some[16384];
    if (polled->revents == 0)
        return pl_clock_mono(pl_clock_system()) < branch->end ? MORE : OVER;
    ssize_t got = read(branch->from, some, sizeof some);
    if (got == 0)
        return WHOLE;
    if (got < 0 || branch->text.len + (size_t)got > MOST_TEXT)
        return got < 0 && errno == EINTR ? MORE : OVER;
    pl_buf_add(&branch->text, some, (size_t)got);
    return MORE;
}

static int push_result(lua_State *L, struct branch *branch, int i, enum hearing heard)
{
    lua_pushinteger(L, i + 1);
    if (!end_branch(branch, heard == WHOLE)) {
        lua_pushnil(L);
        lua_pushliteral(L, "the branch did not finish");
        return 3;
    }
    lua_pushlstring(L, pl_buf_z(&branch->text), branch->text.len);
    return 2;
}

static int branch_wait(lua_State *L)
{
    struct pollfd polled[MOST_BRANCHES];
    luaL_checktype(L, 1, LUA_TTABLE);
    int count = (int)lua_objlen(L, 1);
    luaL_argcheck(L, count >= 1 && count <= MOST_BRANCHES, 1, "no branch, or too many");
    for (;;) {
        if (poll(polled, (nfds_t)count, gather(L, 1, polled, count)) < 0)
            memset(polled, 0, sizeof polled); /* a signal */
        for (int i = 0; i < count; i++) {
            lua_rawgeti(L, 1, i + 1);
            struct branch *branch = branch_at(L, -1);
            enum hearing heard = hear(branch, &polled[i]);
            if (heard != MORE)
                return push_result(L, branch, i, heard);
            lua_pop(L, 1);
        }
    }
}

/* ---- in the branch ---- */

static int branch_finish(lua_State *L)
{
    size_t len;
    const char *text = luaL_checklstring(L, 1, &len);
    lua_getfield(L, LUA_REGISTRYINDEX, answer_key);
    luaL_argcheck(L, lua_isnumber(L, -1), 1, "this process is no branch");
    int to = (int)lua_tointeger(L, -1);
    fflush(NULL);
    _exit(pl_file_put(to, pl_slice(text, len)) ? 0 : 1);
}

/* Those that this process may use. */
static int processors(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

void pl_branch_add(lua_State *L, struct pl_watchdog *dog, int log)
{
    if (!BRANCHES)
        return;
    lua_pushlightuserdata(L, dog);
    lua_pushinteger(L, log);
    lua_pushcclosure(L, branch_fork, 2);
    lua_setfield(L, -2, "fork");
    lua_pushcfunction(L, branch_wait);
    lua_setfield(L, -2, "wait");
    lua_pushcfunction(L, branch_finish);
    lua_setfield(L, -2, "finish");
    lua_pushinteger(L, processors());
    lua_setfield(L, -2, "processors");
}
