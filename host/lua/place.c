/* The position in a script: the file and line for an error, and the text of that line. Frames of
 * Perilune's own Lua are skipped. */
#include "base/alloc.h"
#include "lua/lerr.h"
#include "lua/script.h"

#include <string.h>

static bool is_own_chunk(const struct pl_state *s, const char *source)
{
    /* Specs load Perilune's modules from their files. Assertions of perilune.test are called by
     * luassert. */
    return pl_is_own_chunk(source) || (s->eager && (strstr(source, "lua/perilune/") != NULL ||
                                                    strstr(source, "/luassert/") != NULL));
}

/* Where the function at the top, which is popped, begins. False when it is another value. */
static bool pop_function(lua_State *L, lua_Debug *ar)
{
    if (!lua_isfunction(L, -1)) {
        lua_pop(L, 1);
        return false;
    }
    return lua_getinfo(L, ">S", ar) != 0;
}

bool pl_lerr_where_called(lua_State *L, struct pl_state *s, lua_Debug *ar)
{
    luaL_checkstack(L, 4, NULL);
    if (s->phase == PL_PHASE_MAP)
        pl_ref_push(L, s->refs.blamed);
    else if (s->phase != PL_PHASE_RUN || s->hooks->push_blamed == NULL ||
             !s->hooks->push_blamed(L, s))
        return false;
    if (!pop_function(L, ar))
        return false;
    ar->currentline = ar->linedefined;
    return ar->currentline > 0 && !is_own_chunk(s, ar->source);
}

/* The function that calls tests. No function of a spec is below it. */
static bool calls_tests(const struct pl_state *s, const char *source)
{
    return s->eager && strstr(source, "/busted/core.lua") != NULL;
}

bool pl_lerr_where(lua_State *L, struct pl_state *s, int level, lua_Debug *ar)
{
    for (; lua_getstack(L, level, ar); level++) {
        lua_getinfo(L, "Sl", ar);
        if (calls_tests(s, ar->source))
            break;
        if (ar->currentline > 0 && !is_own_chunk(s, ar->source))
            return true;
    }
    return pl_lerr_where_called(L, s, ar);
}

const char *pl_lerr_chunk(const lua_Debug *ar)
{
    return *ar->source == '@' || *ar->source == '=' ? ar->source + 1 : ar->short_src;
}

char *pl_lerr_placed(lua_State *L, char *message)
{
    lua_Debug ar;
    if (!pop_function(L, &ar))
        return message;
    char *placed = pl_format("%s:%d: %s", pl_lerr_chunk(&ar), ar.linedefined, message);
    pl_free(message);
    return placed;
}

bool pl_script_line(struct pl_state *s, struct pl_slice path, int line, struct pl_slice *out)
{
    const struct pl_source_text *source = pl_map_get(&s->sources, path);
    if (source == NULL)
        return false;
    const char *at = source->text, *end = at + source->len;
    for (int i = 1; i < line && at != NULL; i++) {
        at = memchr(at, '\n', (size_t)(end - at));
        at = at != NULL ? at + 1 : NULL;
    }
    if (at == NULL || at >= end)
        return false;
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    stop = stop != NULL ? stop : end;
    while (at < stop && (*at == ' ' || *at == '\t'))
        at++;
    while (stop > at && (stop[-1] == ' ' || stop[-1] == '\r'))
        stop--;
    *out = pl_slice(at, (size_t)(stop - at) < 200 ? (size_t)(stop - at) : 200);
    return stop > at;
}
