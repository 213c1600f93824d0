#include "lua/own_modules.h"

#include "base/buf.h"

static int add_piece(lua_State *L, const void *bytes, size_t len, void *out)
{
    PL_UNUSED(L);
    pl_buf_add(out, bytes, len);
    return 0;
}

bool pl_own_is_native(lua_State *L, struct pl_slice sample)
{
    struct pl_buf code = PL_BUF_INIT;
    bool same = pl_own_load_sample(L) == 0 && lua_dump(L, add_piece, &code) == 0 &&
                pl_slice_eq(pl_buf_slice(&code), sample);
    lua_pop(L, 1);
    pl_buf_deinit(&code);
    return same;
}

const struct pl_embedded *pl_own_find(const char *name)
{
    for (size_t i = 0; i < pl_embedded_count; i++) {
        if (strcmp(pl_embedded[i].name, name) == 0)
            return &pl_embedded[i];
    }
    return NULL;
}

int pl_own_load(lua_State *L, struct pl_state *s, const struct pl_embedded *own, const char *chunk)
{
    struct pl_slice form = s->own_code ? pl_own_code(own) : pl_own_text(own);
    return luaL_loadbufferx(L, form.ptr, form.len, chunk, s->own_code ? "b" : "t");
}
