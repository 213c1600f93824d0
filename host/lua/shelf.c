/* Finds the document and the level of an unfilled table. Several small objects share one userdata;
 * it is freed when its last table is gone. Tables are found by address, which the collector does
 * not change. */
#include "lua/shelf.h"

#include "base/alloc.h"

#define MOST_BYTES  ((size_t)64 << 10) /* of documents: beyond it the next one gets a new shelf */
#define MORE_LEVELS 16

struct pl_more_levels {
    struct pl_level levels[MORE_LEVELS];
};

static int shelf_gc(lua_State *L)
{
    struct pl_state *s = pl_state_of(L);
    struct pl_shelf *shelf = lua_touserdata(L, 1);
    if (s->shelf_read == shelf)
        s->shelf_read = NULL; /* its address may soon be something else's */
    s->pinned -= shelf->bytes;
    shelf->bytes = 0;
    while (shelf->doc_count > 0)
        pl_doc_unref(shelf->docs[--shelf->doc_count]);
    for (size_t i = 0; i < shelf->more_count; i++)
        pl_free(shelf->more[i]);
    pl_free(shelf->more);
    shelf->more = NULL;
    shelf->more_count = shelf->level_count = 0;
    return 0;
}

static struct pl_level *new_level(struct pl_shelf *shelf, const void *table)
{
    size_t i = shelf->level_count++;
    if (i < PL_SHELF_LEVELS) {
        shelf->tables[i] = table;
        return &shelf->levels[i];
    }
    size_t place = (i - PL_SHELF_LEVELS) % MORE_LEVELS;
    if (place == 0) {
        size_t count = shelf->more_count;
        if ((count & (count - 1)) == 0) /* full: it doubles */
            shelf->more =
                pl_reallocarray(shelf->more, count > 0 ? 2 * count : 1, sizeof *shelf->more);
        shelf->more[shelf->more_count++] = PL_NEW(struct pl_more_levels);
    }
    return &shelf->more[shelf->more_count - 1]->levels[place];
}

struct pl_level *pl_shelf_at(struct pl_shelf *shelf, double number)
{
    if (!(number >= 0 && number < shelf->level_count))
        return NULL;
    size_t i = (size_t)number;
    if (i < PL_SHELF_LEVELS)
        return &shelf->levels[i];
    i -= PL_SHELF_LEVELS;
    return &shelf->more[i / MORE_LEVELS]->levels[i % MORE_LEVELS];
}

struct pl_level *pl_shelf_add(struct pl_shelf *shelf, const void *table, unsigned flags,
                              struct pl_node node, unsigned *number)
{
    struct pl_level *level = pl_shelf_find(shelf, table); /* then that table is gone */
    if (level == NULL)
        level = new_level(shelf, table);
    *number = shelf->level_count - 1;
    *level = (struct pl_level){.node = node, .flags = flags};
    return level;
}

static struct pl_shelf *push_new(lua_State *L, struct pl_state *s)
{
    struct pl_shelf *shelf = lua_newuserdata(L, sizeof *shelf);
    shelf->doc_count = shelf->level_count = 0;
    shelf->bytes = 0;
    shelf->more = NULL;
    shelf->more_count = 0;
    pl_ref_push(L, s->refs.shelf_meta);
    lua_setmetatable(L, -2);
    lua_pushvalue(L, -1);
    lua_rawseti(L, LUA_REGISTRYINDEX, s->refs.shelf);
    return shelf;
}

void pl_shelf_push(lua_State *L, struct pl_state *s, struct pl_doc *doc)
{
    pl_ref_push(L, s->refs.shelf);
    struct pl_shelf *shelf = lua_touserdata(L, -1);
    if (shelf == NULL || shelf->doc_count == PL_SHELF_DOCS || shelf->bytes > MOST_BYTES) {
        lua_pop(L, 1);
        shelf = push_new(L, s);
    }
    size_t bytes = pl_doc_bytes(doc);
    shelf->docs[shelf->doc_count++] = pl_doc_ref(doc);
    shelf->bytes += bytes;
    s->pinned += bytes;
    s->pins += bytes;
}

void pl_shelf_close(struct pl_state *s)
{
    lua_pushboolean(s->L, false);
    lua_rawseti(s->L, LUA_REGISTRYINDEX, s->refs.shelf);
}

void pl_shelf_open(struct pl_state *s)
{
    static const luaL_Reg shelf[] = {{"__gc", shelf_gc}, {NULL, NULL}};
    lua_newtable(s->L);
    pl_state_register(s->L, s, shelf);
    pl_meta_hide(s->L);
    s->shelf_meta = lua_topointer(s->L, -1);
    s->refs.shelf_meta = luaL_ref(s->L, LUA_REGISTRYINDEX);
    lua_pushboolean(s->L, false);
    s->refs.shelf = luaL_ref(s->L, LUA_REGISTRYINDEX);
}
