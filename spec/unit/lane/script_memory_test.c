/* What scripts keep between runs, as a number: each way to keep something changes it, and what
 * cannot be read makes it unknown. */
#include "support/state_support.h"

#include "lane/script_memory.h"

#define UNKNOWN 0

static void run(struct pl_state *s, const char *code, const char *json)
{
    char *text = result_of(s, code, json);
    CHECK_STR(text, "true");
    pl_free(text);
}

static uint64_t memory_of(struct pl_state *s)
{
    uint64_t digest, again;
    int top = lua_gettop(s->L);
    bool known = pl_script_memory(s, &digest);
    CHECK(known == pl_script_memory(s, &again) && (!known || digest == again));
    CHECK_INT(lua_gettop(s->L), top);
    return known ? digest : UNKNOWN;
}

static struct pl_state *state_with(const char *code, uint64_t seed)
{
    struct pl_state *s = new_seeded_state(NULL, 64 * MIB, seed);
    run(s, code, NULL);
    return s;
}

/* Whether `later` changes what is kept after `code`. */
static bool changes(const char *code, const char *later)
{
    struct pl_state *s = state_with(code, 7);
    uint64_t before = memory_of(s);
    CHECK(before != UNKNOWN);
    run(s, later, NULL);
    uint64_t after = memory_of(s);
    CHECK(after != UNKNOWN);
    pl_state_destroy(s);
    return before != after;
}

static bool is_unknown(const char *code, const char *json)
{
    struct pl_state *s = new_seeded_state(NULL, 64 * MIB, 7);
    run(s, code, json);
    bool unknown = memory_of(s) == UNKNOWN;
    pl_state_destroy(s);
    return unknown;
}

/* Code in which `kept` is a table that scripts can reach. */
#define KEPT "string.kept = string.kept or {} local kept = string.kept "

TEST(states_with_the_same_scripts_know_the_same)
{
    const char *code = "local perilune = require('perilune')\n"
                       "local rules = { a = 1, list = { 1, 2, 3 }, none = perilune.null }\n"
                       "function string.work(x) return rules[x], perilune.hash(rules.list) end\n"
                       "return string.work('a') == 1";
    struct pl_state *one = state_with(code, 1), *other = state_with(code, 2);
    CHECK(memory_of(one) != UNKNOWN);
    CHECK(memory_of(one) == memory_of(other));
    pl_state_destroy(one);
    pl_state_destroy(other);
}

TEST(each_way_to_keep_a_value_is_seen)
{
    CHECK(changes("local n = 0 function string.work() n = n + 1 return true end return true",
                  "return string.work()"));
    CHECK(changes(KEPT "kept.a = {} return true", KEPT "kept.a.b = 1 return true"));
    CHECK(changes(KEPT "return true", KEPT "kept[{ 'a' }] = { deep = { er = true } } return true"));
    CHECK(changes(KEPT "kept.t = setmetatable({}, { __index = { x = 1 } }) return true",
                  KEPT "getmetatable(kept.t).__index.x = 2 return true"));
    CHECK(changes(KEPT "kept.f = function() return 1 end return true",
                  KEPT "local x = 3 kept.f = function() return x end return true"));
    CHECK(changes(KEPT "kept.f = string.rep return true", KEPT "kept.f = string.sub return true"));
}

TEST(a_value_that_is_as_before_is_the_same)
{
    CHECK(!changes("local n = 0 function string.work(x) n = x return true end return true",
                   "string.work(5) return string.work(0)"));
    CHECK(!changes(KEPT "return true", KEPT "kept.a = 1 kept.a = nil return true"));
}

TEST(what_the_library_keeps_for_itself_is_no_memory_of_scripts)
{
    CHECK(!changes("return require('perilune') ~= nil",
                   "local perilune = require('perilune')\n"
                   "return perilune.hash('a') ~= perilune.regex('a+b')"));
}

TEST(what_cannot_be_read_is_unknown)
{
    CHECK(is_unknown(KEPT "kept.next = ('a b c'):gmatch('%a') return true", NULL));
    CHECK(is_unknown(KEPT "kept.go_on = coroutine.wrap(function() end) return true", NULL));
    CHECK(is_unknown(KEPT "kept.co = coroutine.create(function() end) return true", NULL));
    CHECK(is_unknown(KEPT "kept.object = ... return true", "{\"spec\":{\"a\":1}}"));
    CHECK(is_unknown(KEPT "kept.list = { { (...) } } return true", "{\"spec\":{\"a\":1}}"));
    CHECK(
        is_unknown(KEPT "local t = kept for i = 1, 200 do t.t = {} t = t.t end return true", NULL));
    CHECK(is_unknown(KEPT "for i = 1, 30000 do kept[i] = i end return true", NULL));
}

TEST(circles_end)
{
    CHECK(changes(KEPT "kept.t = kept kept.f = function() return kept end return true",
                  KEPT "kept.x = 1 return true"));
}

TEST_MAIN()
