/* One bit for each line of each file. Usually the next line is in the same file as the last one, so
 * that file is tried first. Lines beyond the largest possible script are ignored. */
#include "world/line_coverage.h"

#include "base/alloc.h"
#include "base/base.h"

#include <lua.h>
#include <string.h>

#define MOST_LINES 1000000

struct pl_line_coverage_of {
    unsigned char *bits; /* owned */
    size_t bytes;
};

static void coverage_at(void *arg, lua_State *L, const char *path, int line)
{
    struct pl_line_coverage *lines = arg;
    PL_UNUSED(L);
    if (line > MOST_LINES)
        return;
    if (lines->last == NULL || strcmp(lines->path, path) != 0) {
        lines->last = pl_map_get(&lines->files, pl_slice_z(path));
        if (lines->last == NULL) {
            lines->last = PL_NEW(struct pl_line_coverage_of);
            pl_map_put(&lines->files, pl_slice_z(path), lines->last);
        }
        lines->path = pl_map_key(&lines->files, pl_slice_z(path)).ptr;
    }
    struct pl_line_coverage_of *of = lines->last;
    size_t byte = (size_t)line / 8;
    if (byte >= of->bytes) {
        size_t bytes = byte + 64;
        of->bits = pl_reallocarray(of->bits, bytes, 1);
        memset(of->bits + of->bytes, 0, bytes - of->bytes);
        of->bytes = bytes;
    }
    of->bits[byte] |= (unsigned char)(1U << (line % 8));
}

void pl_line_coverage_init(struct pl_line_coverage *lines)
{
    *lines = (struct pl_line_coverage){.path = NULL};
    lines->watch = (struct pl_line_watch){coverage_at, lines};
}

void pl_line_coverage_deinit(struct pl_line_coverage *lines)
{
    size_t at = 0;
    struct pl_slice key;
    void *value;
    while (pl_map_next(&lines->files, &at, &key, &value)) {
        struct pl_line_coverage_of *of = value;
        pl_free(of->bits);
        pl_free(of);
    }
    pl_map_deinit(&lines->files);
}

void pl_line_coverage_push(const struct pl_line_coverage *lines, lua_State *L)
{
    size_t at = 0;
    struct pl_slice key;
    void *value;
    lua_newtable(L);
    while (pl_map_next(&lines->files, &at, &key, &value)) {
        const struct pl_line_coverage_of *of = value;
        int count = 0;
        lua_pushlstring(L, key.ptr, key.len);
        lua_newtable(L);
        for (size_t line = 0; line < of->bytes * 8; line++) {
            if ((of->bits[line / 8] & 1U << (line % 8)) == 0)
                continue;
            lua_pushinteger(L, (lua_Integer)line);
            lua_rawseti(L, -2, ++count);
        }
        lua_rawset(L, -3);
    }
}
