/* The file system for tools, see files.h. No function overwrites a file: written files are new, and
 * their content is on the disk before they get their final name. */
#include "tool/files.h"

#include "base/file.h"
#include "lua/state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int files_fail(lua_State *L, const char *path)
{
    int reason = errno;
    lua_pushnil(L);
    lua_pushfstring(L, "%s: %s", path, strerror(reason));
    return 2;
}

static int done(lua_State *L)
{
    lua_pushboolean(L, 1);
    return 1;
}

static int kind(lua_State *L)
{
    struct stat info;
    const char *path = luaL_checkstring(L, 1);
    int failed = lua_toboolean(L, 2) ? stat(path, &info) : lstat(path, &info);
    if (failed && (errno == ENOENT || errno == ENOTDIR)) {
        lua_pushnil(L);
        return 1;
    }
    if (failed)
        return files_fail(L, path);
    lua_pushstring(L, S_ISREG(info.st_mode)   ? "file"
                      : S_ISDIR(info.st_mode) ? "folder"
                      : S_ISLNK(info.st_mode) ? "link"
                                              : "other");
    return 1;
}

static int names(lua_State *L)
{
    struct dirent **entries;
    const char *path = luaL_checkstring(L, 1);
    int found = scandir(path, &entries, NULL, alphasort);
    if (found < 0)
        return files_fail(L, path);
    lua_newtable(L);
    int kept = 0;
    for (int i = 0; i < found; i++) {
        const char *name = entries[i]->d_name;
        if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0) {
            lua_pushstring(L, name);
            lua_rawseti(L, -2, ++kept);
        }
        free(entries[i]);
    }
    free(entries);
    return 1;
}

static int make_folder(lua_State *L)
{
    const char *path = luaL_checkstring(L, 1);
    return mkdir(path, 0777) == 0 ? done(L) : files_fail(L, path);
}

static int files_put(lua_State *L)
{
    const char *path = luaL_checkstring(L, 1);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0)
        return files_fail(L, path);
    bool written = pl_file_put(fd, pl_lua_slice(L, 2)) && fsync(fd) == 0;
    int reason = errno;
    if (close(fd) == 0 && written)
        return done(L);
    errno = written ? errno : reason;
    int count = files_fail(L, path);
    unlink(path);
    return count;
}

static int files_add_name(lua_State *L)
{
    const char *to = luaL_checkstring(L, 2);
    return link(luaL_checkstring(L, 1), to) == 0 ? done(L) : files_fail(L, to);
}

static int give_name(lua_State *L)
{
    const char *to = luaL_checkstring(L, 2);
    return rename(luaL_checkstring(L, 1), to) == 0 ? done(L) : files_fail(L, to);
}

static int take_away(lua_State *L)
{
    const char *path = luaL_checkstring(L, 1);
    return remove(path) == 0 ? done(L) : files_fail(L, path);
}

static int terminal(lua_State *L)
{
    lua_pushboolean(L, isatty((int)luaL_checkinteger(L, 1)));
    return 1;
}

static const luaL_Reg functions[] = {
    {"kind", kind},        {"names", names},         {"make_folder", make_folder},
    {"put", files_put},    {"link", files_add_name}, {"rename", give_name},
    {"remove", take_away}, {"terminal", terminal},   {NULL, NULL},
};

void pl_tool_files(lua_State *L)
{
    for (const luaL_Reg *function = functions; function->name != NULL; function++) {
        lua_pushcfunction(L, function->func);
        lua_setfield(L, -2, function->name);
    }
}
