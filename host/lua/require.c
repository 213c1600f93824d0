/* require of scripts. A module is Perilune's own, a library of the sandbox, or lies below the
 * folder of the script that requires it. Each is run once in a state, and one that requires itself
 * is an error. The origin notes which script reads which file, so that a reload knows what has
 * changed. */
#include "lua/require.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/text.h"
#include "lua/lerr.h"
#include "lua/origin.h"
#include "lua/own_modules.h"
#include "lua/script.h"

#include <stdlib.h>
#include <string.h>

/* ---- modules of scripts ---- */

/* The scripts' folder of the calling chunk: the longest one that is a prefix of its path. */
static struct pl_slice root_of(struct pl_state *s, const char *source)
{
    struct pl_slice best = {NULL, 0}, key;
    size_t at = 0;
    void *value;
    const char *path = *source == '@' ? source + 1 : source;
    while (pl_map_next(&s->roots, &at, &key, &value)) {
        bool here = strncmp(path, key.ptr, key.len) == 0 && (path[key.len] == '/' || key.len == 0);
        here = here || (pl_slice_eqz(key, ".") && *path != '/' && strncmp(path, "../", 3) != 0);
        if (here && (best.ptr == NULL || key.len > best.len))
            best = key;
    }
    return best;
}

/* The script whose controller is running, borrowed from the state; NULL: none. */
static const char *running_script(struct pl_state *s)
{
    if (s->script == NULL)
        return NULL;
    const char *colon = strrchr(s->script, ':'); /* "file:line" */
    size_t len = colon != NULL ? (size_t)(colon - s->script) : strlen(s->script);
    return pl_map_key(&s->sources, pl_slice(s->script, len)).ptr;
}

/* *reader: the calling script, borrowed from the state. A tail call leaves no frame of it. */
static bool caller_root(lua_State *L, struct pl_state *s, struct pl_slice *root,
                        const char **reader)
{
    lua_Debug ar;
    *reader = NULL;
    if (!pl_lerr_where(L, s, 0, &ar)) {
        *reader = running_script(s);
        *root = *reader != NULL ? root_of(s, *reader) : pl_slice(NULL, 0);
        return root->ptr != NULL;
    }
    *root = root_of(s, ar.source);
    if (*ar.source == '@')
        *reader = pl_map_key(&s->sources, pl_slice_z(ar.source + 1)).ptr;
    return root->ptr != NULL;
}

static bool is_module_name(struct pl_slice name)
{
    if (name.len == 0 || name.len > 200 || name.ptr[0] == '.' || name.ptr[name.len - 1] == '.')
        return false;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        bool plain = pl_is_alnum(c) || c == '_' || c == '-';
        if (!plain && !(c == '.' && name.ptr[i - 1] != '.'))
            return false;
    }
    return true;
}

/* The module's file, pushed as a string; false when there is none. */
static bool push_module_path(lua_State *L, struct pl_state *s, struct pl_slice root,
                             const char *reader, const char *name)
{
    static const char forms[][16] = {"%s/%s.lua", "%s/%s/init.lua"};
    luaL_gsub(L, name, ".", "/");
    lua_pushlstring(L, root.ptr, root.len);
    for (size_t i = 0; i < PL_ARRAY_LEN(forms); i++) {
        if (pl_slice_eqz(root, "."))
            lua_pushfstring(L, forms[i] + 3, lua_tostring(L, -2));
        else
            lua_pushfstring(L, forms[i], lua_tostring(L, -1), lua_tostring(L, -2));
        const char *path = lua_tostring(L, -1);
        if (s->origin != NULL ? pl_origin_is_file(s->origin, reader, path)
                              : pl_script_is_file(path)) {
            lua_replace(L, -3);
            lua_pop(L, 1);
            return true;
        }
        lua_pop(L, 1);
    }
    lua_pop(L, 2);
    return false;
}

/* Runs the chunk at the top; its result (or true) becomes loaded[key] and is returned. */
static int run_module(lua_State *L, struct pl_state *s, const char *key, const char *name)
{
    pl_ref_push(L, s->refs.loaded);
    lua_pushlightuserdata(L, s); /* a mark: being loaded */
    lua_setfield(L, -2, key);
    lua_insert(L, -2);
    lua_pushstring(L, name);
    lua_call(L, 1, 1); /* -- loaded, result */
    if (lua_isnil(L, -1)) {
        lua_pop(L, 1);
        lua_pushboolean(L, true);
    }
    lua_pushvalue(L, -1);
    lua_setfield(L, -3, key);
    return 1;
}

/* Pushes the module loaded under the key; false when there is none. */
static bool push_loaded(lua_State *L, struct pl_state *s, const char *key, const char *name)
{
    pl_ref_push(L, s->refs.loaded);
    lua_getfield(L, -1, key);
    lua_remove(L, -2);
    if (lua_isnil(L, -1)) {
        lua_pop(L, 1);
        return false;
    }
    if (lua_type(L, -1) == LUA_TLIGHTUSERDATA && lua_touserdata(L, -1) == s)
        pl_lerr_raise(L, s,
                      "module '%s' requires itself, directly or through others, or has failed "
                      "to load before",
                      name);
    return true;
}

static int fail_module(lua_State *L, struct pl_state *s, struct pl_err *err)
{
    PL_UNUSED(s);
    lua_pushstring(L, err->message); /* has its own position */
    return lua_error(L);
}

static int raise_not_found(lua_State *L, struct pl_state *s, struct pl_slice root, const char *name)
{
    if (root.ptr == NULL)
        return pl_lerr_raise(L, s, "module '%s' not found", name);
    const char *file = luaL_gsub(L, name, ".", "/"), *slash = "/";
    if (pl_slice_eqz(root, "."))
        root.len = 0, slash = "";
    return pl_lerr_raise(L, s,
                         "module '%s' not found: there is neither %.*s%s%s.lua nor "
                         "%.*s%s%s/init.lua",
                         name, PL_FMT(root), slash, file, PL_FMT(root), slash, file);
}

static int require_script(lua_State *L, struct pl_state *s, const char *name)
{
    struct pl_slice root = {NULL, 0};
    const char *reader;
    if (!is_module_name(pl_slice_z(name)))
        return pl_lerr_raise(
            L, s, "module '%s': names are words joined by dots, as in require(\"lib.words\")",
            name);
    if (!caller_root(L, s, &root, &reader) || !push_module_path(L, s, root, reader, name)) {
        if (lua_isfunction(L, lua_upvalueindex(3))) {
            lua_pushvalue(L, lua_upvalueindex(3));
            lua_pushvalue(L, 1);
            lua_call(L, 1, 1);
            return 1;
        }
        return raise_not_found(L, s, root, name);
    }
    const char *path = lua_tostring(L, -1);
    if (push_loaded(L, s, path, name))
        return 1;
    struct pl_err err;
    pl_err_clear(&err);
    if (pl_script_load(s, path, reader != NULL ? reader : "", &err) != 0)
        return fail_module(L, s, &err);
    if (s->L != L)
        lua_xmove(s->L, L, 1);
    return run_module(L, s, path, name);
}

/* ---- Perilune's own ---- */

/* From PERILUNE_LUA_DIR, if it is set; false when there is no such file. */
static bool push_own_file(lua_State *L, struct pl_state *s, const char *name, const char *chunk)
{
    const char *folder = getenv("PERILUNE_LUA_DIR");
    struct pl_err err;
    pl_err_clear(&err);
    if (folder == NULL || *folder == '\0')
        return false;
    char *path = pl_format("%s/%s.lua", folder, pl_own_file(name));
    struct pl_buf text = PL_BUF_INIT;
    int failed = pl_script_read(path, &text, &err);
    if (failed == 0)
        failed = pl_script_compile(s, chunk, pl_buf_slice(&text), &err);
    pl_buf_deinit(&text);
    pl_free(path);
    if (failed != 0 && failed != PL_ENOTFOUND)
        fail_module(L, s, &err);
    return failed == 0;
}

static int push_own(lua_State *L, struct pl_state *s, const char *name, const char *chunk)
{
    if (push_own_file(L, s, name, chunk)) {
        if (s->L != L)
            lua_xmove(s->L, L, 1);
        return 0;
    }
    const struct pl_embedded *own = pl_own_find(name);
    if (own == NULL)
        return pl_lerr_raise(L, s, "module '%s' not found", name);
    return pl_own_load(L, s, own, chunk) == 0 ? 0 : lua_error(L);
}

/* perilune.host is only for main chunks of Perilune's own Lua. It is not for their functions, which
 * call functions of scripts: a tail call from one leaves no frame of the script. A call without a
 * caller comes from a coroutine of a script. */
static bool is_called_by_own(lua_State *L)
{
    lua_Debug ar;
    if (!lua_getstack(L, 1, &ar))
        return false;
    pl_ref_push(L, pl_state_of(L)->refs.own_chunks);
    lua_getinfo(L, "f", &ar);
    lua_rawget(L, -2);
    bool own = lua_toboolean(L, -1);
    lua_pop(L, 2);
    return own;
}

/* Notes that the function at the top is a main chunk of Perilune's own Lua. */
static void note_own_chunk(lua_State *L, struct pl_state *s)
{
    pl_ref_push(L, s->refs.own_chunks);
    lua_pushvalue(L, -2);
    lua_pushboolean(L, true);
    lua_rawset(L, -3);
    lua_pop(L, 1);
}

/* The code of `perilune repl` declares a task that talks with it. */
static bool is_for_dialogs(const struct pl_state *s, const char *name)
{
    return !s->in_dialog && strcmp(name, "perilune.repl") == 0;
}

static int require_own(lua_State *L, struct pl_state *s, const char *name)
{
    if (strcmp(name, "perilune.host") == 0) {
        if (!is_called_by_own(L))
            return pl_lerr_raise(L, s, "module 'perilune.host' is Perilune's own");
        pl_ref_push(L, s->refs.host);
        return 1;
    }
    if (is_for_dialogs(s, name))
        return pl_lerr_raise(L, s, "module '%s' is Perilune's own", name);
    if (push_loaded(L, s, name, name))
        return 1;
    const char *chunk = lua_pushfstring(L, PL_OWN_CHUNK "%s", pl_own_file(name));
    push_own(L, s, name, chunk);
    if (s->refs.own_globals != 0) {
        pl_ref_push(L, s->refs.own_globals);
        lua_setfenv(L, -2);
    }
    note_own_chunk(L, s);
    const struct pl_line_watch *lines = s->limits.lines; /* none of them is a script's */
    pl_limits_watch_lines(&s->limits, NULL);
    int results = run_module(L, s, name, name);
    pl_limits_watch_lines(&s->limits, lines);
    return results;
}

int pl_require(lua_State *L)
{
    struct pl_state *s = pl_state_of(L);
    const char *name = luaL_checkstring(L, 1);
    lua_settop(L, 1);
    if (strcmp(name, "perilune") == 0 || strncmp(name, "perilune.", 9) == 0)
        return require_own(L, s, name);
    lua_getfield(L, lua_upvalueindex(2), name); /* cjson, and libraries by their names */
    if (!lua_isnil(L, -1))
        return 1;
    lua_pop(L, 1);
    return require_script(L, s, name);
}

int pl_require_read_file(lua_State *L)
{
    struct pl_state *s = pl_state_of(L);
    const char *name = luaL_checkstring(L, 1);
    struct pl_slice root;
    const char *reader;
    lua_pushnil(L);
    if (*name == '/' || strstr(name, "..") != NULL) {
        lua_pushfstring(L, "%s: only files beside the script and below can be read", name);
        return 2;
    }
    if (!caller_root(L, s, &root, &reader)) {
        lua_pushfstring(L, "%s: no script is running", name);
        return 2;
    }
    char *path = pl_format("%.*s/%s", PL_FMT(root), name);
    struct pl_buf text = PL_BUF_INIT;
    struct pl_err err;
    pl_err_clear(&err);
    int failed = pl_script_read_for(s, reader, path, &text, &err);
    if (failed == 0) {
        pl_lua_push(L, pl_buf_slice(&text));
    } else {
        lua_pushstring(L, err.message);
    }
    pl_buf_deinit(&text);
    pl_free(path);
    return failed ? 2 : 1;
}
