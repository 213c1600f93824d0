/* A peek at an object gives the values that the script would see, and makes no tables. */
#include "support/state_support.h"

#include "lua/peek.h"

#define OBJECT "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\",\"uid\":\"u1\"},\"n\":7}"

/* Runs the code on the object and looks at a member of the result's metadata. */
static void check_text(const char *code, const char *name, const char *want)
{
    struct pl_state *s = new_state(NULL, 64 * MIB);
    struct pl_fault fault = {.message = NULL};
    REQUIRE(run_code(s, code, OBJECT, 0, &fault) == 0);
    struct pl_scratch scratch;
    struct pl_peeked object = pl_peek(s->L, s, lua_gettop(s->L));
    struct pl_peeked member =
        pl_peek_member(s->L, s, pl_peek_member(s->L, s, object, "metadata"), name);
    struct pl_slice text = pl_peek_text(s->L, member, &scratch);
    CHECK_INT(pl_peek_is_nothing(s->L, member), want == NULL);
    if (want == NULL)
        CHECK(text.ptr == NULL);
    else
        CHECK_SLICE(text, want);
    pl_state_destroy(s);
}

TEST(members_are_seen_touched_or_not)
{
    check_text("return ...", "name", "a");
    check_text("local o = ... assert(o.metadata) return o", "name", "a");
    check_text("local o = ... assert(o.metadata.uid) return o", "uid", "u1");
    check_text("local o = ... for _ in pairs(o.metadata) do end return o", "uid", "u1");
    check_text("return {metadata = {name = 'b'}}", "name", "b");
    check_text("return {metadata = (...).metadata}", "name", "a");
}

TEST(changes_of_the_script_are_seen)
{
    check_text("local o = ... o.metadata.name = 'b' return o", "name", "b");
    check_text("local o = ... assert(o.metadata.uid) o.metadata.uid = nil return o", "uid", NULL);
    check_text("local o = ... o.metadata = {uid = 'u2'} return o", "uid", "u2");
    check_text("local o = ... o.metadata = {uid = 'u2'} return o", "name", NULL);
}

TEST(what_is_not_there_is_nothing)
{
    check_text("return ...", "namespace", NULL);
    check_text("return 7", "name", NULL);
    check_text("return {metadata = 'x'}", "name", NULL);
    check_text("local o = ... o.metadata = nil return o", "name", NULL);
}

TEST(a_look_touches_nothing)
{
    struct pl_state *s = new_state(NULL, 64 * MIB);
    struct pl_fault fault = {.message = NULL};
    struct pl_node node;
    REQUIRE(run_code(s, "return ...", OBJECT, 0, &fault) == 0);
    int top = lua_gettop(s->L);
    pl_peek_member(s->L, s, pl_peek_member(s->L, s, pl_peek(s->L, s, top), "metadata"), "name");
    CHECK(pl_lazy_node(s->L, s, top, &node));
    pl_state_destroy(s);
}

TEST_MAIN()
