/* Compares two values as JSON. Values that are still in a document are compared there. */
#include "lua/lazy.h"
#include "lua/lerr.h"
#include "lua/lval.h"
#include "lua/number.h"

static bool equal(lua_State *L, struct pl_state *s, int depth);

static size_t count_members(lua_State *L, int index)
{
    size_t count = 0;
    lua_pushnil(L);
    while (lua_next(L, index < 0 ? index - 1 : index) != 0) {
        lua_pop(L, 1);
        count++;
    }
    return count;
}

/* Both filled tables at the top. */
static bool equal_members(lua_State *L, struct pl_state *s, int depth)
{
    int a = lua_gettop(L) - 1, b = a + 1;
    size_t count = 0;
    for (lua_pushnil(L); lua_next(L, a) != 0; count++) {
        lua_pushvalue(L, -2);
        lua_rawget(L, b);
        bool same = !lua_isnil(L, -1) && equal(L, s, depth + 1);
        lua_pop(L, 2);
        if (!same) {
            lua_pop(L, 1);
            return false;
        }
    }
    return count == count_members(L, b);
}

static bool equal_node(lua_State *L, struct pl_state *s, struct pl_node node, int depth);

/* The filled table at the top and an array. */
static bool equal_node_elements(lua_State *L, struct pl_state *s, struct pl_node node, int depth)
{
    if (!pl_lval_is_array(L, s, -1) || count_members(L, -1) != pl_node_len(node))
        return false;
    struct pl_iter it = pl_iter(node);
    while (pl_iter_next(&it)) {
        lua_rawgeti(L, -1, (int)it.index + 1);
        bool same = equal_node(L, s, it.value, depth + 1);
        lua_pop(L, 1);
        if (!same)
            return false;
    }
    return true;
}

/* The filled table at the top and an object. */
static bool equal_node_members(lua_State *L, struct pl_state *s, struct pl_node node, int depth)
{
    size_t count = 0;
    if (pl_array_is_marked(L, s, -1))
        return false;
    for (lua_pushnil(L); lua_next(L, -2) != 0; count++) {
        bool same = lua_type(L, -2) == LUA_TSTRING &&
                    equal_node(L, s, pl_node_get(node, pl_lua_slice(L, -2)), depth + 1);
        lua_pop(L, 1);
        if (!same) {
            lua_pop(L, 1);
            return false;
        }
    }
    return count == pl_node_len(node);
}

static bool equal_node_number(lua_State *L, struct pl_state *s, struct pl_node node, int depth)
{
    pl_number_push(L, s, node);
    bool same = equal(L, s, depth);
    lua_pop(L, 1);
    return same;
}

/* Call it before going into tables of that depth: raises when too deep. */
static void go_down(lua_State *L, struct pl_state *s, int depth)
{
    luaL_checkstack(L, 8, "nested too deeply");
    if (depth > PL_LVAL_DEPTH)
        pl_lerr_raise(L, s, "nested deeper than 512 levels");
    pl_limits_check(&s->limits, L);
}

static bool equal_node_table(lua_State *L, struct pl_state *s, struct pl_node node, int depth)
{
    struct pl_node own;
    go_down(L, s, depth);
    if (pl_lazy_node(L, s, -1, &own))
        return pl_node_equal(own, node);
    pl_lazy_fill(L, s, -1);
    return pl_node_type(node) == PL_ARRAY ? equal_node_elements(L, s, node, depth)
                                          : equal_node_members(L, s, node, depth);
}

/* Compares the value at the top with one that is still in a document and may stay there. */
static bool equal_node(lua_State *L, struct pl_state *s, struct pl_node node, int depth)
{
    switch (pl_node_type(node)) {
    case PL_NULL:
        return lua_type(L, -1) == LUA_TLIGHTUSERDATA && lua_touserdata(L, -1) == NULL;
    case PL_BOOL:
        return lua_type(L, -1) == LUA_TBOOLEAN && lua_toboolean(L, -1) == pl_node_bool(node);
    case PL_NUMBER:
        return equal_node_number(L, s, node, depth);
    case PL_STRING:
        return lua_type(L, -1) == LUA_TSTRING && pl_node_str_eq(node, pl_lua_slice(L, -1));
    case PL_ARRAY:
    case PL_OBJECT:
        return lua_type(L, -1) == LUA_TTABLE && equal_node_table(L, s, node, depth);
    case PL_MISSING:
        break;
    }
    return false;
}

/* A table without a metatable is filled, and its entries decide whether it is an array. */
static bool lval_equal_is_plain(lua_State *L, int index)
{
    if (!lua_getmetatable(L, index))
        return true;
    lua_pop(L, 1);
    return false;
}

static bool equal_tables(lua_State *L, struct pl_state *s, int depth)
{
    struct pl_node a, b;
    go_down(L, s, depth);
    if (lval_equal_is_plain(L, -2) && lval_equal_is_plain(L, -1))
        return equal_members(L, s, depth);
    if (pl_lazy_node(L, s, -2, &a))
        return equal_node_table(L, s, a, depth);
    if (pl_lazy_node(L, s, -1, &b)) {
        lua_pushvalue(L, -2);
        bool same = equal_node_table(L, s, b, depth);
        lua_pop(L, 1);
        return same;
    }
    pl_lazy_fill(L, s, -2);
    pl_lazy_fill(L, s, -1);
    if (pl_lval_is_array(L, s, -2) != pl_lval_is_array(L, s, -1))
        return false;
    return equal_members(L, s, depth);
}

/* Numbers in any of their three forms, by value. */
static bool equal_numbers(lua_State *L, struct pl_state *s)
{
    struct pl_build *build = pl_build_create(NULL);
    struct pl_doc *docs[2] = {NULL, NULL};
    for (int i = 0; i < 2; i++) {
        if (pl_number_build(L, s, lua_gettop(L) - 1 + i, build, NULL) != 0)
            break;
        docs[i] = pl_build_finish(build);
    }
    bool same = docs[1] != NULL && pl_node_equal(pl_doc_root(docs[0]), pl_doc_root(docs[1]));
    pl_doc_unref(docs[0]);
    pl_doc_unref(docs[1]);
    pl_build_destroy(build);
    return same;
}

static bool lval_equal_is_number(lua_State *L, struct pl_state *s, int index)
{
    struct pl_slice text;
    int type = lua_type(L, index);
    return type == LUA_TNUMBER || type == PL_TCDATA || pl_number_text(L, s, index, &text);
}

/* The two values at the top, which stay there. */
static bool equal(lua_State *L, struct pl_state *s, int depth)
{
    if (lua_rawequal(L, -2, -1))
        return true;
    if (lua_type(L, -2) == LUA_TTABLE && lua_type(L, -1) == LUA_TTABLE)
        return equal_tables(L, s, depth);
    if (lval_equal_is_number(L, s, -2) && lval_equal_is_number(L, s, -1))
        return equal_numbers(L, s);
    return false;
}

bool pl_lval_equal(lua_State *L, struct pl_state *s, int a, int b)
{
    luaL_checkstack(L, 8, NULL);
    lua_pushvalue(L, a);
    lua_pushvalue(L, b < 0 ? b - 1 : b);
    bool same = equal(L, s, 0);
    lua_pop(L, 2);
    return same;
}

bool pl_lval_is_unchanged(lua_State *L, struct pl_state *s, int index)
{
    const struct pl_doc *base = pl_lazy_base(L, s, index).doc;
    if (base == NULL)
        return false;
    struct pl_doc *doc = pl_lval_doc(L, s, index, NULL);
    bool same = doc != NULL && pl_node_equal(pl_doc_root(doc), pl_doc_root(base));
    pl_doc_unref(doc);
    return same;
}
