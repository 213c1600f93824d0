/* Finds the files of a PATH, and reads and loads them: as text, never as bytecode. Modules are in
 * require.c. */
#include "lua/script.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/text.h"
#include "lua/origin.h"

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

bool pl_script_is_file(const char *path)
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
    if (pl_script_is_file(main_file))
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

int pl_script_read_for(struct pl_state *s, const char *reader, const char *path, struct pl_buf *out,
                       struct pl_err *err)
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

int pl_script_compile(struct pl_state *s, const char *name, struct pl_slice text,
                      struct pl_err *err)
{
    /* The parser may need up to 30 times the text's size in one call: it must not pass the memory
     * limit where a state cannot be saved. */
    if (s->memory_limit > 0 && text.len > s->memory_limit / 16)
        return pl_err_set(
            err, PL_ELIMIT,
            "%s: it has %zu bytes; a script may have %zu, a sixteenth of its memory limit",
            name + 1, text.len, s->memory_limit / 16);
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
    int failed = pl_script_read_for(s, reader, path, &text, err);
    if (failed == 0) {
        if (reader == NULL)
            note_root(s, path);
        remember_text(s, path, pl_buf_slice(&text));
        struct pl_slice code = pl_buf_slice(&text);
        /* "#!/usr/bin/env perilune" still counts as a line */
        if (code.len > 1 && code.ptr[0] == '#')
            memcpy(text.ptr, "--", 2);
        char *name = pl_format("@%s", path);
        failed = pl_script_compile(s, name, code, err);
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
