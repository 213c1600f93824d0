#include "lane/lazy.h"

#include "base/check.h"
#include "lane/number.h"

static bool has_meta(lua_State *L, int index, const void *meta)
{
    if (lua_type(L, index) != LUA_TTABLE || !lua_getmetatable(L, index))
        return false;
    bool same = lua_topointer(L, -1) == meta;
    lua_pop(L, 1);
    return same;
}

/* ---- boxes ---- */

static int box_gc(lua_State *L)
{
    struct pl_state *s = pl_state_of(L);
    struct pl_box *box = lua_touserdata(L, 1);
    s->pinned -= box->bytes;
    pl_doc_unref(box->doc);
    box->doc = NULL;
    box->bytes = 0;
    return 0;
}

struct pl_box *pl_box_push(lua_State *L, struct pl_state *s)
{
    struct pl_box *box = lua_newuserdata(L, sizeof *box);
    *box = (struct pl_box){.doc = NULL};
    pl_ref_push(L, s->refs.box_meta);
    lua_setmetatable(L, -2);
    return box;
}

static void push_box(lua_State *L, struct pl_state *s, struct pl_doc *doc, unsigned flags)
{
    struct pl_box *box = pl_box_push(L, s);
    *box = (struct pl_box){.doc = pl_doc_ref(doc), .flags = flags, .bytes = pl_doc_bytes(doc)};
    s->pinned += box->bytes;
    s->pins += box->bytes;
}

/* ---- pushing ---- */

static void push_value(lua_State *L, struct pl_state *s, int box, struct pl_node node);

static void push_level(lua_State *L, struct pl_state *s, int box, struct pl_node node)
{
    size_t len = pl_node_len(node);
    if (len == 0) {
        lua_newtable(L);
        return;
    }
    /* Room for the members now: growing later costs more than it saves. */
    lua_createtable(L, 0, (int)len + 1);
    lua_pushvalue(L, box);
    lua_pushlightuserdata(L, (void *)node.at);
    lua_rawset(L, -3);
    pl_ref_push(L, s->refs.lazy_meta);
    lua_setmetatable(L, -2);
    if (s->eager)
        pl_lazy_fill(L, s, lua_gettop(L));
}

static void push_array(lua_State *L, struct pl_state *s, int box, struct pl_node node)
{
    luaL_checkstack(L, 8, "a document is nested too deeply");
    lua_createtable(L, (int)pl_node_len(node), 0);
    struct pl_iter it = pl_iter(node);
    while (pl_iter_next(&it)) {
        push_value(L, s, box, it.value);
        lua_rawseti(L, -2, (int)it.index + 1);
    }
    pl_array_mark(L, s);
}

static void push_value(lua_State *L, struct pl_state *s, int box, struct pl_node node)
{
    struct pl_scratch scratch;
    switch (pl_node_type(node)) {
    case PL_MISSING:
        lua_pushnil(L);
        break;
    case PL_NULL:
        lua_pushlightuserdata(L, NULL);
        break;
    case PL_BOOL:
        lua_pushboolean(L, pl_node_bool(node));
        break;
    case PL_NUMBER:
        pl_number_push(L, s, node);
        break;
    case PL_STRING:
        pl_lua_push(L, pl_node_str(node, &scratch));
        break;
    case PL_ARRAY:
        push_array(L, s, box, node);
        break;
    case PL_OBJECT:
        push_level(L, s, box, node);
        break;
    }
}

static void note_base(lua_State *L, struct pl_state *s, int box)
{
    if (lua_type(L, -1) != LUA_TTABLE)
        return;
    pl_ref_push(L, s->refs.bases); /* -- object, bases */
    lua_pushvalue(L, -2);
    lua_pushvalue(L, box);
    lua_rawset(L, -3);
    lua_pop(L, 1);
}

void pl_lazy_push(lua_State *L, struct pl_state *s, struct pl_doc *doc, unsigned flags)
{
    struct pl_node root = pl_doc_root(doc);
    luaL_checkstack(L, 10, "a document");
    push_box(L, s, doc, flags);
    int box = lua_gettop(L);
    push_value(L, s, box, root);
    if (flags & PL_OBJECT_ROOT)
        note_base(L, s, box);
    lua_remove(L, box);
}

/* ---- filling ---- */

/* Pushes the box and gives the position; false when there is none (never for our metatable,
 * unless a script got hold of it). */
static bool find_box(lua_State *L, struct pl_state *s, int index, struct pl_node *node)
{
    lua_pushnil(L);
    while (lua_next(L, index) != 0) {
        if (lua_type(L, -2) == LUA_TUSERDATA && lua_type(L, -1) == LUA_TLIGHTUSERDATA &&
            lua_getmetatable(L, -2)) {
            bool ours = lua_topointer(L, -1) == s->box_meta;
            lua_pop(L, 1);
            if (ours) {
                const struct pl_box *box = lua_touserdata(L, -2);
                *node = (struct pl_node){box->doc, lua_touserdata(L, -1)};
                lua_pop(L, 1);
                return true;
            }
        }
        lua_pop(L, 1);
    }
    return false;
}

static int absolute(lua_State *L, int index)
{
    return index > 0 ? index : lua_gettop(L) + index + 1;
}

bool pl_lazy_node(lua_State *L, struct pl_state *s, int index, struct pl_node *node)
{
    index = absolute(L, index);
    if (!has_meta(L, index, s->lazy_meta) || !find_box(L, s, index, node))
        return false;
    lua_pop(L, 1);
    return true;
}

/* Remembers that the values of the table at the top are a Secret's. */
static void note_secret(lua_State *L, struct pl_state *s)
{
    if (lua_type(L, -1) != LUA_TTABLE)
        return;
    pl_ref_push(L, s->refs.secrets);
    lua_pushvalue(L, -2);
    lua_pushboolean(L, true);
    lua_rawset(L, -3);
    lua_pop(L, 1);
}

static bool is_secret_key(struct pl_slice key)
{
    return pl_slice_eqz(key, "data") || pl_slice_eqz(key, "stringData");
}

void pl_lazy_fill(lua_State *L, struct pl_state *s, int index)
{
    struct pl_node node;
    index = absolute(L, index);
    luaL_checkstack(L, 10, "a document");
    if (!has_meta(L, index, s->lazy_meta) || !find_box(L, s, index, &node))
        return;
    int at = lua_gettop(L); /* -- ..., box */
    struct pl_box *box = lua_touserdata(L, at);
    lua_pushvalue(L, at);
    lua_pushnil(L);
    lua_rawset(L, index);
    lua_pushnil(L);
    lua_setmetatable(L, index);
    bool values = (box->flags & PL_OBJECT_SECRET) && pl_lazy_is_secret(L, s, index);
    bool secret = (box->flags & PL_OBJECT_SECRET) && pl_node_is_same(node, pl_doc_root(box->doc));
    struct pl_iter it = pl_iter(node);
    while (pl_iter_next(&it)) {
        pl_lua_push(L, it.key);
        push_value(L, s, at, it.value);
        if (secret && is_secret_key(it.key))
            note_secret(L, s);
        if (values && lua_type(L, -1) == LUA_TSTRING)
            pl_secrets_add(&s->secrets, pl_lua_slice(L, -1));
        lua_rawset(L, index);
    }
    lua_settop(L, at - 1);
}

static int lazy_index(lua_State *L)
{
    pl_lazy_fill(L, pl_state_of(L), 1);
    lua_settop(L, 2);
    lua_rawget(L, 1);
    return 1;
}

static int lazy_newindex(lua_State *L)
{
    pl_lazy_fill(L, pl_state_of(L), 1);
    lua_settop(L, 3);
    lua_rawset(L, 1);
    return 0;
}

/* ---- bases and marks ---- */

struct pl_box *pl_lazy_base(lua_State *L, struct pl_state *s, int index)
{
    if (lua_type(L, index) != LUA_TTABLE)
        return NULL;
    index = absolute(L, index);
    pl_ref_push(L, s->refs.bases);
    lua_pushvalue(L, index);
    lua_rawget(L, -2);
    struct pl_box *box = lua_touserdata(L, -1);
    lua_pop(L, 2);
    return box;
}

void pl_lazy_copy_base(lua_State *L, struct pl_state *s, int from, int to)
{
    from = absolute(L, from);
    to = absolute(L, to);
    if (lua_type(L, to) != LUA_TTABLE)
        return;
    pl_ref_push(L, s->refs.bases);
    lua_pushvalue(L, to);
    lua_pushvalue(L, from);
    lua_rawget(L, -3);
    lua_rawset(L, -3);
    lua_pop(L, 1);
}

bool pl_lazy_is_secret(lua_State *L, struct pl_state *s, int index)
{
    index = absolute(L, index);
    pl_ref_push(L, s->refs.secrets);
    lua_pushvalue(L, index);
    lua_rawget(L, -2);
    bool secret = lua_toboolean(L, -1);
    lua_pop(L, 2);
    return secret;
}

void pl_array_mark(lua_State *L, struct pl_state *s)
{
    pl_ref_push(L, s->refs.array_meta);
    lua_setmetatable(L, -2);
}

bool pl_array_is_marked(lua_State *L, struct pl_state *s, int index)
{
    return has_meta(L, index, s->array_meta);
}

/* ---- the state's own tables ---- */

static int weak_table(lua_State *L)
{
    lua_newtable(L);
    lua_newtable(L);
    lua_pushliteral(L, "k");
    lua_setfield(L, -2, "__mode");
    lua_setmetatable(L, -2);
    return luaL_ref(L, LUA_REGISTRYINDEX);
}

void pl_lazy_open(struct pl_state *s)
{
    lua_State *L = s->L;
    static const luaL_Reg level[] = {
        {"__index", lazy_index},
        {"__newindex", lazy_newindex},
        {NULL, NULL},
    };
    static const luaL_Reg box[] = {{"__gc", box_gc}, {NULL, NULL}};
    lua_newtable(L);
    pl_state_register(L, s, level);
    s->lazy_meta = lua_topointer(L, -1);
    s->refs.lazy_meta = luaL_ref(L, LUA_REGISTRYINDEX);
    lua_newtable(L);
    s->array_meta = lua_topointer(L, -1);
    s->refs.array_meta = luaL_ref(L, LUA_REGISTRYINDEX);
    lua_newtable(L);
    pl_state_register(L, s, box);
    s->box_meta = lua_topointer(L, -1);
    s->refs.box_meta = luaL_ref(L, LUA_REGISTRYINDEX);
    s->refs.bases = weak_table(L);
    s->refs.secrets = weak_table(L);
    s->refs.traced = weak_table(L);
}

/* ---- the globals of scripts ---- */

/* pairs: the stock `next` (upvalue 2), the table, nil. */
static int lazy_pairs(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    pl_lazy_fill(L, pl_state_of(L), 1);
    lua_pushvalue(L, lua_upvalueindex(2));
    lua_pushvalue(L, 1);
    lua_pushnil(L);
    return 3;
}

static int lazy_next(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 2);
    if (lua_isnil(L, 2))
        pl_lazy_fill(L, pl_state_of(L), 1);
    if (lua_next(L, 1))
        return 2;
    lua_pushnil(L);
    return 1;
}

/* The marks are not for scripts: through them one could change every object. */
static int lazy_getmetatable(lua_State *L)
{
    struct pl_state *s = pl_state_of(L);
    luaL_checkany(L, 1);
    if (has_meta(L, 1, s->lazy_meta) || has_meta(L, 1, s->array_meta) || !lua_getmetatable(L, 1)) {
        lua_pushnil(L);
        return 1;
    }
    luaL_getmetafield(L, 1, "__metatable"); /* pushes nothing when there is none */
    return 1;
}

void pl_lazy_install(struct pl_state *s)
{
    lua_State *L = s->L;
    lua_pushvalue(L, LUA_GLOBALSINDEX);
    lua_pushlightuserdata(L, s);
    lua_getfield(L, -2, "next"); /* before it is replaced */
    lua_pushcclosure(L, lazy_pairs, 2);
    lua_setfield(L, -2, "pairs");
    pl_state_set(L, s, "next", lazy_next);
    pl_state_set(L, s, "getmetatable", lazy_getmetatable);
    lua_pop(L, 1);
}
