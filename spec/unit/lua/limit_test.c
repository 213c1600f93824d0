/* Hostile scripts end within their limits, and the state stays usable. */
#include "lua/profile.h"
#include "support/state_support.h"

#include <sys/wait.h>
#include <unistd.h>

/* CPU time, which many endless loops here use completely; a busy machine does not shorten it. */
#define LIMIT (30 * PL_MS)
/* Code that ends by itself must not be ended before, even on the slowest machine. */
#define NO_LIMIT (20 * PL_SECOND)

static struct pl_state *state_with_dog(struct pl_watchdog **dog)
{
    *dog = pl_watchdog_create();
    return new_state(*dog, 32 * MIB);
}

static void check_ended_within(struct pl_state *s, const char *code, int64_t cpu_ns,
                               const char *why)
{
    struct pl_fault fault = {.message = NULL};
    int failed = run_code(s, code, NULL, cpu_ns, &fault);
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

static void check_ended(struct pl_state *s, const char *code, const char *why)
{
    check_ended_within(s, code, LIMIT, why);
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

static bool is_ended(struct pl_state *s, const char *code)
{
    struct pl_fault fault = {.message = NULL};
    bool ended = run_code(s, code, NULL, LIMIT, &fault) != 0 &&
                 strstr(fault.message, "CPU limit exceeded") != NULL;
    pl_fault_deinit(&fault);
    return ended;
}

TEST(loops_are_ended_in_a_copy_of_the_process)
{
    struct pl_watchdog *dog;
    struct pl_state *s = state_with_dog(&dog);
    pid_t child = pl_watchdog_fork(dog);
    if (child == 0)
        _exit(is_ended(s, "while true do end") &&
                      is_ended(s, "while true do pcall(function() while true do end end) end")
                  ? 7
                  : 8);
    int status = 0;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK_INT(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 7);
    CHECK(is_ended(s, "while true do end"));
    pl_state_destroy(s);
    pl_watchdog_destroy(dog);
}

TEST(a_profile_names_the_lines_that_compute)
{
    struct pl_watchdog *dog;
    struct pl_buf stacks = PL_BUF_INIT;
    struct pl_state *s = state_with_dog(&dog);
    pl_watchdog_profile_begin(dog);
    size_t samples = 0;
    for (int i = 0; i < 1000 && samples == 0; i++) {
        CHECK_CODE(
            s,
            "local function busy() local n = 0\nfor i = 1, 1e7 do n = n + i % 3 end return n "
            "end\nbusy() return 1",
            NULL, "1");
        samples = pl_watchdog_profile_end(dog, &stacks);
        pl_watchdog_profile_begin(dog);
    }
    CHECK(samples > 0);
    if (strstr(pl_buf_z(&stacks), "busy@test.lua:1;test.lua:2 ") == NULL)
        TEST_FAIL("%s", pl_buf_z(&stacks));
    pl_watchdog_profile_end(dog, &stacks);
    CHECK(!pl_watchdog_try_destroy(dog));
    pl_state_destroy(s);
    CHECK(pl_watchdog_try_destroy(dog));
    pl_buf_deinit(&stacks);
}

TEST(a_profile_keeps_so_many_stacks_and_counts_the_others)
{
    struct pl_profile *profile = pl_profile_create();
    struct pl_buf out = PL_BUF_INIT;
    for (int i = 0; i < 5000; i++) {
        char stack[16];
        snprintf(stack, sizeof stack, "a;%d", i);
        pl_profile_count(profile, pl_slice_z(stack));
    }
    pl_profile_count(profile, pl_slice_z("a;7"));
    CHECK_INT(pl_profile_write(profile, &out), 5001);
    CHECK(strstr(pl_buf_z(&out), "(others) 1000\n") != NULL);
    CHECK(strstr(pl_buf_z(&out), "a;7 2\n") != NULL);
    pl_buf_deinit(&out);
    pl_profile_destroy(profile);
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
        int failed = run_code(s, codes[i], NULL, NO_LIMIT, &fault);
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
            int failed = run_code(s, codes[i], NULL, NO_LIMIT, &fault);
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
        /* no frame of the script is left when the limit finally raises */
        "return coroutine.wrap(pcall)(function()\nwhile true do end end)",
        /* LuaJIT knows no line when a block is refused */
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
    char *message =
        failure_of(s, "local s = ('x'):rep(3e7) return s .. s .. s .. s .. s .. s .. s", NO_LIMIT);
    CHECK_STR(message, "test.lua:1: script memory limit exceeded (32 MiB)");
    pl_free(message);
    pl_state_destroy(s);
    pl_watchdog_destroy(dog);
}

/* The parser alone may allocate more than a state can survive. */
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

/* Three bytes of text make an empty table, which needs fifty times as many. */
#ifndef __SANITIZE_THREAD__ /* these take minutes there, and concern no threads */
TEST(documents_of_many_small_tables_end_at_the_limit)
{
    static const char *const codes[] = {
        "require('perilune').json.decode('[' .. ('[],'):rep(2000000) .. '1]')",
        "require('perilune').json.decode('[' .. ('{},'):rep(2000000) .. '1]')",
        "return #require('perilune').json.decode('{\"a\":[' .. ('[],'):rep(2000000) .. '1]}').a",
        "local p = require('perilune') "
        "p.deepcopy(p.json.decode('[' .. ('[[]],'):rep(1000000) .. '1]'))",
    };
    struct pl_watchdog *dog;
    struct pl_state *s = state_with_dog(&dog);
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        check_ended_within(s, codes[i], NO_LIMIT, "script memory limit exceeded (32 MiB)");
    pl_state_destroy(s);
    s = new_state(dog, 8 * MIB);
    check_ended_within(s, "require('perilune').yaml.decode('[' .. ('[],'):rep(900000) .. '1]')",
                       NO_LIMIT, "script memory limit exceeded (8 MiB)");
    check_ended_within(s, "require('perilune').yaml.decode_all(('---\\n[]\\n'):rep(400000))",
                       NO_LIMIT, "script memory limit exceeded (8 MiB)");
    CHECK_CODE(s, "return require('perilune').yaml.decode_all('---\\na: 1\\n---\\n- 2\\n')", NULL,
               "[{\"a\":1},[2]]");
    pl_state_destroy(s);
    pl_watchdog_destroy(dog);
}
#endif

TEST(what_is_encoded_is_within_the_memory_limit)
{
    struct pl_state *s = new_state(NULL, 8 * MIB);
    CHECK_FAILS(s,
                "local t, text = {}, ('x'):rep(1048576) for i = 1, 10 do t[i] = text end\n"
                "require('perilune').json.encode(t)",
                NULL, "more than 8 MiB can't be encoded");
    pl_state_destroy(s);
}

#define DOUBLED "local d = {} for _ = 1, 40 do d = {a = d, b = d} end "

TEST(a_table_that_is_in_many_places_ends_at_a_limit)
{
    struct pl_watchdog *dog;
    struct pl_state *s = state_with_dog(&dog);
    check_ended(s, DOUBLED "return require('perilune').hash(d)", "limit exceeded");
    check_ended(s, DOUBLED "return require('perilune').deepcopy(d)", "limit exceeded");
    check_ended(s, DOUBLED "local e = d " DOUBLED "return require('perilune').equal(d, e)",
                "limit exceeded");
    pl_state_destroy(s);
    pl_watchdog_destroy(dog);
}

/* Text has a separate limit, which a fast machine would reach within LIMIT. */
TEST(text_of_a_table_that_is_in_many_places_ends_at_a_limit)
{
    static const char *const encoders[] = {"require('perilune').json", "require('cjson')"};
    struct pl_watchdog *dog;
    struct pl_state *s = state_with_dog(&dog);
    for (size_t i = 0; i < PL_ARRAY_LEN(encoders); i++) {
        char code[160];
        snprintf(code, sizeof code, DOUBLED "return %s.encode(d)", encoders[i]);
        check_ended_within(s, code, 20 * PL_MS, "CPU limit exceeded");
        check_ended_within(s, code, NO_LIMIT, "more than 32 MiB can't be encoded");
    }
    pl_state_destroy(s);
    pl_watchdog_destroy(dog);
}

/* Their memory is freed; otherwise a sanitizer reports it. */
TEST(decoding_again_and_again_is_ended)
{
    struct pl_watchdog *dog;
    struct pl_state *s = state_with_dog(&dog);
    check_ended(s,
                "local text = '[' .. ('[1],'):rep(1e5) .. '1]' "
                "while true do require('perilune').json.decode(text) end",
                "limit exceeded");
    check_ended(s,
                "local text = '[' .. ('[1],'):rep(1e4) .. '1]' "
                "while true do require('perilune').yaml.decode(text) end",
                "limit exceeded");
    check_ended(s,
                "local t = {} for i = 1, 1e4 do t['x' .. i] = {} end "
                "while true do require('perilune').merge(t, t) end",
                "limit exceeded");
    pl_state_destroy(s);
    pl_watchdog_destroy(dog);
}

#ifndef __SANITIZE_THREAD__ /* its record of the stack overflows first, which ends the process */
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
        CHECK(run_code(s, codes[i], NULL, NO_LIMIT, &fault) != 0);
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

TEST(a_limit_is_of_one_slice_and_of_cpu_time)
{
    struct pl_watchdog *dog;
    struct pl_state *s = state_with_dog(&dog);
    /* Together they compute longer than the limit, which holds for each of them. */
    for (int i = 0; i < 5; i++) {
        struct pl_fault fault = {.message = NULL};
        int failed = run_code(s, "local c = os.clock() while os.clock() - c < 0.02 do end return 1",
                              NULL, 80 * PL_MS, &fault);
        CHECK_INT(failed, 0);
        pl_fault_deinit(&fault);
        lua_settop(s->L, 0);
    }
    pl_state_destroy(s);
    pl_watchdog_destroy(dog);
}

/* ---- in coroutines, as runs have them ---- */

/* over(): the watchdog ends the slice at once. */
static int over(lua_State *L)
{
    struct pl_limits *limits = lua_touserdata(L, lua_upvalueindex(1));
    atomic_store(&limits->kill, atomic_load(&limits->slice));
    pthread_sigqueue(pthread_self(), SIGURG, (union sigval){.sival_ptr = limits});
    return 0;
}

struct stopped {
    int status; /* lua_resume's */
    bool stopped;
    struct pl_fault fault;
};

/* Runs the code in a coroutine, with over as its argument, and forgets the coroutine. */
static struct stopped run_coroutine(struct pl_state *s, const char *code)
{
    struct stopped out = {.status = -1};
    REQUIRE(load_code(s, code, &out.fault) == 0);
    lua_State *co = lua_newthread(s->L);
    lua_insert(s->L, -2);
    lua_xmove(s->L, co, 1);
    lua_pushlightuserdata(co, &s->limits);
    lua_pushcclosure(co, over, 1);
    pl_limits_enter(&s->limits, co, PL_SECOND);
    out.status = lua_resume(co, 1);
    out.stopped = pl_limits_has_stopped(&s->limits);
    if (out.status != 0) {
        pl_fault_take(co, s, &out.fault);
        lua_pop(s->L, 1);
    }
    pl_limits_leave(&s->limits);
    lua_pop(s->L, 1);
    return out;
}

static void check_stopped(struct pl_state *s, const char *code, const char *message)
{
    struct stopped end = run_coroutine(s, code);
    if (!end.stopped || end.fault.message == NULL || strcmp(end.fault.message, message) != 0)
        TEST_FAIL("%s: %s, \"%s\"", code, end.stopped ? "stopped" : "not stopped",
                  end.fault.message ? end.fault.message : "");
    CHECK_INT(end.status, LUA_YIELD);
    CHECK_INT(lua_gettop(s->L), 0);
    pl_fault_deinit(&end.fault);
    CHECK_CODE(s, "return 1", NULL, "1");
}

#define CPU_AT(line) "test.lua:" #line ": script CPU limit exceeded (1 s without waiting)"

TEST(a_coroutine_is_stopped_where_it_is_whatever_is_around_it)
{
    static const char *const codes[] = {
        "local over = ...\nover() return 1",
        "local over = ...\nlocal function f(n) if n == 0 then over() end local ok = pcall(f, n - "
        "1) "
        "return ok end f(5000)",
        "local over = ...\nlocal function f(n) if n == 0 then over() end "
        "local ok = xpcall(f, error, n - 1) return ok end f(500)",
        "local over = ...\nlocal t = setmetatable({}, {__index = function() over() end}) "
        "pcall(function() return t.x .. 'y' end)",
        "local over = ...\nfor _ in function() over() return 1 end do end",
        "local over = ...\nlocal function f(...) over() return ... end return f(1, 2, 3)",
        "local over = ...\npcall(pcall, pcall, function() over() end)",
        "local over = ...\nwhile true do pcall(over) end",
    };
    struct pl_watchdog *dog;
    struct pl_state *s = state_with_dog(&dog);
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        check_stopped(s, codes[i], CPU_AT(2));
    pl_state_destroy(s);
    pl_watchdog_destroy(dog);
}

TEST(a_coroutine_in_a_coroutine_is_stopped_first)
{
    static const char *const codes[] = {
        "local over = ...\npcall(coroutine.wrap(function() pcall(over) end))",
        "local over = ...\ncoroutine.wrap(function() over() end)() return 1",
        "local over = ...\nlocal co = coroutine.create(function() pcall(function()\n\n"
        "coroutine.wrap(function() pcall(over) end)() end) end) pcall(coroutine.resume, co)",
        "local over = ...\nfor _ in coroutine.wrap(function() over() end) do end",
        "local over = ...\nlocal function f(n) if n == 0 then over() end "
        "pcall(coroutine.wrap(f), n - 1) return 1 end f(150)",
    };
    struct pl_watchdog *dog;
    struct pl_state *s = state_with_dog(&dog);
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        check_stopped(s, codes[i], i == 2 ? CPU_AT(4) : CPU_AT(2));
    pl_state_destroy(s);
    pl_watchdog_destroy(dog);
}

/* Coroutines between C functions get the error; those around them are stopped. */
TEST(a_function_called_from_c_is_left_by_an_error_and_no_further)
{
    static const char *const codes[] = {
        "local over = ...\npcall(table.sort, {2, 1}, function() while true do pcall(over) end end)",
        "local over = ...\npcall(string.gsub, 'x', 'x', function() over() end) return 1",
        "local over = ...\npcall(table.sort, {2, 1}, coroutine.wrap(function() pcall(over) end)) "
        "return 1",
        "local over = ...\nlocal t = setmetatable({}, {__tostring = function() over() end}) "
        "pcall(string.format, '%s', t) return 1",
        "local over = ...\nxpcall(error, function() over() end) return 1",
    };
    struct pl_watchdog *dog;
    struct pl_state *s = state_with_dog(&dog);
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        check_stopped(s, codes[i], CPU_AT(2));
    /* Nothing is around it. */
    struct stopped end =
        run_coroutine(s, "local over = ... return table.sort({2, 1}, function() pcall(over) end)");
    CHECK_INT(end.status, LUA_ERRRUN);
    CHECK(!end.stopped);
    CHECK_STR(end.fault.message, CPU_AT(1));
    pl_fault_deinit(&end.fault);
    pl_state_destroy(s);
    pl_watchdog_destroy(dog);
}

TEST(a_coroutine_that_was_stopped_is_never_resumed)
{
    struct pl_watchdog *dog;
    struct pl_state *s = state_with_dog(&dog);
    check_stopped(s,
                  "local over = ...\n"
                  "rawset(_G, 'kept', coroutine.create(function() over() end))\n"
                  "rawset(_G, 'wrapped', coroutine.wrap(function() coroutine.resume(kept) end))\n"
                  "wrapped()",
                  CPU_AT(2));
    CHECK_CODE(s, "return {coroutine.resume(kept)}", NULL,
               "[false,\"a coroutine that a limit has ended can't be resumed\"]");
    CHECK_FAILS(s, "wrapped()", NULL,
                "test.lua:1: a coroutine that a limit has ended can't be resumed");
    CHECK_CODE(s, "return coroutine.status(kept)", NULL, "\"dead\"");
    CHECK_CODE(s, "return coroutine.status(coroutine.create(print))", NULL, "\"suspended\"");
    pl_state_destroy(s);
    pl_watchdog_destroy(dog);
}

TEST(a_coroutine_that_was_stopped_gives_its_memory_back)
{
    struct pl_watchdog *dog;
    struct pl_state *s = state_with_dog(&dog);
    pl_state_collect(s);
    size_t before = pl_limits_used(&s->limits);
    for (int i = 0; i < 20; i++) {
        check_stopped(
            s,
            "local over = ...\n"
            "local function f(n) local big = ('x'):rep(1e5 + n) if n == 0 then over() end "
            "pcall(coroutine.wrap(f), n - 1) return big end f(20)",
            "test.lua:2: script CPU limit exceeded (1 s without waiting)");
        pl_state_collect(s);
        if (pl_limits_used(&s->limits) > before + MIB / 8)
            TEST_FAIL("turn %d: keeps %zu bytes", i, pl_limits_used(&s->limits) - before);
    }
    pl_state_destroy(s);
    pl_watchdog_destroy(dog);
}

TEST(the_memory_limit_stops_a_coroutine_in_the_same_way)
{
    struct pl_watchdog *dog;
    struct pl_state *s = state_with_dog(&dog);
    static const char *const codes[] = {
        "\nlocal function fill() local t = {} while true do t[#t + 1] = {} end end "
        "while true do pcall(pcall, fill) end",
        /* a block that was refused is an error first */
        "\nlocal s = ('x'):rep(3e7) while true do pcall(function() "
        "return s .. s .. s .. s .. s .. s .. s .. s end) end",
    };
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        check_stopped(s, codes[i], "test.lua:2: script memory limit exceeded (32 MiB)");
        pl_state_collect(s);
        CHECK(pl_limits_used(&s->limits) < 4 * MIB);
    }
    pl_state_destroy(s);
    pl_watchdog_destroy(dog);
}

struct lines_seen {
    int count[8]; /* of each line */
    bool elsewhere;
};

static void see_line(void *arg, lua_State *L, const char *path, int line)
{
    struct lines_seen *seen = arg;
    PL_UNUSED(L);
    if (strcmp(path, "test.lua") == 0 && line < 8)
        seen->count[line]++;
    else
        seen->elsewhere = true;
}

/* More functions than are noted at a time, each new one perhaps where an old one was. */
TEST(lines_of_files_are_watched_and_no_others)
{
    struct pl_state *s = new_state(NULL, 32 * MIB);
    struct lines_seen seen = {.count = {0}};
    struct pl_line_watch watch = {see_line, &seen};
    pl_limits_watch_lines(&s->limits, &watch);
    CHECK_CODE(s,
               "local sum = 0\n"
               "for i = 1, 1000 do\n"
               "  local f = i % 2 == 0 and load('local n = ...\\nreturn n') or function(n)\n"
               "    return n\n"
               "  end sum = sum + f(i)\n"
               "end return sum",
               NULL, "500500");
    CHECK_INT(seen.count[1], 1);
    CHECK_INT(seen.count[4], 500);
    CHECK(seen.count[3] > 0 && seen.count[5] > 0);
    CHECK(!seen.elsewhere);
    pl_limits_watch_lines(&s->limits, NULL);
    CHECK_CODE(s, "return 1", NULL, "1");
    CHECK_INT(seen.count[1], 1);
    pl_state_destroy(s);
}

#define LUA_STACK 65500 /* LuaJIT's, before what it keeps for errors */

static int fill_up(lua_State *L)
{
    while (lua_gettop(L) < 2 * LUA_STACK)
        lua_pushboolean(L, true);
    return 0;
}

/* If the first overflow was caught, the second one uses up the reserve for errors. */
static int use_up(lua_State *L)
{
    int below = (int)lua_tointeger(L, 1);
    while (lua_gettop(L) < LUA_STACK - below)
        lua_pushboolean(L, true);
    lua_cpcall(L, fill_up, NULL);
    return fill_up(L);
}

TEST(an_error_on_a_stack_without_a_slot_to_spare_is_described)
{
    struct pl_state *s = new_state(NULL, 32 * MIB);
    for (int below = 0; below < 16; below++) { /* the size of a frame is internal to LuaJIT */
        lua_State *co = lua_newthread(s->L);
        struct pl_fault fault = {.message = NULL};
        lua_pushcfunction(co, use_up);
        lua_pushinteger(co, below);
        CHECK(lua_resume(co, 1) > LUA_YIELD);
        pl_fault_take(co, s, &fault);
        CHECK(fault.message != NULL);
        pl_fault_deinit(&fault);
        lua_pop(s->L, 2);
    }
    CHECK_CODE(s, "return 1", NULL, "1");
    pl_state_destroy(s);
}

TEST_MAIN()
