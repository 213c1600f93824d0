/* Hostile scripts end within their limits, and the state goes on. */
#include "state_support.h"

#define LIMIT (200 * PL_MS)

static struct pl_state *state_with_dog(struct pl_watchdog **dog)
{
    *dog = pl_watchdog_create();
    return new_state(*dog, 32 * MIB);
}

static void check_ended(struct pl_state *s, const char *code, const char *why)
{
    struct pl_fault fault = {.message = NULL};
    int failed = run_code(s, code, NULL, LIMIT, &fault);
    if (failed == 0) {
        TEST_FAIL("%s: was not ended", code);
        lua_settop(s->L, 0);
    } else if (strstr(fault.message, why) == NULL) {
        TEST_FAIL("%s: ended with \"%s\", want \"%s\"", code, fault.message, why);
    }
    pl_fault_deinit(&fault);
    /* the state is as good as before */
    CHECK_CODE(s, "local t = {} for i = 1, 1000 do t[i] = tostring(i) end return #t", NULL, "1000");
}

TEST(loops_are_ended_whatever_they_hide_behind)
{
    static const char *const codes[] = {
        "while true do end",
        "for i = 1, 1e12 do end",
        "local function f() end while true do f() end",
        "local function f() return f() end f()",
        "local s = ('x'):rep(1000) while true do s:find('y', 1, true) end",
        "while true do pcall(function() while true do end end) end",
        "local function f() pcall(f) f() end f()",
        "while true do xpcall(function() while true do end end, function() while true do end end) "
        "end",
        "local function f() return pcall(pcall, pcall, f) end while true do f() end",
        "coroutine.wrap(function() while true do end end)()",
        "while true do coroutine.resume(coroutine.create(function() while true do end end)) end",
        "table.sort({3, 2, 1, 5, 4}, function() while true do end end)",
        "(('x'):rep(10)):gsub('x', function() while true do end end)",
        "setmetatable({}, {__index = function(t, k) return t[k + 1] end})[1]() while true do end",
        "local t = setmetatable({}, {__tostring = function() while true do end end}) "
        "while true do pcall(tostring, t) end",
        "load(function() while true do end end) while true do end",
        "error(setmetatable({}, {__tostring = function() while true do end end}))",
    };
    struct pl_watchdog *dog;
    struct pl_state *s = state_with_dog(&dog);
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        bool other = strncmp(codes[i], "setmeta", 7) == 0 || strncmp(codes[i], "error(", 6) == 0;
        check_ended(s, codes[i], other ? "" : "CPU limit exceeded");
    }
    pl_state_destroy(s);
    pl_watchdog_destroy(dog);
}

TEST(memory_bombs_are_ended_at_the_soft_limit)
{
    static const char *const codes[] = {
        "local t = {} for i = 1, 1e9 do t[i] = {i} end",
        "local t = {} for i = 1, 1e9 do t[i] = tostring(i) end",
        "for k = 1, 20 do pcall(function() local t = {} for i = 1, 1e9 do t[i] = tostring(i) end "
        "end) end",
        "for k = 1, 20 do pcall(function() local t = {} for i = 1, 1e9 do t[i] = 'k' .. i end end) "
        "end",
        "local s = 'x' while true do s = s .. s end",
        "local t = {} while true do t[#t + 1] = function() return t end end",
        "local t = {} while true do t[#t + 1] = coroutine.create(print) end",
        "local t = {} while true do t[#t + 1] = coroutine.wrap(function() coroutine.yield() end) "
        "t[#t]() end",
        "string.rep('x', 1e9)",
        "local s = ('x'):rep(1e6) string.rep(s, 1e6)",
    };
    struct pl_watchdog *dog;
    struct pl_state *s = state_with_dog(&dog);
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        struct pl_fault fault = {.message = NULL};
        int failed = run_code(s, codes[i], NULL, 20 * PL_SECOND, &fault);
        if (failed == 0 || strstr(fault.message, "memory limit") == NULL)
            TEST_FAIL("%s: %s", codes[i], failed ? fault.message : "was not ended");
        lua_settop(s->L, 0);
        pl_fault_deinit(&fault);
        pl_state_collect(s);
        if (pl_limits_used(&s->limits) > 4 * MIB)
            TEST_FAIL("%s: keeps %zu bytes", codes[i], pl_limits_used(&s->limits));
        CHECK_CODE(s, "return 1", NULL, "1");
    }
    pl_state_destroy(s);
    pl_watchdog_destroy(dog);
}

/* Each wants several times the hard limit in one call, and is refused. */
TEST(one_call_that_wants_too_much_is_refused)
{
    static const char *const codes[] = {
        "local s = ('x'):rep(3e7) return s .. s .. s .. s .. s .. s .. s .. s .. s",
        "local s, t = ('x'):rep(1e6), {} for i = 1, 1e4 do t[i] = s end table.concat(t)",
        "(('x'):rep(1e6)):gsub('x', ('y'):rep(1e6))",
        "local y = ('y'):rep(1e6) local _ = (('x'):rep(1e6)):gsub('x', function() return y end)",
        "local s = ('x'):rep(2e7) local _ = (('%s'):rep(20)):format(s, s, s, s, s, s, s, s, s, s, "
        "s, s, s, "
        "s, s, s, s, s, s, s)",
        "local s = ('x'):rep(3e7) while true do pcall(function() "
        "return s .. s .. s .. s .. s .. s .. s .. s .. s end) end",
        "local s = ('x'):rep(3e7) coroutine.wrap(function() "
        "return s .. s .. s .. s .. s .. s .. s .. s .. s end)()",
    };
    struct pl_watchdog *dog;
    struct pl_state *s = state_with_dog(&dog);
    for (int turn = 0; turn < 3; turn++) {
        for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
            struct pl_fault fault = {.message = NULL};
            int failed = run_code(s, codes[i], NULL, 20 * PL_SECOND, &fault);
            if (failed == 0 || strstr(fault.message, "script memory limit") == NULL)
                TEST_FAIL("%s: %s", codes[i], failed ? fault.message : "was not ended");
            lua_settop(s->L, 0);
            pl_fault_deinit(&fault);
            pl_state_collect(s);
            CHECK(pl_limits_used(&s->limits) < 9 * MIB);
        }
    }
    pl_state_destroy(s);
    pl_watchdog_destroy(dog);
}

/* The message of the code's error; owned. */
static char *failure_of(struct pl_state *s, const char *code, int64_t cpu_ns)
{
    struct pl_fault fault = {.message = NULL};
    int failed = run_code(s, code, NULL, cpu_ns, &fault);
    char *message = pl_strdup(failed ? fault.message : "did not fail");
    pl_fault_deinit(&fault);
    lua_settop(s->L, 0);
    pl_state_collect(s);
    return message;
}

TEST(a_limit_is_said_with_the_line_of_the_script_that_met_it)
{
    static const char *const codes[] = {
        "local perilune = require('perilune')\nwhile true do perilune.deepcopy({1}) end",
        "local perilune = require('perilune')\nperilune.try(function() while true do end end)",
        "local f = coroutine.wrap(function()\nwhile true do end\nend) f()",
        "\nwhile true do coroutine.wrap(function() return 1 end)() end",
        "\nwhile true do ('x'):rep(100):find('y') end",
        "\nwhile true do xpcall(error, function(e) return e end) end",
        /* no frame of the script is left when the limit is raised for good */
        "return coroutine.wrap(pcall)(function()\nwhile true do end end)",
        /* LuaJIT knows nothing of lines where a block was refused */
        "local s = ('x'):rep(3e7)\nlocal t = s .. s .. s .. s .. s .. s .. s .. s .. s",
        "local s, t = ('x'):rep(1e6), {} for i = 1, 1e4 do t[i] = s end\nlocal u = table.concat(t)",
        "local s = ('x'):rep(3e7) local f = function()\nreturn s .. s .. s .. s .. s .. s .. s .. "
        "s "
        "end f()",
        "local t = {}\nwhile true do t[#t + 1] = ('x'):rep(1e6) .. #t end",
    };
    struct pl_watchdog *dog;
    struct pl_state *s = state_with_dog(&dog);
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        char *message = failure_of(s, codes[i], LIMIT);
        if (strncmp(message, "test.lua:2: script ", 19) != 0)
            TEST_FAIL("%s: %s", codes[i], message);
        pl_free(message);
    }
    pl_state_destroy(s);
    pl_watchdog_destroy(dog);
}

TEST(a_place_is_said_of_its_own_slice_alone)
{
    struct pl_watchdog *dog;
    struct pl_state *s = state_with_dog(&dog);
    pl_free(failure_of(s, "\n\n\nwhile true do end", LIMIT));
    char *message = failure_of(s, "local s = ('x'):rep(3e7) return s .. s .. s .. s .. s .. s .. s",
                               20 * PL_SECOND);
    CHECK_STR(message, "test.lua:1: script memory limit exceeded (32 MiB)");
    pl_free(message);
    pl_state_destroy(s);
    pl_watchdog_destroy(dog);
}

/* The parser alone may make more than a state can survive. */
TEST(source_text_is_a_small_part_of_the_memory_limit)
{
    struct pl_state *s = new_state(NULL, 16 * MIB);
    CHECK_FAILS(s, "local f = loadstring((' '):rep(1048577))", NULL,
                "test.lua:1: loadstring: the text is larger than a sixteenth");
    CHECK_FAILS(s, "return load((' '):rep(1048577))", NULL, "load: the text is larger than");
    CHECK_FAILS(s,
                "local i = 0 return load(function() i = i + 1 return i < 3 and (' '):rep(600000) "
                "or nil end)",
                NULL, "load: the text is larger than");
    CHECK_CODE(s, "local f, e = load(function() return false end) return {f == nil, e}", NULL,
               "[true,\"reader function must return a string\"]");
    CHECK_CODE(s, "return loadstring((' '):rep(1048568) .. 'return 1')()", NULL, "1");
    CHECK_FAILS(
        s, "local f = ('function g()' .. ('f{1}'):rep(2000) .. ' end '):rep(130) loadstring(f)",
        NULL, "memory limit exceeded (16 MiB)");
    pl_state_destroy(s);
}

#define DOUBLED "local d = {} for _ = 1, 40 do d = {a = d, b = d} end "

TEST(a_table_that_is_in_many_places_ends_at_a_limit)
{
    struct pl_watchdog *dog;
    struct pl_state *s = state_with_dog(&dog);
    check_ended(s, DOUBLED "return require('perilune').json.encode(d)", "limit exceeded");
    check_ended(s, DOUBLED "return require('perilune').hash(d)", "limit exceeded");
    check_ended(s, DOUBLED "return require('perilune').deepcopy(d)", "limit exceeded");
    check_ended(s, DOUBLED "local e = d " DOUBLED "return require('perilune').equal(d, e)",
                "limit exceeded");
    check_ended(s, DOUBLED "return require('cjson').encode(d)", "limit exceeded");
    pl_state_destroy(s);
    pl_watchdog_destroy(dog);
}

#ifndef __SANITIZE_THREAD__ /* its own record of the stack ends first, and it dies of that */
TEST(the_c_stack_ends_before_it_is_full)
{
    static const char *const codes[] = {
        "local function f() return (('x'):gsub('x', f)) end f()",
        "local t t = setmetatable({}, {__tostring = function() print(t) return '' end}) print(t)",
        "local function f() coroutine.wrap(f)() return 1 end f()",
        "local function f() local _ = ('x'):gsub('x', coroutine.wrap(f)) return 1 end f()",
        "local function f() table.sort({2, 1}, f) return false end f()",
        "local t t = setmetatable({}, {__tostring = function() return ('%s'):format(t) end}) "
        "tostring(t)",
    };
    struct pl_watchdog *dog;
    struct pl_state *s = state_with_dog(&dog);
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        struct pl_fault fault = {.message = NULL};
        CHECK(run_code(s, codes[i], NULL, 20 * PL_SECOND, &fault) != 0);
        if (fault.message != NULL && strstr(fault.message, "stack overflow") == NULL &&
            strstr(fault.message, "memory limit") == NULL)
            TEST_FAIL("%s: %s", codes[i], fault.message);
        pl_fault_deinit(&fault);
        lua_settop(s->L, 0);
        CHECK_CODE(s, "return 1", NULL, "1");
    }
    pl_state_destroy(s);
    pl_watchdog_destroy(dog);
}
#endif

TEST(garbage_alone_ends_nobody)
{
    struct pl_watchdog *dog;
    struct pl_state *s = state_with_dog(&dog);
    CHECK_CODE(s, "for i = 1, 300000 do local t = {i, {i}} end return 1", NULL, "1");
    CHECK_CODE(s,
               "local keep = {} for i = 1, 100000 do keep[i] = {i} end "
               "for i = 1, 300000 do local t = {i, {i}} end return #keep",
               NULL, "100000");
    pl_state_destroy(s);
    pl_watchdog_destroy(dog);
}

TEST(patterns_work_on_at_most_a_mebibyte)
{
    struct pl_state *s = new_state(NULL, 64 * MIB);
    CHECK_FAILS(s, "local m = (('x'):rep(1048577)):match('y') return m", NULL,
                "test.lua:1: string.match: pat");
    CHECK_FAILS(s, "return string.gsub(('x'):rep(1048577), 'y', '')", NULL, "at most 1 MiB");
    CHECK_CODE(s, "return {(('x'):rep(1048577)):find('xx', 1, true)}", NULL, "[1,2]");
    CHECK_CODE(s, "return {(('x'):rep(1048576)):find('y')}", NULL, "{}");
    pl_state_destroy(s);
}

TEST(time_spent_waiting_for_a_cpu_does_not_count)
{
    struct pl_watchdog *dog;
    struct pl_state *s = state_with_dog(&dog);
    /* 150 ms of computing in each of several slices: each has its own limit. */
    for (int i = 0; i < 3; i++) {
        struct pl_fault fault = {.message = NULL};
        int failed = run_code(s, "local c = os.clock() while os.clock() - c < 0.15 do end return 1",
                              NULL, 10 * PL_SECOND, &fault);
        CHECK_INT(failed, 0);
        pl_fault_deinit(&fault);
        lua_settop(s->L, 0);
    }
    pl_state_destroy(s);
    pl_watchdog_destroy(dog);
}

TEST_MAIN()
