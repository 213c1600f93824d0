/* Perilune's own Lua modules, loaded as the build has compiled them. */
#include "lua/own_modules.h"

#include "support/state_support.h"

TEST(code_of_the_build_is_taken)
{
    struct pl_state *s = new_state(NULL, 64 * MIB);
    CHECK(s->own_code);
    CHECK_CODE(s, "return require('perilune').version", NULL, "\"test\"");
    pl_state_destroy(s);
}

/* Errors and tracebacks show the same chunk name and lines. */
TEST(code_tells_where_it_is_from_as_text_does)
{
    struct pl_state *s = new_state(NULL, 64 * MIB);
    for (size_t i = 0; i < pl_embedded_count; i++) {
        lua_Debug of[2];
        char chunk[2][LUA_IDSIZE];
        for (int code = 0; code < 2; code++) {
            lua_pushfstring(s->L, PL_OWN_CHUNK "%s", pl_own_file(pl_embedded[i].name));
            s->own_code = code;
            REQUIRE(pl_own_load(s->L, s, &pl_embedded[i], lua_tostring(s->L, -1)) == 0);
            lua_getinfo(s->L, ">S", &of[code]);
            snprintf(chunk[code], sizeof chunk[code], "%s", of[code].source);
            lua_pop(s->L, 1);
        }
        CHECK_STR(chunk[1], chunk[0]);
        CHECK_INT(of[1].lastlinedefined, of[0].lastlinedefined);
    }
    pl_state_destroy(s);
}

TEST(another_luajit_compiles_the_text)
{
    struct pl_state *s = new_state(NULL, 64 * MIB);
    struct pl_slice sample = pl_embedded_sample;
    CHECK(pl_own_is_native(s->L, sample));
    CHECK(!pl_own_is_native(s->L, pl_slice(sample.ptr, sample.len - 1)));
    struct pl_buf other = PL_BUF_INIT;
    pl_buf_add_slice(&other, sample);
    other.ptr[other.len / 2] ^= 1;
    CHECK(!pl_own_is_native(s->L, pl_buf_slice(&other)));
    pl_buf_deinit(&other);
    s->own_code = false;
    CHECK_CODE(s, "return require('perilune').version", NULL, "\"test\"");
    pl_state_destroy(s);
}

TEST_MAIN()
