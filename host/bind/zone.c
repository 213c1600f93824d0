/* host.zone_file: files of the system's time zone database. host.last_time: the last check of a
 * schedule, which outlives reloads and is common to all lanes. */
#include "bind/list.h"
#include "lane/lane.h"
#include "lane/memo.h"
#include "value/build.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define FOLDER     "/usr/share/zoneinfo/"
#define NAME_MAX_  64
#define FILE_LIMIT (64u << 10)

static bool zone_is_name(const char *name, size_t len)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789_+-/";
    return len > 0 && len <= NAME_MAX_ && strspn(name, letters) == len && name[0] != '/' &&
           name[len - 1] != '/';
}

/* zone_file(name) -> bytes | nil, message */
static int zone_file(lua_State *L)
{
    size_t len;
    const char *name = luaL_checklstring(L, 1, &len);
    char path[sizeof FOLDER + NAME_MAX_], bytes[4096];
    lua_settop(L, 1);
    if (!zone_is_name(name, len)) {
        lua_pushnil(L);
        lua_pushliteral(L, "this is not the name of a time zone, such as \"Europe/Berlin\"");
        return 2;
    }
    snprintf(path, sizeof path, "%s%s", FOLDER, name);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        lua_pushnil(L);
        lua_pushfstring(L, "%s: %s", path, strerror(errno));
        return 2;
    }
    struct pl_buf text = PL_BUF_INIT;
    size_t got;
    while ((got = fread(bytes, 1, sizeof bytes, file)) > 0 && text.len <= FILE_LIMIT)
        pl_buf_add(&text, bytes, got);
    bool failed = ferror(file) != 0 || text.len > FILE_LIMIT;
    fclose(file);
    if (failed) {
        pl_buf_deinit(&text);
        lua_pushnil(L);
        lua_pushfstring(L, "%s: not a file of at most 64 KiB", path);
        return 2;
    }
    pl_lua_push(L, pl_buf_slice(&text));
    pl_buf_deinit(&text);
    return 1;
}

/* last_time(task) -> seconds | nil; last_time(task, seconds) */
static int last_time(lua_State *L)
{
    const struct pl_state *s = pl_state_of(L);
    const char *task = luaL_checkstring(L, 1);
    struct pl_memos *memos = s->lane != NULL ? s->lane->lanes->memos : NULL;
    if (memos == NULL)
        return 0;
    if (!lua_isnoneornil(L, 2)) {
        lua_Number at = luaL_checknumber(L, 2);
        luaL_argcheck(L, at >= -1e15 && at <= 1e15, 2, "no time");
        struct pl_build *b = pl_build_create(NULL);
        pl_build_int(b, (int64_t)at);
        struct pl_doc *doc = pl_build_close(b);
        /* If memos are full, the older time stays: then a missed run may be reported twice. */
        PL_IGNORE(pl_memos_put(memos, task, "last time", doc, NULL));
        pl_doc_unref(doc);
        return 0;
    }
    struct pl_doc *doc = pl_memos_get(memos, task, "last time");
    if (doc == NULL)
        return 0;
    lua_pushnumber(L, pl_node_double(pl_doc_root(doc)));
    pl_doc_unref(doc);
    return 1;
}

const luaL_Reg pl_bind_zones[] = {
    {"zone_file", zone_file},
    {"last_time", last_time},
    {NULL, NULL},
};
