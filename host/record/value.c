/* One letter says what follows:
 *   z t f     nil, true, false        n s    a number (eight bytes), a text
 *   0 w       null, "call again"      j      a value as JSON, without what it was read from
 *   d         flags, an object as JSON that was read from the cluster
 *   a e b     arrays of objects, errors, batches: a count, and that many of the above
 *   ?         what can't be written down: its type */
#include "record/value.h"

#include "bind/batch.h"
#include "lua/lazy.h"
#include "lua/lval.h"
#include "value/scan.h"
#include "value/write.h"

#include <lauxlib.h>
#include <string.h>

#define DEPTH     20
#define PRINT_MAX 1000

/* ---- writing ---- */

static void put_doc(struct pl_buf *out, struct pl_node root, struct pl_veil *veil)
{
    struct pl_buf json = PL_BUF_INIT;
    if (veil != NULL)
        pl_veil_write(veil, root, &json);
    else
        pl_write(&json, root, PL_WRITE_SORTED);
    pl_bytes_put_text(out, pl_buf_slice(&json));
    pl_buf_deinit(&json);
}

void pl_value_put_text(struct pl_buf *out, struct pl_slice text, struct pl_veil *veil)
{
    struct pl_buf shown = PL_BUF_INIT;
    pl_veil_text(veil, text, &shown);
    pl_bytes_put_text(out, pl_buf_slice(&shown));
    pl_buf_deinit(&shown);
}

static void put_json(struct pl_buf *out, lua_State *L, struct pl_state *s, int index,
                     struct pl_veil *veil)
{
    struct pl_err err;
    pl_err_clear(&err);
    struct pl_base base = pl_lazy_base(L, s, index);
    struct pl_doc *doc = pl_lval_doc(L, s, index, &err);
    if (doc == NULL) {
        pl_buf_add_char(out, '?');
        pl_bytes_put_text(out, pl_slice_z(luaL_typename(L, index)));
        return;
    }
    pl_buf_add_char(out, base.doc != NULL ? 'd' : 'j');
    if (base.doc != NULL)
        pl_bytes_put_int(out, base.flags);
    put_doc(out, pl_doc_root(doc), veil);
    pl_doc_unref(doc);
}

static bool is_error(lua_State *L, struct pl_state *s, int index)
{
    if (lua_getmetatable(L, index) == 0)
        return false;
    pl_ref_push(L, s->refs.error_meta);
    bool is = lua_rawequal(L, -1, -2);
    lua_pop(L, 2);
    return is;
}

static bool is_batch(lua_State *L, struct pl_state *s, int index)
{
    if (lua_type(L, index) != LUA_TUSERDATA || lua_getmetatable(L, index) == 0)
        return false;
    pl_ref_push(L, s->refs.batch_meta);
    bool is = lua_rawequal(L, -1, -2);
    lua_pop(L, 2);
    return is;
}

static bool holds_objects(lua_State *L, struct pl_state *s, int index)
{
    if (lua_type(L, index) != LUA_TTABLE || lua_objlen(L, index) == 0)
        return false;
    lua_rawgeti(L, index, 1);
    bool holds = lua_istable(L, -1) && pl_lazy_base(L, s, lua_gettop(L)).doc != NULL;
    lua_pop(L, 1);
    return holds;
}

static void put(struct pl_buf *out, lua_State *L, struct pl_state *s, int index,
                struct pl_veil *veil, int depth);

static void put_array(struct pl_buf *out, lua_State *L, struct pl_state *s, int index,
                      struct pl_veil *veil, int depth)
{
    int count = (int)lua_objlen(L, index);
    pl_buf_add_char(out, 'a');
    pl_bytes_put_int(out, (uint64_t)count);
    for (int i = 1; i <= count; i++) {
        lua_rawgeti(L, index, i);
        put(out, L, s, lua_gettop(L), veil, depth + 1);
        lua_pop(L, 1);
    }
}

static void put_error(struct pl_buf *out, lua_State *L, struct pl_state *s, int index,
                      struct pl_veil *veil, int depth)
{
    struct pl_buf members = PL_BUF_INIT;
    uint64_t count = 0;
    lua_pushnil(L);
    while (lua_next(L, index) != 0) {
        if (lua_type(L, -2) == LUA_TSTRING) {
            pl_bytes_put_text(&members, pl_lua_slice(L, -2));
            put(&members, L, s, lua_gettop(L), veil, depth + 1);
            count++;
        }
        lua_pop(L, 1);
    }
    pl_buf_add_char(out, 'e');
    pl_bytes_put_int(out, count);
    pl_buf_add_slice(out, pl_buf_slice(&members));
    pl_buf_deinit(&members);
}

static void put_batch(struct pl_buf *out, const struct pl_batch *batch, struct pl_veil *veil)
{
    pl_buf_add_char(out, 'b');
    pl_bytes_put_int(out, batch->flags);
    pl_bytes_put_int(out, batch->docs.count - batch->at);
    for (size_t i = batch->at; i < batch->docs.count; i++)
        put_doc(out, pl_doc_root(batch->docs.items[i]), veil);
}

static void put_pointer(struct pl_buf *out, const struct pl_state *s, const void *pointer)
{
    if (pointer == NULL || pointer == s) {
        pl_buf_add_char(out, pointer == NULL ? '0' : 'w');
        return;
    }
    pl_buf_add_char(out, '?');
    pl_bytes_put_text(out, pl_slice_z("userdata"));
}

static void put(struct pl_buf *out, lua_State *L, struct pl_state *s, int index,
                struct pl_veil *veil, int depth)
{
    lua_Number number;
    switch (depth < DEPTH ? lua_type(L, index) : LUA_TNONE) {
    case LUA_TNIL:
        pl_buf_add_char(out, 'z');
        return;
    case LUA_TBOOLEAN:
        pl_buf_add_char(out, lua_toboolean(L, index) ? 't' : 'f');
        return;
    case LUA_TNUMBER:
        number = lua_tonumber(L, index);
        pl_buf_add_char(out, 'n');
        pl_buf_add(out, &number, sizeof number);
        return;
    case LUA_TSTRING:
        pl_buf_add_char(out, 's');
        pl_value_put_text(out, pl_lua_slice(L, index), veil);
        return;
    case LUA_TLIGHTUSERDATA:
        put_pointer(out, s, lua_touserdata(L, index));
        return;
    case LUA_TTABLE:
    case LUA_TUSERDATA:
        if (is_batch(L, s, index))
            put_batch(out, lua_touserdata(L, index), veil);
        else if (is_error(L, s, index))
            put_error(out, L, s, index, veil, depth);
        else if (holds_objects(L, s, index))
            put_array(out, L, s, index, veil, depth);
        else
            put_json(out, L, s, index, veil);
        return;
    default:
        pl_buf_add_char(out, '?');
        pl_bytes_put_text(out, pl_slice_z(luaL_typename(L, index)));
    }
}

void pl_value_put(struct pl_buf *out, lua_State *L, struct pl_state *s, int index,
                  struct pl_veil *veil)
{
    put(out, L, s, index < 0 ? lua_gettop(L) + 1 + index : index, veil, 0);
}

/* ---- reading ---- */

static struct pl_doc *value_scan(struct pl_slice json, const struct pl_veil *veil)
{
    struct pl_err err;
    struct pl_buf shown = PL_BUF_INIT;
    const struct pl_scan_options options = {.keep_managed_fields = true};
    pl_err_clear(&err);
    if (veil != NULL)
        pl_veil_lift(veil, json, true, &shown);
    else
        pl_buf_add_slice(&shown, json);
    struct pl_doc *doc = pl_scan_text(pl_buf_slice(&shown), &options, &err);
    pl_buf_deinit(&shown);
    return doc;
}

static void push_text(lua_State *L, struct pl_slice text, const struct pl_veil *veil)
{
    struct pl_buf shown = PL_BUF_INIT;
    if (veil != NULL)
        pl_veil_lift(veil, text, false, &shown);
    else
        pl_buf_add_slice(&shown, text);
    pl_lua_push(L, pl_buf_slice(&shown));
    pl_buf_deinit(&shown);
}

static void push_json(lua_State *L, struct pl_state *s, struct pl_slice json,
                      const struct pl_veil *veil, bool read, unsigned flags)
{
    struct pl_box *box = pl_box_push(L, s);
    box->doc = value_scan(json, veil);
    bool eager = s->eager;
    s->eager = eager || !read;
    if (box->doc != NULL)
        pl_lazy_push(L, s, box->doc, flags);
    else
        lua_pushnil(L);
    s->eager = eager;
    lua_remove(L, -2);
}

static void push(lua_State *L, struct pl_state *s, struct pl_bytes *from,
                 const struct pl_veil *veil, int depth);

static void push_array(lua_State *L, struct pl_state *s, struct pl_bytes *from,
                       const struct pl_veil *veil, int depth)
{
    uint64_t count = pl_bytes_int(from);
    lua_newtable(L);
    for (uint64_t i = 1; i <= count && !from->bad; i++) {
        push(L, s, from, veil, depth + 1);
        lua_rawseti(L, -2, (int)i);
    }
    pl_array_mark(L, s);
}

static void push_error(lua_State *L, struct pl_state *s, struct pl_bytes *from,
                       const struct pl_veil *veil, int depth)
{
    uint64_t count = pl_bytes_int(from);
    lua_newtable(L);
    for (uint64_t i = 0; i < count && !from->bad; i++) {
        pl_lua_push(L, pl_bytes_text(from));
        push(L, s, from, veil, depth + 1);
        lua_rawset(L, -3);
    }
    pl_ref_push(L, s->refs.error_meta);
    lua_setmetatable(L, -2);
}

static void push_batch(lua_State *L, struct pl_state *s, struct pl_bytes *from,
                       const struct pl_veil *veil)
{
    struct pl_batch *batch = pl_batch_push(L, s);
    batch->flags = (unsigned)pl_bytes_int(from);
    for (uint64_t count = pl_bytes_int(from); count > 0 && !from->bad; count--) {
        struct pl_doc *doc = value_scan(pl_bytes_text(from), veil);
        if (doc != NULL)
            pl_docs_add(&batch->docs, doc);
    }
}

static lua_Number number_of(struct pl_bytes *from)
{
    lua_Number number = 0;
    struct pl_slice bytes = pl_bytes_take(from, sizeof number);
    if (bytes.len == sizeof number)
        memcpy(&number, bytes.ptr, sizeof number);
    return number;
}

static void push(lua_State *L, struct pl_state *s, struct pl_bytes *from,
                 const struct pl_veil *veil, int depth)
{
    unsigned flags = 0;
    luaL_checkstack(L, 10, "a recorded value");
    char type = depth < DEPTH ? pl_bytes_char(from) : '\0';
    switch (type) {
    case 't':
    case 'f':
        lua_pushboolean(L, type == 't');
        return;
    case 'n':
        lua_pushnumber(L, number_of(from));
        return;
    case 's':
        push_text(L, pl_bytes_text(from), veil);
        return;
    case '0':
    case 'w':
        lua_pushlightuserdata(L, type == 'w' ? (void *)s : NULL);
        return;
    case 'd':
        flags = (unsigned)pl_bytes_int(from);
        push_json(L, s, pl_bytes_text(from), veil, true, flags);
        return;
    case 'j':
        push_json(L, s, pl_bytes_text(from), veil, false, 0);
        return;
    case 'a':
        push_array(L, s, from, veil, depth);
        return;
    case 'e':
        push_error(L, s, from, veil, depth);
        return;
    case 'b':
        push_batch(L, s, from, veil);
        return;
    case '?':
        pl_bytes_text(from);
        lua_pushnil(L);
        return;
    default:
        from->bad = from->bad || type != 'z';
        lua_pushnil(L);
    }
}

void pl_value_push(lua_State *L, struct pl_state *s, struct pl_bytes *from,
                   const struct pl_veil *veil)
{
    push(L, s, from, veil, 0);
}

struct pl_doc *pl_value_doc(struct pl_bytes *from, const struct pl_veil *veil)
{
    struct pl_bytes at = *from;
    struct pl_doc *doc = NULL;
    char type = pl_bytes_char(&at);
    if (type == 'd' || type == 'j') {
        if (type == 'd')
            pl_bytes_int(&at);
        struct pl_slice json = pl_bytes_text(&at);
        if (!at.bad)
            doc = value_scan(json, veil);
    }
    pl_value_print(from, NULL);
    return doc;
}

/* ---- printing ---- */

static void value_say(struct pl_buf *out, struct pl_slice text)
{
    size_t room = out == NULL || out->len >= PRINT_MAX ? 0 : PRINT_MAX - out->len;
    if (room == 0)
        return;
    pl_buf_add(out, text.ptr, text.len < room ? text.len : room);
    if (text.len > room)
        pl_buf_add_z(out, "...");
}

static void print(struct pl_bytes *from, struct pl_buf *out, int depth)
{
    char type = depth < DEPTH ? pl_bytes_char(from) : '\0', number[32];
    uint64_t count;
    switch (type) {
    case 'n':
        snprintf(number, sizeof number, "%.14g", number_of(from));
        value_say(out, pl_slice_z(number));
        return;
    case 'd':
        pl_bytes_int(from);
        value_say(out, pl_bytes_text(from));
        return;
    case 's':
    case 'j':
    case '?':
        value_say(out, pl_bytes_text(from));
        return;
    case 'a':
    case 'e':
        for (count = pl_bytes_int(from); count > 0 && !from->bad; count--) {
            if (type == 'e') {
                value_say(out, pl_bytes_text(from));
                value_say(out, pl_slice_z("="));
            }
            print(from, out, depth + 1);
            value_say(out, pl_slice_z(" "));
        }
        return;
    case 'b':
        pl_bytes_int(from);
        for (count = pl_bytes_int(from); count > 0 && !from->bad; count--)
            value_say(out, pl_bytes_text(from));
        return;
    default:
        from->bad = from->bad || strchr("ztf0w", type) == NULL || type == '\0';
        value_say(out, pl_slice_z(type == 't' ? "true" : type == 'f' ? "false" : "nil"));
    }
}

void pl_value_print(struct pl_bytes *from, struct pl_buf *out)
{
    print(from, out, 0);
}
