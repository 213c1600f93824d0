/* Objects as tables that fill on first touch. A level begins as an empty table with a metatable;
 * the first read, write or walk fills it from the document. An untouched level belongs to the
 * document and costs a reference. The document never changes, so no script can change a cache. */
#include "lua/lazy.h"

#include "lua/number.h"
#include "object/meta.h"
#include "object/secret.h"

/* Keys of a level's hidden entries until it is filled: its shelf, and its number if the shelf does
 * not know the level's table. A script that uses the `next` of pairs can see them, so their values
 * are not trusted. */
static const char shelf_key, level_key;

/* The shelf of the pushed document, and the flags of its object. */
struct holder {
    int shelf; /* stack index */
    unsigned flags;
    bool flat; /* whether objects in it may be made at once */
};

static struct holder holder_of(int shelf, unsigned flags)
{
    /* The values of a Secret are registered one by one, as they are read. */
    return (struct holder){shelf, flags, !(flags & PL_OBJECT_SECRET)};
}

/* The address of a table's metatable; NULL: it has none, or is not a table. */
static const void *meta_of(lua_State *L, int index)
{
    if (lua_type(L, index) != LUA_TTABLE || !lua_getmetatable(L, index))
        return NULL;
    const void *meta = lua_topointer(L, -1);
    lua_pop(L, 1);
    return meta;
}

static bool has_meta(lua_State *L, int index, const void *meta)
{
    return meta_of(L, index) == meta;
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

/* ---- pushing ---- */

#define LEVEL_ROOM   4 /* entries of a level, including the hidden ones */
#define FLAT_MEMBERS 4 /* limit for objects of scalars that are made at once */

static struct pl_level *push_value(lua_State *L, struct pl_state *s, struct holder from,
                                   struct pl_node node);

/* Sets a hidden entry of the table at the top. */
static void hide(lua_State *L, const char *key)
{
    lua_pushlightuserdata(L, (void *)key);
    lua_insert(L, -2);
    lua_rawset(L, -3);
}

/* Making all members of a few scalars takes less memory than a level that hands out one. */
static void push_flat(lua_State *L, struct pl_state *s, struct holder from, struct pl_node node,
                      size_t len)
{
    lua_createtable(L, 0, (int)len);
    struct pl_iter it = pl_iter(node);
    while (pl_iter_next(&it)) {
        pl_lua_push(L, it.key);
        push_value(L, s, from, it.value);
        lua_rawset(L, -3);
    }
}

/* The level of the table, NULL when it is an ordinary one. */
static struct pl_level *lazy_push_object(lua_State *L, struct pl_state *s, struct holder from,
                                         struct pl_node node)
{
    size_t len = pl_node_len(node);
    if (len == 0) {
        lua_newtable(L);
        return NULL;
    }
    if (from.flat && len <= FLAT_MEMBERS && pl_node_is_flat(node, FLAT_MEMBERS)) {
        push_flat(L, s, from, node, len);
        return NULL;
    }
    /* Usually only a few members of a level are read: room for all would be wasted. */
    lua_createtable(L, 0, len + 1 < LEVEL_ROOM ? (int)len + 1 : LEVEL_ROOM);
    lua_pushvalue(L, from.shelf);
    hide(L, &shelf_key);
    struct pl_shelf *shelf = lua_touserdata(L, from.shelf);
    unsigned number;
    struct pl_level *level = pl_shelf_add(shelf, lua_topointer(L, -1), from.flags, node, &number);
    if (!pl_shelf_knows(shelf, level)) {
        lua_pushnumber(L, number);
        hide(L, &level_key);
    }
    pl_ref_push(L, s->refs.lazy_meta);
    lua_setmetatable(L, -2);
    if (!s->eager)
        return level;
    pl_lazy_fill(L, s, lua_gettop(L));
    return NULL;
}

static void push_array(lua_State *L, struct pl_state *s, struct holder from, struct pl_node node)
{
    luaL_checkstack(L, 8, "a document is nested too deeply");
    lua_createtable(L, (int)pl_node_len(node), 0);
    struct pl_iter it = pl_iter(node);
    while (pl_iter_next(&it)) {
        pl_limits_check(&s->limits, L); /* a table takes fifty times the bytes of its "{}," */
        push_value(L, s, from, it.value);
        lua_rawseti(L, -2, (int)it.index + 1);
    }
    pl_array_mark(L, s);
}

/* Returns its level, as above. */
static struct pl_level *push_value(lua_State *L, struct pl_state *s, struct holder from,
                                   struct pl_node node)
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
        push_array(L, s, from, node);
        break;
    case PL_OBJECT:
        return lazy_push_object(L, s, from, node);
    }
    return NULL;
}

/* Notes the document of the table at the top, which will not have it any more. */
static void note_base(lua_State *L, struct pl_state *s, struct pl_doc *doc, unsigned flags)
{
    if (lua_type(L, -1) != LUA_TTABLE)
        return;
    pl_ref_push(L, s->refs.bases); /* -- object, bases */
    lua_pushvalue(L, -2);
    struct pl_box *box = pl_box_push(L, s);
    box->doc = pl_doc_ref(doc);
    box->flags = flags;
    box->bytes = pl_doc_bytes(doc);
    s->pinned += box->bytes;
    lua_rawset(L, -3);
    lua_pop(L, 1);
}

void pl_lazy_push(lua_State *L, struct pl_state *s, struct pl_doc *doc, unsigned flags)
{
    pl_lazy_push_parts(L, s, doc, flags, NULL);
}

/* ---- filling ---- */

static int absolute(lua_State *L, int index)
{
    return index > 0 ? index : lua_gettop(L) + index + 1;
}

/* The shelf at the top; NULL: it is not a shelf. Most reads follow one of the same shelf, and
 * asking for its metatable again took as long as the rest of the read. */
static struct pl_shelf *check_shelf(lua_State *L, struct pl_state *s)
{
    void *shelf = lua_touserdata(L, -1);
    if (shelf == NULL || shelf == s->shelf_read)
        return shelf;
    if (lua_type(L, -1) != LUA_TUSERDATA || !lua_getmetatable(L, -1))
        return NULL;
    bool is_shelf = lua_topointer(L, -1) == s->shelf_meta;
    lua_pop(L, 1);
    if (!is_shelf)
        return NULL;
    /* the garbage collector has not finalized it yet */
    if (((struct pl_shelf *)shelf)->doc_count > 0)
        s->shelf_read = shelf;
    return shelf;
}

/* For a table with the metatable of levels. Pushes its shelf. */
static struct pl_level *open_level(lua_State *L, struct pl_state *s, int index)
{
    lua_pushlightuserdata(L, (void *)&shelf_key);
    lua_rawget(L, index);
    struct pl_shelf *shelf = check_shelf(L, s);
    struct pl_level *level = shelf != NULL ? pl_shelf_find(shelf, lua_topointer(L, index)) : NULL;
    if (level != NULL || shelf == NULL)
        return level;
    lua_pushlightuserdata(L, (void *)&level_key);
    lua_rawget(L, index);
    if (lua_type(L, -1) == LUA_TNUMBER)
        level = pl_shelf_at(shelf, lua_tonumber(L, -1));
    lua_pop(L, 1);
    return level;
}

struct pl_level *pl_lazy_level(lua_State *L, struct pl_state *s, int index)
{
    index = absolute(L, index);
    if (!has_meta(L, index, s->lazy_meta))
        return NULL;
    struct pl_level *level = open_level(L, s, index);
    lua_pop(L, 1);
    return level;
}

bool pl_lazy_node(lua_State *L, struct pl_state *s, int index, struct pl_node *node)
{
    const struct pl_level *level = pl_lazy_level(L, s, index);
    if (level == NULL || level->taken != 0)
        return false;
    *node = level->node;
    return true;
}

/* Notes that the values of the table at the top belong to a Secret. */
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

static bool is_root(struct pl_node node)
{
    return pl_node_is_same(node, pl_doc_root(node.doc));
}

/* The value at the top is this member of the table at index, which is made from the node. */
static void note_if_secret(lua_State *L, struct pl_state *s, int index, unsigned flags,
                           struct pl_node node, struct pl_slice key)
{
    if (!(flags & PL_OBJECT_SECRET))
        return;
    if (is_root(node) && pl_secret_is_key(key))
        note_secret(L, s);
    if (lua_type(L, -1) != LUA_TSTRING)
        return;
    if (pl_lazy_is_secret(L, s, index))
        pl_secrets_add(&s->secrets, pl_lua_slice(L, -1));
    else if (pl_slice_eqz(key, PL_META_APPLIED))
        pl_secret_note_applied(&s->secrets, pl_lua_slice(L, -1));
}

/* The table at index is an ordinary one from now on. */
static void end_level(lua_State *L, int index)
{
    lua_pushvalue(L, index);
    lua_pushnil(L);
    hide(L, &shelf_key);
    lua_pushnil(L);
    hide(L, &level_key);
    lua_pushnil(L);
    lua_setmetatable(L, -2);
    lua_pop(L, 1);
}

void pl_lazy_fill(lua_State *L, struct pl_state *s, int index)
{
    index = absolute(L, index);
    const void *meta = meta_of(L, index);
    if (meta == s->unread_meta)
        s->hooks->fill(L, s, index);
    if (meta != s->lazy_meta)
        return;
    luaL_checkstack(L, 10, "a document");
    const struct pl_level *level = open_level(L, s, index);
    int shelf = lua_gettop(L);
    if (level == NULL) { /* a script has got our metatable */
        lua_settop(L, shelf - 1);
        return;
    }
    struct holder from = holder_of(shelf, level->flags);
    if (is_root(level->node) && (from.flags & PL_OBJECT_ROOT)) {
        lua_pushvalue(L, index);
        note_base(L, s, (struct pl_doc *)level->node.doc, from.flags);
        lua_pop(L, 1);
    }
    struct pl_iter it = pl_iter(level->node);
    while (pl_iter_next(&it)) {
        if (pl_level_has_taken(level, it.index))
            continue;
        pl_limits_check(&s->limits, L);
        pl_lua_push(L, it.key);
        push_value(L, s, from, it.value);
        note_if_secret(L, s, index, from.flags, level->node, it.key);
        lua_rawset(L, index);
    }
    end_level(L, index);
    lua_settop(L, shelf - 1);
}

/* Reads a member for the first time. */
static int lazy_index(lua_State *L)
{
    struct pl_state *s = pl_state_of(L);
    struct pl_level *level = open_level(L, s, 1); /* -- level, name, shelf */
    size_t place;
    if (level == NULL || lua_type(L, 2) != LUA_TSTRING)
        return 0;
    struct pl_slice key = pl_lua_slice(L, 2);
    struct pl_node value = pl_node_find(level->node, key, &place);
    if (pl_node_is_missing(value) || pl_level_has_taken(level, place))
        return 0; /* the second time: the script has removed it */
    if (place >= PL_LEVEL_TAKEN) {
        pl_lazy_fill(L, s, 1);
        lua_settop(L, 2);
        lua_rawget(L, 1);
        return 1;
    }
    push_value(L, s, holder_of(3, level->flags), value);
    note_if_secret(L, s, 1, level->flags, level->node, key);
    lua_pushvalue(L, 2);
    lua_pushvalue(L, -2);
    lua_rawset(L, 1);
    level->taken |= (uint64_t)1 << place;
    return 1;
}

static int lazy_newindex(lua_State *L)
{
    pl_lazy_fill(L, pl_state_of(L), 1);
    lua_settop(L, 3);
    lua_rawset(L, 1);
    return 0;
}

/* ---- parts ---- */

static struct pl_level *leave_parts(lua_State *L, struct pl_state *s, struct holder from,
                                    struct pl_level *level, struct pl_part *parts);

/* Adds a member to the table at index, which is made from the node. */
static void lazy_add_part(lua_State *L, struct pl_state *s, int index, struct holder from,
                          struct pl_node node, struct pl_node value, struct pl_part *part)
{
    pl_lua_push(L, part->name);
    struct pl_level *level = push_value(L, s, from, value);
    note_if_secret(L, s, index, from.flags, node, part->name);
    if (level != NULL && !part->whole)
        leave_parts(L, s, from, level, part->below);
    lua_rawset(L, index);
}

/* Makes the level at index an ordinary table of these parts. */
static void fill_parts(lua_State *L, struct pl_state *s, int index, struct holder from,
                       struct pl_node node, struct pl_part *parts)
{
    end_level(L, index);
    for (struct pl_part *part = parts; part != NULL; part = part->next) {
        struct pl_node value = pl_node_get(node, part->name);
        if (!pl_node_is_missing(value))
            lazy_add_part(L, s, index, from, node, value, part);
    }
}

/* Prepares the level at the top: members outside of the parts count as removed, and whole parts are
 * left to be read on demand. Returns the level; NULL: the table is an ordinary one. */
static struct pl_level *leave_parts(lua_State *L, struct pl_state *s, struct holder from,
                                    struct pl_level *level, struct pl_part *parts)
{
    int index = lua_gettop(L);
    struct pl_node node = level->node;
    luaL_checkstack(L, 10, "select");
    if (pl_node_len(node) > PL_LEVEL_TAKEN) {
        fill_parts(L, s, index, from, node, parts);
        return NULL;
    }
    level->taken = UINT64_MAX;
    for (struct pl_part *part = parts; part != NULL; part = part->next) {
        size_t place;
        struct pl_node value = pl_node_find_hinted(node, part->name, &part->hint, &place);
        if (part->whole && !pl_node_is_missing(value))
            level->taken &= ~((uint64_t)1 << place);
        else if (!pl_node_is_missing(value))
            lazy_add_part(L, s, index, from, node, value, part);
    }
    return level;
}

void pl_lazy_push_parts(lua_State *L, struct pl_state *s, struct pl_doc *doc, unsigned flags,
                        struct pl_part *parts)
{
    struct pl_node root = pl_doc_root(doc);
    luaL_checkstack(L, 10, "a document");
    pl_shelf_push(L, s, doc);
    struct holder from = holder_of(lua_gettop(L), flags);
    from.flat = from.flat && parts == NULL; /* parts need levels */
    struct pl_level *level = push_value(L, s, from, root);
    if (level != NULL && parts != NULL)
        level = leave_parts(L, s, from, level, parts);
    if ((flags & PL_OBJECT_ROOT) && level == NULL)
        note_base(L, s, doc, flags);
    lua_remove(L, from.shelf);
}

/* ---- bases and marks ---- */

struct pl_base pl_lazy_base(lua_State *L, struct pl_state *s, int index)
{
    if (lua_type(L, index) != LUA_TTABLE)
        return (struct pl_base){NULL, 0};
    index = absolute(L, index);
    const struct pl_level *level = pl_lazy_level(L, s, index);
    if (level != NULL)
        return is_root(level->node) && (level->flags & PL_OBJECT_ROOT)
                   ? (struct pl_base){(struct pl_doc *)level->node.doc, level->flags}
                   : (struct pl_base){NULL, 0};
    pl_ref_push(L, s->refs.bases);
    lua_pushvalue(L, index);
    lua_rawget(L, -2);
    const struct pl_box *box = lua_touserdata(L, -1);
    lua_pop(L, 2);
    return box != NULL ? (struct pl_base){box->doc, box->flags} : (struct pl_base){NULL, 0};
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

/* Members that are not entries of the table yet. */
static void note_untaken(struct pl_state *s, const struct pl_level *level)
{
    bool root = is_root(level->node);
    for (struct pl_iter it = pl_iter(level->node); pl_iter_next(&it);)
        if (!pl_level_has_taken(level, it.index) && (!root || pl_secret_is_key(it.key)))
            pl_secret_note_values(&s->secrets, it.value);
}

void pl_lazy_note_secrets(lua_State *L, struct pl_state *s, int index, const struct pl_level *level)
{
    if (!(level->flags & PL_OBJECT_SECRET))
        return;
    struct pl_node node = level->node;
    bool root = is_root(node);
    if (root || pl_lazy_is_secret(L, s, index))
        note_untaken(s, level);
    struct pl_node metadata = root ? pl_node_getz(node, "metadata") : node;
    pl_secret_note_annotations(&s->secrets, node);
    pl_secret_note_annotations(&s->secrets, pl_node_getz(metadata, "annotations"));
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
    pl_meta_hide(L);
    s->box_meta = lua_topointer(L, -1);
    s->refs.box_meta = luaL_ref(L, LUA_REGISTRYINDEX);
    pl_shelf_open(s);
    s->refs.bases = pl_weak_ref(L, "k");
    s->refs.secrets = pl_weak_ref(L, "k");
    s->refs.traced = pl_weak_ref(L, "k");
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

/* The marks are hidden from scripts: they could be used to change every object. */
static int lazy_getmetatable(lua_State *L)
{
    struct pl_state *s = pl_state_of(L);
    luaL_checkany(L, 1);
    const void *meta = meta_of(L, 1);
    bool is_mark = meta == s->lazy_meta || meta == s->array_meta || meta == s->unread_meta;
    if (is_mark || !lua_getmetatable(L, 1)) {
        lua_pushnil(L);
        return 1;
    }
    luaL_getmetafield(L, 1, "__metatable"); /* pushes nothing if there is none */
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
