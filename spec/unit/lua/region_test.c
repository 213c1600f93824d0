/* A state goes on with memory of a region. It is never closed, so each test is in a copy of the
 * process. */
#include "lua/region.h"
#include "support/test.h"

#include <lauxlib.h>
#include <lualib.h>
#include <sys/wait.h>
#include <unistd.h>

#define HAS_RAISED 3

/* What the code returns, as a copy of the process sees it. */
static int result_of(const char *before, const char *code)
{
    pid_t child = fork();
    if (child == 0) {
        lua_State *L = luaL_newstate();
        luaL_openlibs(L);
        int failed = luaL_dostring(L, before);
        pl_region_own(L);
        failed = failed || luaL_dostring(L, code);
        _exit(failed ? HAS_RAISED : (int)lua_tointeger(L, -1));
    }
    int status = 0;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

TEST(a_state_keeps_what_it_had_and_grows_it)
{
    CHECK_INT(result_of("old = {} for i = 1, 1000 do old[i] = 'old ' .. i end",
                        "for i = 1001, 50000 do old[i] = 'new ' .. i end\n"
                        "for i = 1, 1000 do assert(old[i] == 'old ' .. i) end\n"
                        "for i = 1001, 50000 do assert(old[i] == 'new ' .. i) end\n"
                        "return 10"),
              10);
}

TEST(garbage_collection_gives_back_old_and_new_memory)
{
    CHECK_INT(result_of("old = {} for i = 1, 10000 do old[i] = {i} end",
                        "local new = {} for i = 1, 10000 do new[i] = {old[i][1]} end\n"
                        "old = nil collectgarbage() collectgarbage()\n"
                        "for i = 1, 10000 do assert(new[i][1] == i) end\n"
                        "return 11"),
              11);
}

TEST(a_full_region_is_no_limit)
{
    CHECK_INT(
        result_of("",
                  "local all = {}\n"
                  "for i = 1, 100 do all[i] = ('x'):rep(1048576 + i) end\n"
                  "for i = 1, 100 do assert(#all[i] == 1048576 + i and all[i]:sub(-1) == 'x') end\n"
                  "local t = {} for i = 1, 100000 do t[i] = i end\n"
                  "return #t == 100000 and 12 or 0"),
        12);
}

TEST_MAIN()
