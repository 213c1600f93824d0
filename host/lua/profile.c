/* Stacks as folded text. A frame is "name@file.lua:LINE" with the line where the function begins,
 * the innermost one is followed by the line that computes, as "file.lua:LINE". Perilune's own
 * functions are shown as such; functions of C by their names.
 *
 * A stack has at most 48 frames and 1,000 bytes, and at most 4,000 different ones are kept;
 * further ones count as "(others)". Names come from scripts: characters that would break the format
 * are replaced. */
#include "lua/profile.h"

#include "base/alloc.h"
#include "base/map.h"
#include "lua/lerr.h"
#include "lua/state.h"

#include <string.h>

#define MAX_FRAMES 48
#define MAX_STACK  1000
#define MAX_STACKS 4000
#define OTHERS     "(others)"

struct pl_profile {
    struct pl_map stacks; /* values are counts */
};

struct pl_profile *pl_profile_create(void)
{
    return PL_NEW(struct pl_profile);
}

void pl_profile_destroy(struct pl_profile *profile)
{
    if (profile == NULL)
        return;
    pl_map_deinit(&profile->stacks);
    pl_free(profile);
}

/* ---- stacks ---- */

static void add_word(struct pl_buf *out, const char *word)
{
    for (const char *p = word; *p != '\0' && p - word < 80; p++)
        pl_buf_add_char(out, *p == ';' || (unsigned char)*p <= ' ' ? '_' : *p);
}

static const char *file_of(const lua_Debug *ar)
{
    const char *chunk = pl_lerr_chunk(ar), *slash = strrchr(chunk, '/');
    return slash != NULL && slash[1] != '\0' ? slash + 1 : chunk;
}

static void add_frame(struct pl_buf *out, const lua_Debug *ar)
{
    const char *name = ar->name != NULL ? ar->name : *ar->what == 'm' ? "main" : "function";
    if (out->len > 0)
        pl_buf_add_char(out, ';');
    add_word(out, name);
    if (*ar->what == 'C')
        return;
    pl_buf_add_char(out, '@');
    add_word(out, file_of(ar));
    pl_buf_add_f(out, ":%d", ar->linedefined > 0 ? ar->linedefined : 0);
}

static int depth_of(lua_State *L)
{
    lua_Debug ar;
    int depth = 0;
    while (depth < MAX_FRAMES && lua_getstack(L, depth, &ar))
        depth++;
    return depth;
}

void pl_profile_fold(lua_State *L, struct pl_buf *out)
{
    lua_Debug ar;
    for (int level = depth_of(L) - 1; level >= 0 && out->len < MAX_STACK; level--) {
        if (!lua_getstack(L, level, &ar) || !lua_getinfo(L, "nSl", &ar))
            continue;
        add_frame(out, &ar);
        if (level == 0 && ar.currentline > 0) {
            pl_buf_add_char(out, ';');
            add_word(out, file_of(&ar));
            pl_buf_add_f(out, ":%d", ar.currentline);
        }
    }
}

void pl_profile_count(struct pl_profile *profile, struct pl_slice stack)
{
    if (profile->stacks.count >= MAX_STACKS && !pl_map_has(&profile->stacks, stack))
        stack = pl_slice_z(OTHERS);
    uintptr_t seen = (uintptr_t)pl_map_get(&profile->stacks, stack);
    (void)pl_map_put(&profile->stacks, stack, (void *)(seen + 1));
}

size_t pl_profile_write(const struct pl_profile *profile, struct pl_buf *out)
{
    size_t at = 0, all = 0;
    struct pl_slice stack;
    void *seen;
    while (pl_map_next(&profile->stacks, &at, &stack, &seen)) {
        pl_buf_add_f(out, "%.*s %zu\n", PL_FMT(stack), (size_t)(uintptr_t)seen);
        all += (size_t)(uintptr_t)seen;
    }
    return all;
}
