/* host.log: one line, bound to the running key. Values of Secrets are cut out. */
#include "base/alloc.h"
#include "base/log.h"
#include "base/utf8.h"
#include "bind/list.h"
#include "lane/effects.h"
#include "lane/lane.h"
#include "lua/lazy.h"
#include "lua/lerr.h"
#include "lua/lval.h"
#include "lane/co.h"
#include "object/hide.h"
#include "value/write.h"

#include <math.h>
#include <stdlib.h>

#define FIELDS_MAX 64
#define VALUE_MAX  8192 /* limit of one field in bytes */
#define PREFIX     "fields."

struct line {
    struct pl_field fields[FIELDS_MAX];
    size_t count, bound; /* the first `bound` fields are the host's */
    char *owned[3 * FIELDS_MAX];
    size_t owned_count;
};

static void own(struct line *line, char *text)
{
    line->owned[line->owned_count++] = text;
}

/* The text without values of Secrets that were read. */
static struct pl_slice masked(struct pl_state *s, struct line *line, struct pl_slice text)
{
    char *copy = pl_secrets_mask(&s->secrets, text);
    if (copy == NULL)
        return text;
    own(line, copy);
    return pl_slice_z(copy);
}

/* The table at index as JSON, without the values of Secrets. */
static char *table_text(lua_State *L, struct pl_state *s, int index)
{
    struct pl_err err;
    pl_err_clear(&err);
    struct pl_doc *doc = pl_lval_doc(L, s, index, &err);
    struct pl_buf out = PL_BUF_INIT;
    struct pl_build *build = pl_build_create(NULL);
    if (doc == NULL)
        pl_hide_text(build, pl_slice_z(err.message), &s->secrets);
    else
        pl_hide_build(build, pl_doc_root(doc), &s->secrets, pl_lazy_is_secret(L, s, index));
    pl_build_write(&out, build, PL_WRITE_SORTED);
    pl_doc_unref(doc);
    if (out.len > VALUE_MAX) {
        size_t len = out.len;
        pl_buf_clear(&out);
        pl_buf_add_f(&out, "\"(%zu bytes of JSON)\"", len);
    }
    return pl_buf_take(&out);
}

static bool is_in_line(const struct line *line, const char *name)
{
    static const char *const own[] = {"ts", "level", "msg"};
    for (size_t i = 0; i < PL_ARRAY_LEN(own); i++)
        if (strcmp(own[i], name) == 0)
            return true;
    for (size_t i = 0; i < line->bound; i++)
        if (strcmp(line->fields[i].key, name) == 0)
            return true;
    return false;
}

/* A script's name for a field, with PREFIX where the host's part of the line has that name. A name
 * that begins with PREFIX gets another PREFIX, so that no two fields become the same. */
static const char *free_name(struct line *line, const char *key)
{
    const char *name = key;
    while (strncmp(name, PREFIX, strlen(PREFIX)) == 0)
        name += strlen(PREFIX);
    if (!is_in_line(line, name))
        return key;
    own(line, pl_format(PREFIX "%s", key));
    return line->owned[line->owned_count - 1];
}

/* A text that is too long is cut between two characters, and says so. */
static struct pl_slice shortened(struct line *line, struct pl_slice text)
{
    struct pl_buf out = PL_BUF_INIT;
    size_t len = pl_utf8_cut(text, VALUE_MAX);
    if (len == text.len)
        return text;
    pl_buf_add(&out, text.ptr, len);
    pl_buf_add_f(&out, "... (%zu bytes)", text.len);
    len = out.len;
    own(line, pl_buf_take(&out));
    return pl_slice(line->owned[line->owned_count - 1], len);
}

/* The value at the top. */
static void log_add_field(lua_State *L, struct pl_state *s, struct line *line, const char *name)
{
    const char *key = free_name(line, name);
    struct pl_field *field = &line->fields[line->count++];
    switch (lua_type(L, -1)) {
    case LUA_TSTRING:
        *field = pl_strn(key, shortened(line, masked(s, line, pl_lua_slice(L, -1))));
        break;
    case LUA_TNUMBER:
        if (lua_tonumber(L, -1) == floor(lua_tonumber(L, -1)) && fabs(lua_tonumber(L, -1)) < 1e15) {
            *field = pl_int(key, (int64_t)lua_tonumber(L, -1));
            break;
        }
        own(line, table_text(L, s, lua_gettop(L))); /* with all its digits */
        *field = pl_json(key, pl_slice_z(line->owned[line->owned_count - 1]));
        break;
    case LUA_TBOOLEAN:
        *field = pl_bool(key, lua_toboolean(L, -1));
        break;
    case LUA_TTABLE:
        if (luaL_getmetafield(L, -1, "__tostring")) { /* an error object */
            lua_pushvalue(L, -2);
            bool fine = lua_pcall(L, 1, 1, 0) == 0 && lua_type(L, -1) == LUA_TSTRING;
            own(line, pl_strdup(fine ? lua_tostring(L, -1) : "(a table)"));
            lua_pop(L, 1);
            *field = pl_strn(key, masked(s, line, pl_slice_z(line->owned[line->owned_count - 1])));
            break;
        }
        own(line, table_text(L, s, lua_gettop(L)));
        *field = pl_json(key, pl_slice_z(line->owned[line->owned_count - 1]));
        break;
    default:
        own(line, table_text(L, s, lua_gettop(L)));
        *field = pl_json(key, pl_slice_z(line->owned[line->owned_count - 1]));
    }
}

static void add_run(struct pl_state *s, struct line *line)
{
    if (s->task == NULL)
        return;
    const struct pl_exec *exec = s->task->exec;
    const struct pl_known_controller *known = &s->lane->lanes->controllers[exec->controller];
    line->fields[line->count++] = pl_str(known->is_task ? "task" : "controller", known->name);
    if (known->is_task)
        return;
    line->fields[line->count++] = pl_str("key", exec->key);
    line->fields[line->count++] = pl_str("reconcile_id", exec->id);
    if (pl_lanes_hold(s->lane->lanes))
        line->fields[line->count++] = pl_bool("shadow", true);
}

static int compare_fields(const void *a, const void *b)
{
    return strcmp(((const struct pl_field *)a)->key, ((const struct pl_field *)b)->key);
}

/* Pushes an array of the names and values of the script's table at 3, at most `most`: a __tostring
 * of one may change that table while others are read. left: the number of the others. */
static int push_pairs(lua_State *L, struct pl_state *s, size_t most, size_t *left)
{
    int count = 0;
    *left = 0;
    pl_lazy_fill(L, s, 3);
    lua_newtable(L);
    lua_pushnil(L);
    while (lua_next(L, 3) != 0) {
        if (lua_type(L, -2) == LUA_TSTRING && most > 0) {
            most--;
            lua_pushvalue(L, -2);
            lua_rawseti(L, -4, ++count);
            lua_rawseti(L, -3, ++count);
        } else {
            ++*left;
            lua_pop(L, 1);
        }
    }
    return count;
}

/* Leaves the values that hold the texts on the stack. */
static void add_fields(lua_State *L, struct pl_state *s, struct line *line)
{
    size_t first = line->count, left;
    int count = push_pairs(L, s, FIELDS_MAX - 1 - first, &left), pairs = lua_gettop(L);
    for (int i = 1; i < count; i += 2) {
        lua_rawgeti(L, pairs, i);
        lua_rawgeti(L, pairs, i + 1);
        log_add_field(L, s, line, lua_tostring(L, -2));
        lua_pop(L, 2);
    }
    qsort(line->fields + first, line->count - first, sizeof line->fields[0], compare_fields);
    if (left > 0)
        line->fields[line->count++] = pl_int("fields_left_out", (int64_t)left);
}

static int write_log(lua_State *L)
{
    struct pl_state *s = pl_state_of(L);
    enum pl_log_level level;
    if (!pl_log_parse_level(luaL_checkstring(L, 1), &level))
        return luaL_error(L, "no such level");
    const char *message = luaL_checkstring(L, 2);
    if (!pl_log_enabled(level))
        return 0;
    pl_lerr_check_nesting(L, s, __builtin_frame_address(0));
    lua_settop(L, 3);
    luaL_checkstack(L, 10, NULL);
    struct line line = {.count = 0};
    add_run(s, &line);
    line.bound = line.count;
    if (lua_type(L, 3) == LUA_TTABLE)
        add_fields(L, s, &line);
    char *clean = pl_secrets_mask(&s->secrets, pl_lua_slice(L, 2));
    pl_log_fields(level, clean ? clean : message, line.fields, line.count);
    pl_free(clean);
    for (size_t i = 0; i < line.owned_count; i++)
        pl_free(line.owned[i]);
    return 0;
}

const luaL_Reg pl_bind_logs[] = {
    {"log", write_log},
    {NULL, NULL},
};
