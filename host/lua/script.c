/* Finds the files of a PATH, loads them (as text, never as bytecode), and implements require. A
 * module is Perilune's own or lies below the folders of the scripts. */
#include "lua/script.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/text.h"
#include "lua/origin.h"
#include "lua/own_modules.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define SCRIPT_LIMIT (8u << 20) /* limit of one file in bytes */
#define FILES_LIMIT  10000      /* limit of scripts in one folder */

/* ---- which files ---- */

static bool script_ends_with(const char *text, const char *end)
{
    size_t a = strlen(text), b = strlen(end);
    return a > b && strcmp(text + a - b, end) == 0;
}

static bool is_script_name(const char *name)
{
    return *name != '.' && script_ends_with(name, ".lua") && !script_ends_with(name, "_spec.lua");
}

static bool is_file(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

static char *script_join(const char *folder, const char *name)
{
    return script_ends_with(folder, "/") ? pl_format("%s%s", folder, name)
                                         : pl_format("%s/%s", folder, name);
}

static char **find_in_folder(const char *folder, struct pl_err *err)
{
    DIR *dir = opendir(folder);
    if (dir == NULL) {
        pl_err_set(err, PL_EIO, "%s: %s", folder, strerror(errno));
        return NULL;
    }
    char **files = PL_NEW(char *);
    size_t count = 0;
    struct dirent *entry;
    while ((entry = readdir(dir)) != NULL && count < FILES_LIMIT) {
        if (!is_script_name(entry->d_name))
            continue;
        files = pl_reallocarray(files, count + 2, sizeof *files);
        files[count++] = script_join(folder, entry->d_name);
        files[count] = NULL;
    }
    closedir(dir);
    if (count == 0) {
        pl_texts_free(files);
        pl_err_set(err, PL_ENOTFOUND, "%s: no scripts (*.lua) in this folder", folder);
        return NULL;
    }
    qsort(files, count, sizeof *files, pl_text_order);
    return files;
}

static char **one_file(char *path)
{
    char **files = pl_calloc(2, sizeof *files);
    files[0] = path;
    return files;
}

char **pl_script_find(const char *path, struct pl_err *err)
{
    struct stat info;
    if (stat(path, &info) != 0) {
        pl_err_set(err, PL_ENOTFOUND, "%s: %s", path, strerror(errno));
        return NULL;
    }
    if (!S_ISDIR(info.st_mode))
        return one_file(pl_strdup(path));
    char *main_file = script_join(path, "main.lua");
    if (is_file(main_file))
        return one_file(main_file);
    pl_free(main_file);
    return find_in_folder(path, err);
}

/* ---- reading ---- */

/* Not a pipe without a writer: the host would wait for it for ever. */
static FILE *open_regular(const char *path, struct pl_file_stamp *stamp, struct pl_err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat info;
    if (fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) {
        *stamp = pl_file_stamp_of(&info);
        return fdopen(fd, "rb");
    }
    if (fd >= 0) {
        close(fd);
        pl_err_set(err, PL_EINVAL, "%s: not a regular file", path);
    } else {
        pl_err_set(err, errno == ENOENT ? PL_ENOTFOUND : PL_EIO, "%s: %s", path, strerror(errno));
    }
    return NULL;
}

int pl_script_read_stamped(const char *path, struct pl_buf *out, struct pl_file_stamp *stamp,
                           struct pl_err *err)
{
    struct pl_err own;
    err = err != NULL ? err : &own;
    FILE *file = open_regular(path, stamp, err);
    if (file == NULL)
        return err->code;
    char chunk[8192];
    size_t got;
    while ((got = fread(chunk, 1, sizeof chunk, file)) > 0 && out->len <= SCRIPT_LIMIT)
        pl_buf_add(out, chunk, got);
    int failed = 0;
    if (ferror(file))
        failed = pl_err_set(err, PL_EIO, "%s: %s", path, strerror(errno));
    else if (out->len > SCRIPT_LIMIT)
        failed = pl_err_set(err, PL_ELIMIT, "%s: larger than 8 MiB", path);
    fclose(file);
    return failed;
}

int pl_script_read(const char *path, struct pl_buf *out, struct pl_err *err)
{
    struct pl_file_stamp stamp;
    return pl_script_read_stamped(path, out, &stamp, err);
}

/* Reads through the origin, if there is one; the I/O thread is told of new files at run time. */
static int script_read_file(struct pl_state *s, const char *reader, const char *path,
                            struct pl_buf *out, struct pl_err *err)
{
    bool is_new = false;
    if (s->origin == NULL)
        return pl_script_read(path, out, err);
    int failed = pl_origin_read(s->origin, reader, path, out, &is_new, err);
    if (is_new && s->phase != PL_PHASE_LOAD && s->hooks->told_read != NULL)
        s->hooks->told_read(s);
    return failed;
}

static void remember_text(struct pl_state *s, const char *path, struct pl_slice text)
{
    struct pl_source_text *copy = pl_malloc(sizeof *copy + text.len + 1);
    copy->len = text.len;
    memcpy(copy->text, text.ptr ? text.ptr : "", text.len);
    copy->text[text.len] = '\0';
    pl_free(pl_map_put(&s->sources, pl_slice_z(path), copy));
}

/* ---- loading ---- */

static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? pl_strdup(".") : pl_memdup0(path, (size_t)(slash - path));
}

static void note_root(struct pl_state *s, const char *path)
{
    char *folder = folder_of(path);
    pl_map_put(&s->roots, pl_slice_z(folder), s);
    pl_free(folder);
}

/* Pushes the chunk, or nothing and err. */
static int load_text(struct pl_state *s, const char *name, struct pl_slice text, struct pl_err *err)
{
    /* The parser may need up to 30 times the text's size in one call: it must not pass the memory
     * limit where a state cannot be saved. */
    if (s->memory_limit > 0 && text.len > s->memory_limit / 16)
        return pl_err_set(err, PL_ELIMIT, "%s: larger than a sixteenth of the script memory limit",
                          name + 1);
    if (luaL_loadbufferx(s->L, text.ptr ? text.ptr : "", text.len, name, "t") == 0)
        return 0;
    const char *message = lua_tostring(s->L, -1);
    if (text.len > 0 && text.ptr[0] == LUA_SIGNATURE[0])
        pl_err_set(err, PL_ESCRIPT, "%s: this is compiled Lua; only source text is accepted",
                   name + 1);
    else
        pl_err_set(err, PL_ESCRIPT, "%s", message ? message : "does not compile");
    lua_pop(s->L, 1);
    return PL_ESCRIPT;
}

int pl_script_load(struct pl_state *s, const char *path, const char *reader, struct pl_err *err)
{
    struct pl_buf text = PL_BUF_INIT;
    int failed = script_read_file(s, reader, path, &text, err);
    if (failed == 0) {
        if (reader == NULL)
            note_root(s, path);
        remember_text(s, path, pl_buf_slice(&text));
        struct pl_slice code = pl_buf_slice(&text);
        /* "#!/usr/bin/env perilune" still counts as a line */
        if (code.len > 1 && code.ptr[0] == '#')
            memcpy(text.ptr, "--", 2);
        char *name = pl_format("@%s", path);
        failed = load_text(s, name, code, err);
        pl_free(name);
    }
    pl_buf_deinit(&text);
    return failed;
}

void pl_script_deinit(struct pl_state *s)
{
    size_t at = 0;
    struct pl_slice key;
    void *value;
    while (pl_map_next(&s->sources, &at, &key, &value))
        pl_free(value);
    pl_map_deinit(&s->sources);
    pl_map_deinit(&s->roots);
}

/* ---- require ---- */

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
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     c == '_' || c == '-';
        if (!plain && !(c == '.' && name.ptr[i - 1] != '.'))
            return false;
    }
    return true;
}

/* The module's file, pushed as a string; false when there is none. */
static bool push_module_path(lua_State *L, struct pl_state *s, struct pl_slice root,
                             const char *reader, const char *name)
{
    static const char *const forms[] = {"%s/%s.lua", "%s/%s/init.lua"};
    luaL_gsub(L, name, ".", "/");
    lua_pushlstring(L, root.ptr, root.len);
    for (size_t i = 0; i < PL_ARRAY_LEN(forms); i++) {
        if (pl_slice_eqz(root, "."))
            lua_pushfstring(L, forms[i] + 3, lua_tostring(L, -2));
        else
            lua_pushfstring(L, forms[i], lua_tostring(L, -1), lua_tostring(L, -2));
        const char *path = lua_tostring(L, -1);
        if (s->origin != NULL ? pl_origin_is_file(s->origin, reader, path) : is_file(path)) {
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

static int require_script(lua_State *L, struct pl_state *s, const char *name)
{
    struct pl_slice root;
    const char *reader;
    if (!is_module_name(pl_slice_z(name)))
        return pl_lerr_raise(L, s, "module '%s': names are words joined by dots", name);
    if (!caller_root(L, s, &root, &reader) || !push_module_path(L, s, root, reader, name)) {
        if (lua_isfunction(L, lua_upvalueindex(3))) {
            lua_pushvalue(L, lua_upvalueindex(3));
            lua_pushvalue(L, 1);
            lua_call(L, 1, 1);
            return 1;
        }
        return pl_lerr_raise(L, s, "module '%s' not found: there is no such file beside the script",
                             name);
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
        failed = load_text(s, chunk, pl_buf_slice(&text), &err);
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

int pl_script_require(lua_State *L)
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

/* host.read_file(relative): text, or nil and a message. */
int pl_script_read_file(lua_State *L)
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
    int failed = script_read_file(s, reader, path, &text, &err);
    if (failed == 0) {
        pl_lua_push(L, pl_buf_slice(&text));
    } else {
        lua_pushstring(L, err.message);
    }
    pl_buf_deinit(&text);
    pl_free(path);
    return failed ? 2 : 1;
}
