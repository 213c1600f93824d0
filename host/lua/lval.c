/* From Lua values to documents. Untouched levels are copied from their document, so that null, [],
 * {} and every digit survive. Depth and size are limited; values without a JSON form are refused
 * with their path. */
#include "lua/lerr.h"
#include "lua/lval.h"

#include "lua/lazy.h"
#include "lua/number.h"
#include "object/path.h"

#include <math.h>

/* One table being encoded: its place in its parent, for messages and for detecting cycles. */
struct level {
    const struct level *up;
    const void *table;
    struct pl_slice key; /* ptr NULL: element `index` */
    size_t index;
    int depth;
};

struct encoder {
    lua_State *L;
    struct pl_state *s;
    struct pl_build *build;
    struct pl_err *err;
    size_t bytes; /* encoded so far, approximately. A table may be in many places */
    size_t most;  /* the limit of `bytes` */
};

static void lval_add_path(struct pl_buf *out, const struct level *level)
{
    if (level == NULL || level->depth == 0)
        return;
    lval_add_path(out, level->up);
    if (level->key.ptr != NULL)
        pl_path_add_key(out, level->key);
    else
        pl_path_add_index(out, level->index);
}

/* Puts the path in front of err's message; nothing at the root. */
static int at_path(const struct encoder *e, const struct level *level, int code)
{
    struct pl_buf path = PL_BUF_INIT;
    lval_add_path(&path, level);
    if (path.len > 200) {
        path.len = 200;
        pl_buf_add_z(&path, "...");
    }
    if (path.len > 0)
        pl_err_prefix(e->err, "%s", pl_buf_z(&path));
    pl_buf_deinit(&path);
    return code;
}

static int lval_fail(const struct encoder *e, const struct level *level, const char *message)
{
    return at_path(e, level, pl_err_set(e->err, PL_EINVAL, "%s", message));
}

/* The script exceeded its limit: the path does not matter. */
static int fail_over(const struct encoder *e)
{
    char message[PL_LIMIT_TEXT];
    pl_limits_describe(&e->s->limits, message);
    return pl_err_set(e->err, PL_EINVAL, "%s", message);
}

size_t pl_lval_most(const struct pl_state *s)
{
    size_t limit = s->limits.soft;
    return limit != 0 && limit < PL_LVAL_BYTES ? limit : PL_LVAL_BYTES;
}

/* A value takes at least two bytes as JSON, but counts as sixteen here. */
#define COUNTED (size_t)8

static int fail_size(const struct encoder *e, const struct level *at)
{
    if (e->most == pl_lval_most(e->s)) {
        char message[80];
        snprintf(message, sizeof message, "more than %zu MiB can't be encoded%s", e->most >> 20,
                 e->most < PL_LVAL_BYTES ? " (--lua-memory)" : "");
        return lval_fail(e, at, message);
    }
    return pl_err_set(e->err, PL_ELIMIT, "it has more than %zu bytes as JSON", e->most / COUNTED);
}

static int encode(struct encoder *e, struct level *at);

static int encode_string(struct encoder *e, const struct level *at)
{
    struct pl_slice text = pl_lua_slice(e->L, -1);
    if (!pl_is_utf8(text))
        return lval_fail(e, at, "a string that is not UTF-8 can't be encoded (use base64)");
    e->bytes += text.len;
    if (e->bytes > e->most)
        return fail_size(e, at);
    pl_build_str(e->build, text);
    return 0;
}

static bool is_ancestor(const struct level *at, const void *table)
{
    for (const struct level *up = at->up; up != NULL; up = up->up) {
        if (up->table == table)
            return true;
    }
    return false;
}

/* The length of the array at the top, or -1 with the reason why it is not an array. */
static int64_t array_length(struct encoder *e, const struct level *at)
{
    lua_State *L = e->L;
    double max = 0;
    int64_t count = 0;
    lua_pushnil(L);
    while (lua_next(L, -2) != 0) {
        lua_pop(L, 1);
        double key = lua_type(L, -1) == LUA_TNUMBER ? lua_tonumber(L, -1) : 0;
        if (key < 1 || key != floor(key)) {
            lua_pop(L, 1);
            lval_fail(e, at, "a table with both elements and named members can't be encoded");
            return -1;
        }
        max = key > max ? key : max;
        count++;
    }
    if (max != (double)count) {
        lval_fail(e, at, "an array with holes can't be encoded (perilune.null is a null)");
        return -1;
    }
    return count;
}

static int encode_array(struct encoder *e, struct level *at)
{
    int64_t count = array_length(e, at);
    if (count < 0)
        return PL_EINVAL;
    pl_build_array(e->build);
    struct level child = {.up = at, .depth = at->depth + 1};
    for (int64_t i = 0; i < count; i++) {
        child.index = (size_t)i;
        lua_rawgeti(e->L, -1, (int)i + 1);
        int failed = encode(e, &child);
        lua_pop(e->L, 1);
        if (failed)
            return failed;
    }
    pl_build_end(e->build);
    return 0;
}

static int encode_object(struct encoder *e, struct level *at)
{
    lua_State *L = e->L;
    pl_build_object(e->build);
    struct level child = {.up = at, .depth = at->depth + 1};
    lua_pushnil(L);
    while (lua_next(L, -2) != 0) {
        /* lua_tolstring would turn a number into a string and confuse lua_next */
        int failed = 0;
        if (lua_type(L, -2) != LUA_TSTRING) {
            failed = lval_fail(e, at,
                               lua_type(L, -2) == LUA_TNUMBER
                                   ? "a table with both elements and named members can't be "
                                     "encoded"
                                   : "the names of members must be strings");
        } else {
            child.key = pl_lua_slice(L, -2);
            if (pl_is_utf8(child.key)) {
                pl_build_key(e->build, child.key);
                failed = encode(e, &child);
            } else {
                failed = lval_fail(e, at, "a member's name that is not UTF-8 can't be encoded");
            }
        }
        lua_pop(L, 1);
        if (failed) {
            lua_pop(L, 1);
            return failed;
        }
    }
    pl_build_end(e->build);
    return 0;
}

static bool begins_as_array(lua_State *L)
{
    lua_pushnil(L);
    if (lua_next(L, -2) == 0)
        return false;
    bool number = lua_type(L, -2) == LUA_TNUMBER;
    lua_pop(L, 2);
    return number;
}

/* Touched members may have changed; removed members stay removed. */
static int encode_touched(struct encoder *e, struct level *at, const struct pl_level *touched)
{
    lua_State *L = e->L;
    struct level child = {.up = at, .depth = at->depth + 1};
    struct pl_iter it = pl_iter(touched->node);
    if (lua_objlen(L, -1) > 0)
        return lval_fail(e, at, "a table with both elements and named members can't be encoded");
    pl_build_object(e->build);
    while (pl_iter_next(&it)) {
        if (!pl_level_has_taken(touched, it.index)) {
            pl_build_key(e->build, it.key);
            pl_build_node(e->build, it.value);
            continue;
        }
        child.key = it.key;
        pl_lua_push(L, it.key);
        lua_rawget(L, -2);
        int failed = 0;
        if (!lua_isnil(L, -1)) {
            pl_build_key(e->build, it.key);
            failed = encode(e, &child);
        }
        lua_pop(L, 1);
        if (failed)
            return failed;
    }
    pl_build_end(e->build);
    return 0;
}

static int encode_table(struct encoder *e, struct level *at)
{
    at->table = lua_topointer(e->L, -1);
    if (is_ancestor(at, at->table))
        return lval_fail(e, at, "a table that contains itself can't be encoded");
    if (at->depth >= PL_LVAL_DEPTH || !lua_checkstack(e->L, 8))
        return lval_fail(e, at, "nested deeper than 512 levels");
    if (pl_limits_is_over(&e->s->limits, e->L))
        return fail_over(e);
    const struct pl_level *level = pl_lazy_level(e->L, e->s, -1);
    if (level != NULL)
        pl_lazy_note_secrets(e->L, e->s, -1, level);
    if (level != NULL && level->taken != 0)
        return encode_touched(e, at, level);
    if (level != NULL) {
        pl_build_node(e->build, level->node);
        return 0;
    }
    if (pl_array_is_marked(e->L, e->s, -1) || begins_as_array(e->L))
        return encode_array(e, at);
    return encode_object(e, at);
}

/* The value at the top, which stays there. */
static int encode(struct encoder *e, struct level *at)
{
    lua_State *L = e->L;
    int failed;
    e->bytes += 16;
    if (e->bytes > e->most)
        return fail_size(e, at);
    switch (lua_type(L, -1)) {
    case LUA_TNIL:
        pl_build_null(e->build);
        return 0;
    case LUA_TBOOLEAN:
        pl_build_bool(e->build, lua_toboolean(L, -1));
        return 0;
    case LUA_TSTRING:
        return encode_string(e, at);
    case LUA_TTABLE:
        return encode_table(e, at);
    case LUA_TLIGHTUSERDATA:
        if (lua_touserdata(L, -1) != NULL)
            return lval_fail(e, at, "a userdata can't be encoded");
        pl_build_null(e->build);
        return 0;
    default:
        failed = pl_number_build(L, e->s, lua_gettop(L), e->build, e->err);
        return failed ? at_path(e, at, failed) : 0;
    }
}

/* Adds the value at index to a builder, whose content must be dropped after an error. */
static int lval_build_value(lua_State *L, struct pl_state *s, int index, struct pl_build *build,
                            size_t most, struct pl_err *err)
{
    struct encoder e = {.L = L, .s = s, .build = build, .err = err, .most = most};
    struct level root = {.up = NULL};
    if (!lua_checkstack(L, 8))
        return pl_err_set(err, PL_ELIMIT, "out of stack");
    lua_pushvalue(L, index);
    int failed = encode(&e, &root);
    lua_pop(L, 1);
    return failed;
}

static struct pl_doc *make_doc(lua_State *L, struct pl_state *s, int index, size_t most,
                               struct pl_err *err)
{
    struct pl_build *build = pl_build_create(NULL);
    struct pl_doc *doc = NULL;
    if (lval_build_value(L, s, index, build, most, err) == 0)
        doc = pl_build_finish(build);
    pl_build_destroy(build);
    return doc;
}

struct pl_doc *pl_lval_doc(lua_State *L, struct pl_state *s, int index, struct pl_err *err)
{
    return make_doc(L, s, index, pl_lval_most(s), err);
}

struct pl_doc *pl_lval_check_doc(lua_State *L, struct pl_state *s, int index, const char *what,
                                 size_t most)
{
    struct pl_box *box = pl_box_push(L, s);
    struct pl_err err;
    pl_err_clear(&err);
    box->doc = make_doc(L, s, index < 0 ? index - 1 : index,
                        most == 0 ? pl_lval_most(s) : most * COUNTED, &err);
    if (box->doc == NULL) {
        if (what != NULL)
            pl_err_prefix(&err, "%s", what);
        lua_pushstring(L, err.message);
        lua_error(L);
    }
    return box->doc;
}

bool pl_lval_is_array(lua_State *L, struct pl_state *s, int index)
{
    if (lua_type(L, index) != LUA_TTABLE || pl_lazy_level(L, s, index) != NULL)
        return false;
    if (pl_array_is_marked(L, s, index))
        return true;
    struct encoder e = {.L = L, .s = s};
    struct level root = {.up = NULL};
    lua_pushvalue(L, index);
    bool array = begins_as_array(L) && array_length(&e, &root) > 0;
    lua_pop(L, 1);
    return array;
}

/* ---- copies ---- */

static void lval_copy(lua_State *L, struct pl_state *s, int depth)
{
    if (lua_type(L, -1) != LUA_TTABLE) {
        lua_pushvalue(L, -1);
        return;
    }
    luaL_checkstack(L, 10, "nested too deeply");
    if (depth > PL_LVAL_DEPTH)
        pl_lerr_raise(L, s, "nested deeper than 512 levels, or a table that contains itself");
    pl_limits_check(&s->limits, L);
    pl_lazy_fill(L, s, -1);
    lua_newtable(L); /* -- from, to */
    lua_pushnil(L);
    while (lua_next(L, -3) != 0) {
        lua_pushvalue(L, -2);
        lua_insert(L, -2); /* -- from, to, key, key, value */
        lval_copy(L, s, depth + 1);
        lua_remove(L, -2);
        lua_rawset(L, -4);
    }
    if (pl_array_is_marked(L, s, -2))
        pl_array_mark(L, s);
}

void pl_lval_deepcopy(lua_State *L, struct pl_state *s, int index)
{
    luaL_checkstack(L, 10, NULL);
    lua_pushvalue(L, index);
    lval_copy(L, s, 0);
    pl_lazy_copy_base(L, s, -2, -1);
    lua_remove(L, -2);
}
