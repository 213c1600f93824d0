/* The result of a list as a userdata that owns the documents. Each becomes a table on demand, and
 * its document is then released. The collector frees a batch that the script drops. */
#include "bind/batch.h"

#include "bind/bind.h"
#include "lua/lazy.h"
#include "lua/lerr.h"
#include "lua/member.h"

static const char batch_name[] = "perilune.batch";

static int batch_gc(lua_State *L)
{
    struct pl_batch *batch = lua_touserdata(L, 1);
    pl_docs_deinit(&batch->docs);
    pl_parts_free(batch->parts);
    batch->parts = NULL;
    return 0;
}

void pl_batch_open(struct pl_state *s)
{
    lua_State *L = s->L;
    luaL_newmetatable(L, batch_name);
    lua_pushcfunction(L, batch_gc);
    lua_setfield(L, -2, "__gc");
    pl_meta_hide(L);
    s->refs.batch_meta = luaL_ref(L, LUA_REGISTRYINDEX);
}

struct pl_batch *pl_batch_push(lua_State *L, struct pl_state *s)
{
    struct pl_batch *batch = lua_newuserdata(L, sizeof *batch);
    memset(batch, 0, sizeof *batch);
    pl_ref_push(L, s->refs.batch_meta);
    lua_setmetatable(L, -2);
    return batch;
}

#define MOST_PATHS 58 /* limit of a `select` */

static void batch_add_path(lua_State *L, struct pl_state *s, struct pl_batch *batch,
                           struct pl_slice text)
{
    struct pl_err err;
    pl_err_clear(&err);
    if (pl_parts_add(&batch->parts, text, &err) != 0)
        pl_lerr_raise(L, s, "select: %s", err.message);
}

void pl_batch_read_select(lua_State *L, struct pl_state *s, struct pl_batch *batch, int options)
{
    static const char identity[][28] = {"apiVersion",    "kind",
                                        "metadata.name", "metadata.namespace",
                                        "metadata.uid",  "metadata.resourceVersion"};
    pl_member_push(L, options, "select");
    if (lua_type(L, -1) == LUA_TTABLE) {
        int count = (int)lua_objlen(L, -1);
        if (count > MOST_PATHS)
            pl_lerr_raise(L, s, "select: at most %d paths", MOST_PATHS);
        for (int i = 1; i <= count; i++) {
            lua_rawgeti(L, -1, i);
            bool is_text = lua_type(L, -1) == LUA_TSTRING;
            batch_add_path(L, s, batch, is_text ? pl_lua_slice(L, -1) : pl_slice(NULL, 0));
            lua_pop(L, 1);
        }
        for (size_t i = 0; i < PL_ARRAY_LEN(identity); i++)
            batch_add_path(L, s, batch, pl_slice_z(identity[i]));
        batch->flags |= PL_OBJECT_PARTIAL | PL_OBJECT_SELECTED;
    }
    lua_pop(L, 1);
}

/* The batch releases it at once: later, dropping its reference would wait for memory. */
static void push_doc_of(lua_State *L, struct pl_state *s, struct pl_batch *batch, size_t i)
{
    struct pl_doc *doc = pl_docs_whole_at(&batch->docs, i);
    pl_lazy_push_parts(L, s, doc, batch->flags, batch->parts);
    pl_doc_unref(doc);
    batch->docs.items[i] = NULL;
}

static int push_next(lua_State *L, struct pl_state *s, struct pl_batch *batch)
{
    if (batch->at >= batch->docs.count) {
        lua_pushnil(L);
        return 1;
    }
    push_doc_of(L, s, batch, batch->at++);
    return 1;
}

int pl_bind_batch_next(lua_State *L)
{
    return push_next(L, pl_state_of(L), luaL_checkudata(L, 1, batch_name));
}

/* For a batch that is the whole result: upvalue 2. */
static int iterate(lua_State *L)
{
    return push_next(L, pl_state_of(L), lua_touserdata(L, lua_upvalueindex(2)));
}

int pl_bind_batch_iterator(lua_State *L)
{
    luaL_checkudata(L, 1, batch_name);
    lua_settop(L, 1);
    lua_pushlightuserdata(L, pl_state_of(L));
    lua_insert(L, 1);
    lua_pushcclosure(L, iterate, 2);
    return 1;
}

void pl_batch_push_all(lua_State *L, struct pl_state *s, struct pl_batch *batch)
{
    lua_createtable(L, (int)batch->docs.count, 0);
    for (size_t i = 0; i < batch->docs.count; i++) {
        push_doc_of(L, s, batch, i);
        lua_rawseti(L, -2, (int)i + 1);
    }
    pl_array_mark(L, s);
}
