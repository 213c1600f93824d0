/* Documents survive the way through Lua and back without loss. */
#include "lua/number.h"
#include "support/state_support.h"

#define POD                                                                                        \
    "{\"spec\":{\"affinity\":{},\"tolerations\":[],\"nodeName\":null,\"big\":9007199254740993,"    \
    "\"huge\":1234567890123456789012345678901234567890,\"min\":-9223372036854775808,"              \
    "\"exact\":0.1,\"list\":[1,[],{},[[]],null,\"x\"],\"n\":1}}"

TEST(what_is_not_touched_comes_back_byte_for_byte)
{
    struct pl_state *s = new_state(NULL, 64 * MIB);
    CHECK_CODE(s, "return ...", "{\"b\":1.50,\"a\":[]}", "{\"a\":[],\"b\":1.50}");
    pl_state_destroy(s);
}

TEST(one_changed_field_changes_nothing_else)
{
    struct pl_state *s = new_state(NULL, 64 * MIB);
    CHECK_CODE(s, "local o = ... o.spec.n = 2 return o", POD,
               "{\"spec\":{\"affinity\":{},\"big\":9007199254740993,\"exact\":0.1,"
               "\"huge\":1234567890123456789012345678901234567890,"
               "\"list\":[1,[],{},[[]],null,\"x\"],\"min\":-9223372036854775808,\"n\":2,"
               "\"nodeName\":null,\"tolerations\":[]}}");
    pl_state_destroy(s);
}

TEST(a_walk_over_everything_changes_nothing)
{
    struct pl_state *s = new_state(NULL, 64 * MIB);
    CHECK_CODE(s,
               "local function walk(v) if type(v) == 'table' then for _, c in pairs(v) do walk(c) "
               "end end end local o = ... walk(o) o.spec.n = 2 return o",
               POD,
               "{\"spec\":{\"affinity\":{},\"big\":9007199254740993,\"exact\":0.1,"
               "\"huge\":1234567890123456789012345678901234567890,"
               "\"list\":[1,[],{},[[]],null,\"x\"],\"min\":-9223372036854775808,\"n\":2,"
               "\"nodeName\":null,\"tolerations\":[]}}");
    pl_state_destroy(s);
}

TEST(a_deep_copy_loses_nothing)
{
    struct pl_state *s = new_state(NULL, 64 * MIB);
    CHECK_CODE(s, "return require('perilune').deepcopy(...)", POD,
               "{\"spec\":{\"affinity\":{},\"big\":9007199254740993,\"exact\":0.1,"
               "\"huge\":1234567890123456789012345678901234567890,"
               "\"list\":[1,[],{},[[]],null,\"x\"],\"min\":-9223372036854775808,\"n\":1,"
               "\"nodeName\":null,\"tolerations\":[]}}");
    pl_state_destroy(s);
}

TEST(numbers_have_the_forms_that_hold_them)
{
    struct pl_state *s = new_state(NULL, 64 * MIB);
    CHECK_CODE(s, "local o = ... return { type(o.a), type(o.b), type(o.c), tostring(o.c) }",
               "{\"a\":9007199254740992,\"b\":9007199254740993,"
               "\"c\":1234567890123456789012345678901234567890}",
               "[\"number\",\"cdata\",\"userdata\",\"1234567890123456789012345678901234567890\"]");
    CHECK_CODE(s, "local o = ... return o.b == 9007199254740993LL and tonumber(o.c) == 1.5e300",
               "{\"b\":9007199254740993,\"c\":1500000000000000000000e279}", "true");
    CHECK_CODE(s, "local o = ... o.b = o.b + 1 return o", "{\"b\":9007199254740993}",
               "{\"b\":9007199254740994}");
    CHECK_CODE(s,
               "return {1e15, 3.0, -0.0, 0.1, 1/3, 2^53, 123456789012345, 1.5e300, "
               "18446744073709551615ULL, -5LL}",
               NULL,
               "[1000000000000000,3,0,0.1,0.3333333333333333,9007199254740992,123456789012345,"
               "1.5e+300,18446744073709551615,-5]");
    pl_state_destroy(s);
}

TEST(a_double_is_exact_only_for_its_shortest_decimal)
{
    CHECK(pl_number_is_exact(pl_slice_z("0.1"), 0.1));
    CHECK(pl_number_is_exact(pl_slice_z("1.10"), 1.1));
    CHECK(pl_number_is_exact(pl_slice_z("110e-2"), 1.1));
    CHECK(pl_number_is_exact(pl_slice_z("0.0005"), 5e-4));
    CHECK(pl_number_is_exact(pl_slice_z("-2.5E3"), -2500.0));
    CHECK(!pl_number_is_exact(pl_slice_z("0.1000000000000000055511151231257827"), 0.1));
    CHECK(!pl_number_is_exact(pl_slice_z("1e400"), 1e308 * 10));
    CHECK(!pl_number_is_exact(pl_slice_z("1e-400"), 0.0));
    CHECK(!pl_number_is_exact(pl_slice_z("0.12345678901234567890"), 0.12345678901234568));
    CHECK(pl_number_is_exact(pl_slice_z("1.5e+000000000001"), 15.0));
    CHECK(!pl_number_is_exact(pl_slice_z("1e99999999999999999999"), 1e308));
    /* The end of a number in a document does not depend on the bytes after it. */
    CHECK(pl_number_is_exact(pl_slice("1.5e23", 5), 150.0));
    CHECK(pl_number_is_exact(pl_slice("1.5e-2", 5), 1.5));
}

TEST(empty_arrays_and_empty_objects_stay_apart)
{
    struct pl_state *s = new_state(NULL, 64 * MIB);
    CHECK_CODE(s, "local p = require('perilune') return {a = {}, b = p.array{}, c = p.array{1}}",
               NULL, "{\"a\":{},\"b\":[],\"c\":[1]}");
    CHECK_CODE(s, "local o = ... table.remove(o.l) return o", "{\"l\":[1]}", "{\"l\":[]}");
    CHECK_CODE(s, "local o = ... o.m.x = nil return o", "{\"m\":{\"x\":1}}", "{\"m\":{}}");
    CHECK_CODE(s, "local p = require('perilune') return {p.null, ... == nil}", NULL, "[null,true]");
    pl_state_destroy(s);
}

TEST(what_json_cannot_say_is_an_error_that_names_the_path)
{
    struct pl_state *s = new_state(NULL, 64 * MIB);
    CHECK_FAILS(s, "return {spec = {ports = {1, 2, print}}}", NULL,
                "spec.ports[2]: a function can't be encoded");
    CHECK_FAILS(s, "return {a = {[1] = 1, [3] = 3}}", NULL, "a: an array with holes");
    CHECK_FAILS(s, "return {a = {1, x = 2}}", NULL, "a: a table with both");
    CHECK_FAILS(s, "return {a = {['x.y/z'] = 0/0}}", NULL, "a[\"x.y/z\"]: NaN");
    CHECK_FAILS(s, "return {a = math.huge}", NULL, "a: an infinite number");
    CHECK_FAILS(s, "local t = {} t.self = {t} return t", NULL,
                "self[0]: a table that contains itself");
    CHECK_FAILS(s, "local t = {} local r = t for i = 1, 600 do t.a = {} t = t.a end return r", NULL,
                "nested deeper than 512");
    CHECK_FAILS(s, "return {a = '\\255'}", NULL, "a: a string that is not UTF-8");
    CHECK_FAILS(s, "return {[true] = 1}", NULL, "the names of members must be strings");
    CHECK_FAILS(s, "return {c = coroutine.create(print)}", NULL, "c: a thread can't be encoded");
    pl_state_destroy(s);
}

TEST(equality_is_that_of_json_values)
{
    struct pl_state *s = new_state(NULL, 64 * MIB);
    const char *doc = "{\"a\":{\"x\":[1,{}],\"n\":9007199254740993},"
                      "\"b\":{\"n\":9007199254740993,\"x\":[1,{}]}}";
    CHECK_CODE(s, "local p, o = require('perilune'), ... return p.equal(o.a, o.b)", doc, "true");
    CHECK_CODE(s, "local p, o = require('perilune'), ... local _ = o.a.x return p.equal(o.a, o.b)",
               doc, "true");
    CHECK_CODE(s, "local p, o = require('perilune'), ... o.a.x[1] = 2 return p.equal(o.a, o.b)",
               doc, "false");
    CHECK_CODE(s,
               "local p = require('perilune') return {p.equal({}, p.array{}), p.equal(1, 1LL), "
               "p.equal({1}, p.array{1}), p.equal({a=1}, {a=1, b=2}), p.equal(p.null, nil)}",
               NULL, "[false,true,true,false,false]");
    pl_state_destroy(s);
}

TEST_MAIN()
