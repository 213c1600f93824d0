/* Objects that fill on first touch look like ordinary tables. */
#include "support/state_support.h"

#include "value/pool.h"
#include "value/write.h"

#include <time.h>

#define OBJECT                                                                                     \
    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\",\"labels\":{\"x\":"      \
    "\"1\",\"y\":\"2\"}},\"spec\":{\"n\":7,\"containers\":[{\"name\":\"c\",\"env\":[{\"name\":"    \
    "\"E\"}]}]},\"status\":{\"phase\":\"Running\"}}"

TEST(base_functions_see_what_is_not_filled_yet)
{
    struct pl_state *s = new_state(NULL, 64 * MIB);
    static const struct {
        const char *code, *want;
    } cases[] = {
        {"local o, n = ..., 0 for k, v in pairs(o.metadata.labels) do n = n + tonumber(v) end "
         "return n",
         "3"},
        {"local o = ... local k = next(o.metadata.labels) return k == 'x' or k == 'y'", "true"},
        {"local o = ... return rawget(o.spec, 'n')", "7"},
        {"local o = ... rawset(o.spec, 'm', 1) return o.spec", "{\"containers\":[{\"env\":[{"
                                                               "\"name\":\"E\"}],\"name\":\"c\"}],"
                                                               "\"m\":1,\"n\":7}"},
        {"local o = ... return #o.spec.containers", "1"},
        {"local o = ... local n = 0 for _, c in ipairs(o.spec.containers) do n = n + 1 end return "
         "n",
         "1"},
        {"local o = ... return unpack(o.spec.containers).name", "\"c\""},
        {"local o = ... table.insert(o.spec.containers, {name = 'd'}) return "
         "#o.spec.containers",
         "2"},
        {"local o, n = ..., 0 table.foreach(o.metadata.labels, function() n = n + 1 end) return n",
         "2"},
        {"local o = ... o.metadata.labels.x = nil return o.metadata.labels", "{\"y\":\"2\"}"},
        {"local o = ... o.status.phase = nil return o.status.phase == nil", "true"},
        {"local o = ... return getmetatable(o) == nil and getmetatable(o.spec.containers) == nil",
         "true"},
        {"local o = ... setmetatable(o, {__index = function() return 5 end}) return {o.nope, "
         "o.kind}",
         "[5,\"Pod\"]"},
        {"local o = ... return o[1] == nil and o.spec[1] == nil", "true"},
        {"local o = ... local a = o.metadata a.name = 'b' return o.metadata.name", "\"b\""},
        {"local o = ... for k in pairs(o.metadata.labels) do o.metadata.labels[k] = nil end "
         "return next(o.metadata.labels) == nil",
         "true"},
        {"return (require('cjson').encode((...).spec))",
         "\"{\\\"n\\\":7,\\\"containers\\\":[{\\\"env\\\":[{\\\"name\\\":\\\"E\\\"}],"
         "\\\"name\\\":\\\"c\\\"}]}\""},
    };
    for (size_t i = 0; i + 1 < sizeof cases / sizeof cases[0]; i++)
        CHECK_CODE(s, cases[i].code, OBJECT, cases[i].want);
    CHECK_CODE(s,
               "local c = require('cjson') local t = c.decode(c.encode((...).spec)) "
               "return {t.n, t.containers[1].env[1].name}",
               OBJECT, "[7,\"E\"]");
    pl_state_destroy(s);
}

TEST(members_that_were_read_are_the_scripts_to_change)
{
    struct pl_state *s = new_state(NULL, 64 * MIB);
    static const struct {
        const char *code, *want;
    } cases[] = {
        {"local o = ... local was = o.spec.n o.spec.n = nil return {was, o.spec.n == nil, o.spec}",
         "[7,true,{\"containers\":[{\"env\":[{\"name\":\"E\"}],\"name\":\"c\"}]}]"},
        {"local l = (...).metadata.labels local x = l.x l.x = x .. '!' return l",
         "{\"x\":\"1!\",\"y\":\"2\"}"},
        {"local l, n = (...).metadata.labels, 0 l.x = l.x .. '0' l.z = '5' "
         "for k, v in pairs(l) do n = n + tonumber(v) end return n",
         "17"},
        {"local l, n = (...).metadata.labels, 0 local x = l.x l.x = nil "
         "for k, v in pairs(l) do n = n + tonumber(v) end return {n, (next(l))}",
         "[2,\"y\"]"},
        {"local o = ... return o.spec == o.spec and o.spec.containers == o.spec.containers",
         "true"},
        {"local o = ... return o.nope == nil and o.spec.nope == nil and o[1] == nil and #o == 0",
         "true"},
        {"local o = ... local x = o.spec.n local copy = require('perilune').deepcopy(o.spec) "
         "copy.n = 8 return {o.spec.n, copy.n, #copy.containers}",
         "[7,8,1]"},
        {"local l = (...).metadata.labels local x = l.x table.insert(l, 'z') "
         "return (pcall(require('perilune').json.encode, l))",
         "false"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        CHECK_CODE(s, cases[i].code, OBJECT, cases[i].want);
    pl_state_destroy(s);
}

/* Whether the member with that name, at the top of the stack, is filled completely. */
static void check_whole(struct pl_state *s, const char *name, bool want)
{
    lua_getfield(s->L, -1, name);
    if ((pl_lazy_level(s->L, s, -1) == NULL) != want)
        TEST_FAIL("%s: whole should be %d", name, want);
    struct pl_doc *doc = pl_lval_doc(s->L, s, -1, NULL);
    CHECK(pl_node_equal(pl_doc_root(doc),
                        pl_node_getz(pl_doc_root(pl_lazy_base(s->L, s, -2).doc), name)));
    pl_doc_unref(doc);
    lua_pop(s->L, 1);
}

TEST(small_objects_of_scalars_are_whole_at_once)
{
    struct pl_state *s = new_state(NULL, 64 * MIB);
    struct pl_doc *doc = doc_of("{\"flat\":{\"a\":1,\"b\":\"x\",\"c\":null,\"d\":9007199254740993},"
                                "\"five\":{\"a\":1,\"b\":2,\"c\":3,\"d\":4,\"e\":5},"
                                "\"deep\":{\"a\":{\"b\":1}},\"list\":[{\"a\":1},{\"b\":[]}]}");
    pl_lazy_push(s->L, s, doc, PL_OBJECT_ROOT);
    pl_doc_unref(doc);
    check_whole(s, "flat", true);
    check_whole(s, "five", false);
    check_whole(s, "deep", false);
    lua_getfield(s->L, -1, "list");
    lua_rawgeti(s->L, -1, 1);
    CHECK(pl_lazy_level(s->L, s, -1) == NULL);
    lua_rawgeti(s->L, -2, 2);
    CHECK(pl_lazy_level(s->L, s, -1) != NULL);
    pl_state_destroy(s);
}

TEST(a_level_may_have_any_number_of_members)
{
    struct pl_state *s = new_state(NULL, 64 * MIB);
    char *text = wide_object(100);
    CHECK_CODE(s, "local o = ... return {o.m5.n, o.m63.n, o.m64.n, o.m99.n, o.m100 == nil}", text,
               "[5,63,64,99,true]");
    CHECK_CODE(s,
               "local o, n = ..., 0 o.m1.n = 0 local x = o.m70.n o.m2 = nil "
               "for _, m in pairs(o) do n = n + m.n end return n",
               text, "4947");
    pl_free(text);
    pl_state_destroy(s);
}

TEST(what_is_not_filled_is_compared_where_it_is)
{
    struct pl_state *s = new_state(NULL, 64 * MIB);
    static const char equal[] = "local equal, o = require('perilune').equal, ... return ";
    static const struct {
        const char *code;
        bool want;
    } cases[] = {
        {"equal(o.metadata.labels, {x = '1', y = '2'})", true},
        {"equal({x = '1', y = '2'}, o.metadata.labels)", true},
        {"equal(o.metadata.labels, {x = '1', y = '3'})", false},
        {"equal(o.metadata.labels, {x = '1'})", false},
        {"equal(o.metadata.labels, {x = '1', y = '2', z = '3'})", false},
        {"equal(o.metadata.labels, {x = '1', y = 2})", false},
        {"equal(o.metadata.labels, {'1', '2'})", false},
        {"equal(o.metadata.labels, {})", false},
        {"o.metadata.labels.x and equal(o.metadata.labels, {x = '1', y = '2'})", true},
        {"equal(o.spec, {n = 7, containers = {{name = 'c', env = {{name = 'E'}}}}})", true},
        {"equal(o.spec, {n = 7, containers = {{name = 'c', env = {{name = 'F'}}}}})", false},
        {"equal(o.spec, {n = 7, containers = {{name = 'c', env = {}}}})", false},
        {"equal(o.spec, {n = 7LL, containers = o.spec.containers})", true},
        {"equal(o.spec, {n = true, containers = o.spec.containers})", false},
        {"equal(o, require('perilune').deepcopy(o))", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char code[256];
        snprintf(code, sizeof code, "%s%s", equal, cases[i].code);
        CHECK_CODE(s, code, OBJECT, cases[i].want ? "true" : "false");
    }
    pl_state_destroy(s);
}

/* The object, cut to the paths, at the top of the stack. */
static void push_parts(struct pl_state *s, const char *text, unsigned flags,
                       const char *const *paths)
{
    struct pl_doc *doc = doc_of(text);
    struct pl_part *parts = NULL;
    for (; *paths != NULL; paths++)
        REQUIRE(pl_parts_add(&parts, pl_slice_z(*paths), NULL) == 0);
    pl_lazy_push_parts(s->L, s, doc, flags, parts);
    pl_parts_free(parts);
    pl_doc_unref(doc);
}

static void check_parts(struct pl_state *s, const char *text, const char *const *paths,
                        const char *want)
{
    push_parts(s, text, PL_OBJECT_ROOT, paths);
    const struct pl_doc *base = pl_lazy_base(s->L, s, -1).doc;
    CHECK(base != NULL);
    for (int filled = 0; filled < 2; filled++) {
        struct pl_doc *doc = pl_lval_doc(s->L, s, -1, NULL);
        struct pl_buf out = PL_BUF_INIT;
        pl_write(&out, pl_doc_root(doc), PL_WRITE_SORTED);
        CHECK_STR(pl_buf_z(&out), want);
        pl_buf_deinit(&out);
        pl_doc_unref(doc);
        pl_lazy_fill(s->L, s, -1);
    }
    CHECK(pl_lazy_base(s->L, s, -1).doc == base);
    lua_pop(s->L, 1);
}

TEST(an_object_may_be_cut_to_parts_of_it)
{
    struct pl_state *s = new_state(NULL, 64 * MIB);
    static const char *const some[] = {"kind", "metadata.name", "metadata.nope.x", "status.phase.x",
                                       NULL};
    check_parts(s, OBJECT, some,
                "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\"},\"status\":{\"phase\":"
                "\"Running\"}}");
    static const char *const twice[] = {"metadata.labels", "metadata.labels.x",       "nope",
                                        "status.y",        "spec.containers[0].name", NULL};
    check_parts(s, OBJECT, twice,
                "{\"metadata\":{\"labels\":{\"x\":\"1\",\"y\":\"2\"}},\"spec\":{\"containers\":"
                "[{\"env\":[{\"name\":\"E\"}],\"name\":\"c\"}]},\"status\":{}}");
    struct pl_buf text = PL_BUF_INIT;
    for (int i = 0; i < 100; i++)
        pl_buf_add_f(&text, "%s\"m%d\":{\"n\":%d,\"k\":1}", i == 0 ? "{" : ",", i, i);
    pl_buf_add_z(&text, "}");
    static const char *const wide[] = {"m3.n", "m80", "m99.n", NULL};
    check_parts(s, pl_buf_z(&text), wide,
                "{\"m3\":{\"n\":3},\"m80\":{\"k\":1,\"n\":80},\"m99\":{\"n\":99}}");
    pl_buf_deinit(&text);
    CHECK_INT(pl_parts_add(&(struct pl_part *){NULL}, pl_slice_z("a..b"), NULL), PL_EINVAL);
    pl_state_destroy(s);
}

/* The third object of a form and later ones have a place for their names in the pool. */
static struct pl_doc *doc_in(struct pl_pool *pool, int uid, const char *status)
{
    struct pl_buf text = PL_BUF_INIT;
    pl_buf_add_f(&text,
                 "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"n%d\",\"uid\":\"u%d\"},"
                 "\"status\":{%s,\"host\":\"h%d\"}}",
                 uid, uid, status, uid);
    struct pl_scan_options options = {.pool = pool};
    struct pl_doc *doc = pl_scan_text(pl_buf_slice(&text), &options, NULL);
    REQUIRE(doc != NULL);
    pl_buf_deinit(&text);
    return doc;
}

/* The position of a member in one object is tried first in the next one with the same names. */
TEST(objects_of_a_list_are_cut_to_the_same_parts)
{
    enum { DOCS = 60 };
    static const char *const forms[] = {"\"a\":1,\"phase\":\"Running\"", "\"phase\":\"Running\"",
                                        "\"a\":1,\"b\":{\"phase\":1}",
                                        "\"phase\":\"Running\",\"z\":2"};
    struct pl_state *s = new_state(NULL, 64 * MIB);
    struct pl_pool *pool = pl_pool_create();
    struct pl_part *parts = NULL;
    struct pl_doc *docs[DOCS];
    for (int i = 0; i < DOCS; i++)
        docs[i] = doc_in(pool, i, forms[i * 7 % 11 % 4]);
    REQUIRE(pl_parts_add(&parts, pl_slice_z("status.phase"), NULL) == 0);
    for (int i = 0; i < DOCS; i++) {
        bool has = !pl_node_is_missing(pl_node_dig(pl_doc_root(docs[i]), "status", "phase"));
        pl_lazy_push_parts(s->L, s, docs[i], PL_OBJECT_ROOT, parts);
        struct pl_doc *cut = pl_lval_doc(s->L, s, -1, NULL);
        struct pl_buf out = PL_BUF_INIT;
        pl_write(&out, pl_doc_root(cut), PL_WRITE_SORTED);
        CHECK_STR(pl_buf_z(&out), has ? "{\"status\":{\"phase\":\"Running\"}}" : "{\"status\":{}}");
        pl_buf_deinit(&out);
        pl_doc_unref(cut);
        lua_pop(s->L, 1);
    }
    pl_parts_free(parts);
    for (int i = 0; i < DOCS; i++)
        pl_doc_unref(docs[i]);
    pl_state_destroy(s);
    pl_pool_destroy(pool);
}

/* Of a Secret, cut to `data.p` and its name. */
static void check_secret_parts(struct pl_state *s, const char *text)
{
    static const char *const paths[] = {"data.p", "metadata.name", NULL};
    push_parts(s, text, PL_OBJECT_ROOT | PL_OBJECT_SECRET, paths);
    lua_getfield(s->L, -1, "data");
    CHECK(pl_lazy_is_secret(s->L, s, -1));
    lua_getfield(s->L, -1, "p");
    char *masked = pl_secrets_mask(&s->secrets, pl_lua_slice(s->L, -1));
    CHECK(masked != NULL);
    pl_free(masked);
    lua_getfield(s->L, -3, "metadata");
    CHECK(!pl_lazy_is_secret(s->L, s, -1));
    lua_pop(s->L, 4);
}

TEST(values_of_secrets_are_known_as_such_in_parts)
{
    struct pl_state *s = new_state(NULL, 64 * MIB);
    check_secret_parts(
        s, "{\"data\":{\"p\":\"open sesame\",\"q\":\"y\"},\"metadata\":{\"name\":\"a\"}}");
    struct pl_buf wide = PL_BUF_INIT; /* more members than a level can be cut to */
    pl_buf_add_z(&wide, "{\"data\":{\"p\":\"a better one\"");
    for (int i = 0; i < 100; i++)
        pl_buf_add_f(&wide, ",\"m%d\":\"y\"", i);
    pl_buf_add_z(&wide, "},\"metadata\":{\"name\":\"a\"}}");
    check_secret_parts(s, pl_buf_z(&wide));
    pl_buf_deinit(&wide);
    pl_state_destroy(s);
}

TEST(scripts_cannot_reach_what_is_behind_a_level)
{
    struct pl_state *s = new_state(NULL, 64 * MIB);
    CHECK_CODE(s,
               "local o, seen = ..., {} for k, v in pairs(o) do seen[#seen + 1] = type(k) .. "
               "type(v) end table.sort(seen) return seen",
               OBJECT,
               "[\"stringstring\",\"stringstring\",\"stringtable\",\"stringtable\","
               "\"stringtable\"]");
    CHECK_CODE(s, "local n = 0 for k, v in next, (...) do n = n + 1 end return n", OBJECT, "5");
    pl_state_destroy(s);
}

TEST(the_document_an_object_was_read_from_is_remembered)
{
    struct pl_state *s = new_state(NULL, 64 * MIB);
    struct pl_doc *doc = doc_of(OBJECT);
    pl_lazy_push(s->L, s, doc, PL_OBJECT_ROOT | PL_OBJECT_PARTIAL);
    struct pl_base base = pl_lazy_base(s->L, s, -1);
    CHECK(base.doc == doc && (base.flags & PL_OBJECT_PARTIAL));
    CHECK(pl_lval_is_unchanged(s->L, s, -1));
    lua_getfield(s->L, -1, "spec");
    CHECK(pl_lazy_base(s->L, s, -1).doc == NULL);
    CHECK(pl_lazy_base(s->L, s, -2).doc == doc);
    CHECK(pl_lval_is_unchanged(s->L, s, -2));
    pl_lazy_fill(s->L, s, -2);
    CHECK(pl_lazy_base(s->L, s, -2).doc == doc);
    CHECK(pl_lval_is_unchanged(s->L, s, -2));
    lua_pushinteger(s->L, 8);
    lua_setfield(s->L, -2, "n");
    lua_pop(s->L, 1);
    CHECK(!pl_lval_is_unchanged(s->L, s, -1));
    pl_lval_deepcopy(s->L, s, -1);
    CHECK(pl_lazy_base(s->L, s, -1).doc == doc);
    lua_pop(s->L, 2);
    CHECK(s->pinned > 0);
    pl_state_collect(s);
    pl_state_collect(s);
    CHECK_INT(s->pinned, 0);
    pl_doc_unref(doc);
    pl_state_destroy(s);
}

/* LuaJIT counts a few hundred bytes for each. */
TEST(documents_that_nobody_uses_any_more_are_let_go_while_runs_go_on)
{
    enum { RUNS = 20000 };
    struct pl_state *s = new_state(NULL, 64 * MIB);
    struct pl_buf text = PL_BUF_INIT;
    pl_buf_add_f(&text, "{\"text\":\"%0100000d\"}", 1);
    struct pl_doc *doc = doc_of(text.ptr);
    pl_buf_deinit(&text);
    pl_state_collect(s);
    size_t most = 0;
    for (int i = 0; i < RUNS; i++) {
        pl_lazy_push(s->L, s, doc, PL_OBJECT_ROOT);
        lua_pop(s->L, 1);
        most = s->pinned > most ? s->pinned : most;
        pl_state_pay(s);
    }
    CHECK(most > 0 && most < 20 * MIB);
    pl_doc_unref(doc);
    pl_state_destroy(s);
}

TEST(values_of_secrets_are_known_as_such)
{
    struct pl_state *s = new_state(NULL, 64 * MIB);
    struct pl_doc *doc =
        doc_of("{\"kind\":\"Secret\",\"data\":{\"p\":\"x\"},\"metadata\":{\"data\":{"
               "\"y\":1}}}");
    pl_lazy_push(s->L, s, doc, PL_OBJECT_ROOT | PL_OBJECT_SECRET);
    lua_getfield(s->L, -1, "data");
    CHECK(pl_lazy_is_secret(s->L, s, -1));
    lua_getfield(s->L, -2, "metadata");
    CHECK(!pl_lazy_is_secret(s->L, s, -1));
    lua_getfield(s->L, -1, "data");
    CHECK(!pl_lazy_is_secret(s->L, s, -1));
    lua_pop(s->L, 4);
    pl_doc_unref(doc);
    pl_state_destroy(s);
}

/* Although it is small, each value must be registered when it is read. */
TEST(values_of_a_small_secret_are_masked)
{
    struct pl_state *s = new_state(NULL, 64 * MIB);
    struct pl_doc *doc = doc_of("{\"data\":{\"p\":\"open sesame\"},\"kind\":\"Secret\"}");
    pl_lazy_push(s->L, s, doc, PL_OBJECT_ROOT | PL_OBJECT_SECRET);
    lua_getfield(s->L, -1, "data");
    lua_getfield(s->L, -1, "p");
    char *masked = pl_secrets_mask(&s->secrets, pl_lua_slice(s->L, -1));
    CHECK(masked != NULL);
    pl_free(masked);
    pl_doc_unref(doc);
    pl_state_destroy(s);
}

/* Whether encoding the value at the top has registered the text; forgets all. */
static bool encoding_registers(struct pl_state *s, const char *text)
{
    struct pl_doc *doc = pl_lval_doc(s->L, s, -1, NULL);
    CHECK(doc != NULL);
    pl_doc_unref(doc);
    bool known = pl_secrets_has(&s->secrets, pl_slice_z(text));
    pl_secrets_clear(&s->secrets);
    return known;
}

/* base64 of "open" and "sesame" */
TEST(values_of_secrets_are_registered_when_their_levels_are_encoded)
{
    struct pl_state *s = new_state(NULL, 64 * MIB);
    struct pl_doc *doc = doc_of("{\"data\":{\"p\":\"b3Blbg==\",\"q\":\"c2VzYW1l\"},\"metadata\":{"
                                "\"name\":\"name\",\"labels\":{\"a\":\"text\"}}}");
    pl_lazy_push(s->L, s, doc, PL_OBJECT_ROOT); /* another object */
    CHECK(!encoding_registers(s, "b3Blbg=="));
    lua_pop(s->L, 1);
    pl_lazy_push(s->L, s, doc, PL_OBJECT_ROOT | PL_OBJECT_SECRET);
    CHECK(encoding_registers(s, "b3Blbg=="));
    CHECK(encoding_registers(s, "sesame"));
    lua_getfield(s->L, -1, "metadata");
    CHECK(!encoding_registers(s, "text"));
    lua_pop(s->L, 1);
    CHECK(encoding_registers(s, "c2VzYW1l"));
    lua_getfield(s->L, -1, "data");
    CHECK(encoding_registers(s, "open"));
    lua_getfield(s->L, -1, "p");
    lua_pop(s->L, 1);
    CHECK(encoding_registers(s, "sesame")); /* the other one */
    CHECK_INT(s->secrets.count, 0);
    lua_pop(s->L, 2);
    pl_doc_unref(doc);
    pl_state_destroy(s);
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Not a benchmark: the limit is ten times the measured value, to find mistakes of complexity. */
TEST(an_object_and_one_field_cost_microseconds)
{
    struct pl_state *s = new_state(NULL, 64 * MIB);
    struct pl_doc *doc = doc_of(OBJECT);
    const int rounds = 100000;
    double start = seconds();
    for (int i = 0; i < rounds; i++) {
        pl_lazy_push(s->L, s, doc, PL_OBJECT_ROOT);
        lua_getfield(s->L, -1, "spec");
        lua_getfield(s->L, -1, "n");
        lua_pop(s->L, 3);
    }
    double each = (seconds() - start) / rounds;
    printf("an object, spec and spec.n: %.0f ns\n", each * 1e9);
    CHECK(each < 20e-6);
    pl_doc_unref(doc);
    pl_state_destroy(s);
}

/* A script that keeps the `next` of pairs can see the hidden member of a level. */
TEST(what_a_script_does_to_the_hidden_entries_of_a_level_breaks_nothing)
{
    struct pl_state *s = new_state(NULL, 64 * MIB);
    struct pl_buf wide = PL_BUF_INIT; /* more levels than a shelf knows by their tables */
    for (int i = 0; i < 60; i++)
        pl_buf_add_f(&wide, "%s\"m%d\":{\"n\":%d,\"b\":{\"c\":{}},\"d\":3}", i ? "," : "{", i, i);
    pl_buf_add_z(&wide, "}");
    for (int member = 0; member < 60; member += 30) {
        char *code = pl_format(
            "local o, perilune = ..., require('perilune')\n"
            "for i = 0, 59 do assert(o['m' .. i].n == i) end\n"
            "local next, level, hidden = pairs({}), o.m%d, 0\n"
            "local other = perilune.json.decode('{\"a\":{\"b\":1},\"c\":2,\"d\":3,"
            "\"e\":4,\"f\":5}')\n"
            "local values = {perilune.number('1.00000000000000000000001'), perilune.null, other,\n"
            "  'x', true, -1, 0, 1, 59, 60, 1e300, 0 / 0, 0.5, print, coroutine.create(print)}\n"
            "for key, value in next, other do values[#values + 1] = value\n"
            "  assert(type(value) ~= 'userdata' or getmetatable(value) == false) end\n"
            "local keys, count = {}, 0\n"
            "for key, value in next, level do keys[#keys + 1] = key values[#values + 1] = value\n"
            "  hidden = hidden + (type(key) == 'userdata' and 1 or 0) end\n"
            "for _, key in ipairs(keys) do for _, value in ipairs(values) do\n"
            "  level[key] = value\n"
            "  local _ = level.n, level.nope, perilune.deepcopy(level), perilune.equal(level, "
            "other)\n"
            "  pcall(perilune.json.encode, level) count = count + 1 end end\n"
            "level.new = 1 for _ in pairs(level) do end\n"
            "return {count > 15, hidden}",
            member);
        CHECK_CODE(s, code, pl_buf_z(&wide), member == 0 ? "[true,1]" : "[true,2]");
        pl_free(code);
    }
    pl_buf_deinit(&wide);
    pl_state_destroy(s);
}

TEST_MAIN()
