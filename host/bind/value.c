/* host: documents. */
#include "base/buf.h"
#include "base/text.h"
#include "bind/list.h"
#include "format/yaml.h"
#include "lua/lazy.h"
#include "lua/lerr.h"
#include "lua/lval.h"
#include "lua/peek.h"
#include "object/jsonpath.h"
#include "object/kind.h"
#include "object/patch.h"
#include "object/secret.h"
#include "value/scan.h"
#include "value/write.h"

#define MOST_TEXTS   32         /* of YAML whose documents are kept */
#define LONGEST_TEXT (16 << 10) /* of these, bytes */

static int array(lua_State *L)
{
    struct pl_state *s = pl_state_of(L);
    lua_settop(L, 1);
    if (lua_isnil(L, 1))
        lua_newtable(L);
    luaL_checktype(L, -1, LUA_TTABLE);
    pl_lazy_fill(L, s, lua_gettop(L));
    /* The mark replaces the metatable. A table that needs its own must not lose it: the module
     * itself is such a table. */
    if (!pl_array_is_marked(L, s, lua_gettop(L)) && lua_getmetatable(L, -1))
        return pl_lerr_raise(L, s, "array: a table with its own metatable is not an array");
    pl_array_mark(L, s);
    return 1;
}

static int is_array(lua_State *L)
{
    lua_pushboolean(L, pl_lval_is_array(L, pl_state_of(L), 1));
    return 1;
}

static int equal(lua_State *L)
{
    lua_settop(L, 2);
    lua_pushboolean(L, pl_lval_equal(L, pl_state_of(L), 1, 2));
    return 1;
}

static int deepcopy(lua_State *L)
{
    lua_settop(L, 1);
    pl_lval_deepcopy(L, pl_state_of(L), 1);
    return 1;
}

static int value_is_unchanged(lua_State *L)
{
    lua_pushboolean(L, pl_lval_is_unchanged(L, pl_state_of(L), 1));
    return 1;
}

/* are_names(name, namespace | nil): whether both are strings that can be parts of a key. Every
 * reference is checked, so it is not done by patterns in Lua. */
static int are_names(lua_State *L)
{
    bool are = true;
    for (int i = 1; i <= 2 && are; i++) {
        if (i == 2 && lua_isnoneornil(L, i))
            break;
        struct pl_slice name = lua_type(L, i) == LUA_TSTRING ? pl_lua_slice(L, i) : pl_slice_z("/");
        are = memchr(name.ptr, '/', name.len) == NULL && memchr(name.ptr, '\0', name.len) == NULL;
    }
    lua_pushboolean(L, are);
    return 1;
}

static int is_selected(lua_State *L)
{
    lua_pushboolean(L, (pl_lazy_base(L, pl_state_of(L), 1).flags & PL_OBJECT_SELECTED) != 0);
    return 1;
}

/* The UID of an object that is a complete owner (kind, name and UID); nil for anything else, and
 * the caller finds the reason. */
static int owner_uid(lua_State *L)
{
    struct pl_state *s = pl_state_of(L);
    struct pl_scratch room[5];
    struct pl_kind kind;
    luaL_checkstack(L, 10, NULL);
    struct pl_peeked object = pl_peek(L, s, 1);
    struct pl_slice version = pl_peek_text(L, pl_peek_member(L, s, object, "apiVersion"), &room[0]);
    struct pl_slice name = pl_peek_text(L, pl_peek_member(L, s, object, "kind"), &room[1]);
    if (version.ptr == NULL || name.ptr == NULL || pl_kind_from(version, name, &kind, NULL) != 0)
        return 0;
    struct pl_peeked metadata = pl_peek_member(L, s, object, "metadata");
    struct pl_peeked ns = pl_peek_member(L, s, metadata, "namespace");
    struct pl_slice uid = pl_peek_text(L, pl_peek_member(L, s, metadata, "uid"), &room[3]);
    if (pl_peek_text(L, pl_peek_member(L, s, metadata, "name"), &room[2]).len == 0 ||
        (!pl_peek_is_nothing(L, ns) && pl_peek_text(L, ns, &room[4]).ptr == NULL) || uid.len == 0)
        return 0;
    pl_lua_push(L, uid);
    return 1;
}

/* Raises like the error of a binding, at the script's line. */
static int raise_at(lua_State *L, struct pl_state *s, const char *what, const struct pl_err *err)
{
    return pl_lerr_raise(L, s, "%s: %s", what, err->message);
}

static struct pl_doc *check_doc(lua_State *L, struct pl_state *s, int index, const char *what)
{
    struct pl_box *box = pl_box_push(L, s);
    struct pl_err err;
    pl_err_clear(&err);
    box->doc = pl_lval_doc(L, s, index, &err);
    if (box->doc == NULL)
        raise_at(L, s, what, &err);
    return box->doc;
}

/* Pushes a document of which this call holds the only reference, unless making it took too long:
 * its tables may take as long again. */
static void push_doc(lua_State *L, struct pl_state *s, struct pl_doc *doc)
{
    struct pl_box *box = pl_box_push(L, s); /* the following code may raise */
    box->doc = doc;
    pl_limits_check(&s->limits, L);
    pl_lazy_push(L, s, doc, 0);
    box->doc = NULL;
    pl_doc_unref(doc);
    lua_remove(L, -2);
}

static int value_merge(lua_State *L)
{
    struct pl_state *s = pl_state_of(L);
    lua_settop(L, 2);
    struct pl_doc *a = check_doc(L, s, 1, "merge"), *b = check_doc(L, s, 2, "merge");
    struct pl_err err;
    pl_err_clear(&err);
    struct pl_doc *merged = pl_patch_merge(pl_doc_root(a), pl_doc_root(b), &err);
    if (merged == NULL)
        return raise_at(L, s, "merge", &err);
    push_doc(L, s, merged);
    return 1;
}

static int json_encode(lua_State *L)
{
    struct pl_state *s = pl_state_of(L);
    luaL_checkany(L, 1);
    lua_settop(L, 2);
    struct pl_doc *doc = check_doc(L, s, 1, "json.encode");
    pl_secret_note_answer(&s->secrets,
                          pl_doc_root(doc)); /* made by the script, or read from a text */
    struct pl_buf out = PL_BUF_INIT;
    pl_write(&out, pl_doc_root(doc),
             PL_WRITE_SORTED | (lua_toboolean(L, 2) ? PL_WRITE_PRETTY : 0u));
    return pl_lua_push_buf(L, &out);
}

static int json_decode(lua_State *L)
{
    struct pl_state *s = pl_state_of(L);
    luaL_checkstring(L, 1);
    struct pl_scan_options options = {.keep_managed_fields = true, .refuse_duplicates = true};
    struct pl_err err;
    pl_err_clear(&err);
    struct pl_doc *doc = pl_scan_text(pl_lua_slice(L, 1), &options, &err);
    if (doc == NULL) {
        lua_pushnil(L);
        lua_pushstring(L, err.message);
        return 2;
    }
    push_doc(L, s, doc);
    return 1;
}

static bool add_found(void *arg, struct pl_node value)
{
    pl_build_node(arg, value);
    return true;
}

/* Counted, or NULL with err: an array of the values of the path; without a document "true". */
static struct pl_doc *value_find(struct pl_slice text, struct pl_doc *doc, struct pl_err *err)
{
    struct pl_jsonpath *path = pl_jsonpath_parse(text, err);
    if (path == NULL)
        return NULL;
    struct pl_build *b = pl_build_create(NULL);
    int rc = 0;
    if (doc == NULL) {
        pl_build_bool(b, true);
    } else {
        pl_build_array(b);
        rc = pl_jsonpath_each(path, pl_doc_root(doc), add_found, b, err);
        pl_build_end(b);
    }
    struct pl_doc *found = pl_build_close(b);
    pl_jsonpath_destroy(path);
    if (rc == 0)
        return found;
    pl_doc_unref(found);
    return NULL;
}

/* jsonpath(text) -> true | nil, message; jsonpath(text, value) -> array of its values */
static int jsonpath(lua_State *L)
{
    struct pl_state *s = pl_state_of(L);
    struct pl_err err;
    pl_err_clear(&err);
    luaL_checkstring(L, 1);
    bool finds = lua_gettop(L) > 1;
    lua_settop(L, 2);
    struct pl_doc *doc = finds ? check_doc(L, s, 2, "jsonpath") : NULL;
    struct pl_doc *found = value_find(pl_lua_slice(L, 1), doc, &err);
    if (found == NULL) {
        lua_pushnil(L);
        lua_pushstring(L, err.message);
        return 2;
    }
    push_doc(L, s, found);
    return 1;
}

static int yaml_encode(lua_State *L)
{
    struct pl_state *s = pl_state_of(L);
    luaL_checkany(L, 1);
    lua_settop(L, 1);
    struct pl_doc *doc = check_doc(L, s, 1, "yaml.encode");
    pl_secret_note_answer(&s->secrets,
                          pl_doc_root(doc)); /* made by the script, or read from a text */
    /* Members in order of their names: the same value must always give the same text. */
    struct pl_buf out = PL_BUF_INIT;
    pl_write(&out, pl_doc_root(doc), PL_WRITE_SORTED);
    struct pl_scan_options options = {.keep_managed_fields = true};
    struct pl_err err;
    pl_err_clear(&err);
    struct pl_doc *sorted = pl_scan_text(pl_buf_slice(&out), &options, &err);
    pl_buf_clear(&out);
    if (sorted == NULL) {
        pl_buf_deinit(&out);
        return raise_at(L, s, "yaml.encode", &err);
    }
    pl_yaml_encode(pl_doc_root(sorted), &out);
    pl_doc_unref(sorted);
    return pl_lua_push_buf(L, &out);
}

static bool is_separator(struct pl_slice line)
{
    return pl_text_begins(line, "---") &&
           (line.len == 3 || line.ptr[3] == ' ' || line.ptr[3] == '\t' || line.ptr[3] == '\r');
}

static bool is_blank(struct pl_slice line)
{
    size_t i = 0;
    while (i < line.len && (line.ptr[i] == ' ' || line.ptr[i] == '\t' || line.ptr[i] == '\r'))
        i++;
    return i == line.len || line.ptr[i] == '#' || line.ptr[i] == '%';
}

/* Pushes an array of the lines at which the stream's documents begin; empty ones do not count. */
static void push_first_lines(lua_State *L, struct pl_slice text, size_t count)
{
    bool inside = false;
    size_t found = 0, at = 0;
    lua_createtable(L, (int)count, 0);
    for (int number = 1; at < text.len && found < count; number++) {
        const char *end = memchr(text.ptr + at, '\n', text.len - at);
        size_t len = end ? (size_t)(end - text.ptr) - at : text.len - at;
        struct pl_slice line = pl_slice(text.ptr + at, len);
        at += len + 1;
        if (is_separator(line)) {
            inside = false;
            line = pl_slice(line.ptr + 3, line.len - 3);
        }
        if (inside || is_blank(line))
            continue;
        inside = true;
        lua_pushinteger(L, number);
        lua_rawseti(L, -2, (int)++found);
    }
}

/* Pushes an array of boxes of the documents, since the following code may raise. */
static void take_docs(lua_State *L, struct pl_state *s, struct pl_docs *docs)
{
    lua_createtable(L, (int)docs->count, 0);
    for (size_t i = 0; i < docs->count; i++) {
        if (pl_limits_is_over(&s->limits, L)) {
            pl_docs_deinit(docs);
            pl_limits_check(&s->limits, L); /* raises */
        }
        struct pl_box *box = pl_box_push(L, s);
        box->doc = docs->items[i];
        docs->items[i] = NULL;
        lua_rawseti(L, -2, (int)i + 1);
    }
    pl_docs_deinit(docs);
}

/* -- an array of boxes, or nil, nil and the message; of the text at index 1. */
static bool push_parsed(lua_State *L, struct pl_state *s)
{
    struct pl_docs docs = {.items = NULL};
    struct pl_err err;
    pl_err_clear(&err);
    if (pl_yaml_decode(pl_lua_slice(L, 1), &docs, &err) != 0) {
        pl_docs_deinit(&docs);
        lua_pushnil(L);
        lua_pushstring(L, err.message); /* names the line */
        return false;
    }
    take_docs(L, s, &docs);
    pl_limits_check(&s->limits, L);
    return true;
}

/* -- the table of the texts that were decoded last, each with its boxes. A manifest is decoded in
 * each run, and documents do not change. */
static void push_kept_texts(lua_State *L, bool empty)
{
    static const char name[] = "perilune.yaml_texts"; /* registry */
    lua_getfield(L, LUA_REGISTRYINDEX, name);
    if (!lua_isnil(L, -1) && !empty)
        return;
    lua_pop(L, 1);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_setfield(L, LUA_REGISTRYINDEX, name);
}

/* array -- array; remembers it for the text at index 1. */
static void keep_text(lua_State *L)
{
    push_kept_texts(L, false);
    lua_rawgeti(L, -1, 1); /* their number; texts are strings */
    int count = (int)lua_tointeger(L, -1);
    lua_pop(L, 1);
    if (count >= MOST_TEXTS) {
        lua_pop(L, 1);
        push_kept_texts(L, true);
        count = 0;
    }
    lua_pushinteger(L, count + 1);
    lua_rawseti(L, -2, 1);
    lua_pushvalue(L, 1);
    lua_pushvalue(L, -3);
    lua_rawset(L, -3);
    lua_pop(L, 1);
}

/* The documents, and the line at which each starts. */
static int yaml_decode(lua_State *L)
{
    struct pl_state *s = pl_state_of(L);
    luaL_checkstring(L, 1);
    struct pl_slice text = pl_lua_slice(L, 1);
    push_kept_texts(L, false);
    lua_pushvalue(L, 1);
    lua_rawget(L, -2);
    if (!lua_istable(L, -1)) {
        if (!push_parsed(L, s))
            return 2;
        if (text.len <= LONGEST_TEXT)
            keep_text(L);
    }
    int boxes = lua_gettop(L);
    size_t count = lua_objlen(L, boxes);
    lua_createtable(L, (int)count, 0);
    for (size_t i = 0; i < count; i++) {
        lua_rawgeti(L, boxes, (int)i + 1);
        pl_lazy_push(L, s, ((struct pl_box *)lua_touserdata(L, -1))->doc, 0);
        lua_rawseti(L, -3, (int)i + 1);
        lua_pop(L, 1);
    }
    pl_array_mark(L, s);
    push_first_lines(L, text, count);
    return 2;
}

const luaL_Reg pl_bind_values[] = {
    {"array", array},
    {"is_array", is_array},
    {"equal", equal},
    {"deepcopy", deepcopy},
    {"merge", value_merge},
    {"is_unchanged", value_is_unchanged},
    {"are_names", are_names},
    {"is_selected", is_selected},
    {"owner_uid", owner_uid},
    {"json_encode", json_encode},
    {"json_decode", json_decode},
    {"jsonpath", jsonpath},
    {"yaml_encode", yaml_encode},
    {"yaml_decode", yaml_decode},
    {NULL, NULL},
};
