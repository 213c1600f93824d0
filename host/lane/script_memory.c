/* Visits everything that functions of scripts can reach, and hashes it. Functions of Perilune's own
 * modules and of the standard library count as their names: what these keep for themselves changes
 * no result. Addresses and the order of a table never count, since they differ from one state to
 * another. So two tables with the same content are the same.
 *
 * It must not miss anything in which a script can keep a value. So whatever it cannot read makes
 * the whole unknown. It allocates nothing in the Lua state, so nothing raises. */
#include "lane/script_memory.h"

#include "base/hash.h"
#include "base/map.h"
#include "lua/own_modules.h"

#include <string.h>

#define MOST_VALUES 20000 /* that are visited */
#define MOST_DEPTH  64    /* of tables in tables, or functions in functions */
#define PLACES      8     /* of the Lua stack, for each of them */

struct visit {
    struct pl_state *s;
    lua_State *L;
    struct pl_map known; /* address -> digest, or a name's hash */
    uint64_t digest;
    size_t values, depth;
    bool is_known; /* nothing was met that cannot be read */
};

static void feed(struct visit *visit, const void *bytes, size_t len)
{
    visit->digest = pl_hash(bytes, len, visit->digest);
}

static void feed_number(struct visit *visit, uint64_t number)
{
    feed(visit, &number, sizeof number);
}

/* ---- what counts as a name ---- */

static struct pl_slice address_of(const void *const *address)
{
    return pl_slice((const char *)address, sizeof *address);
}

static void keep_digest(struct visit *visit, const void *address, uint64_t number)
{
    pl_map_put(&visit->known, address_of(&address), (void *)(uintptr_t)(number | 1)); /* not 0 */
}

/* The value at the top is the library's `name`. */
static void name_value(struct visit *visit, uint64_t library, const char *name)
{
    const void *address = lua_topointer(visit->L, -1);
    if (!pl_map_has(&visit->known, address_of(&address)))
        keep_digest(visit, address, pl_hash(name, strlen(name), library));
}

/* What the function at the top is, and where it is from. */
static void read_function(lua_State *L, lua_Debug *ar)
{
    lua_pushvalue(L, -1);
    lua_getinfo(L, ">S", ar);
}

static bool is_own_function(lua_State *L)
{
    lua_Debug ar;
    if (lua_iscfunction(L, -1))
        return true;
    if (lua_type(L, -1) != LUA_TFUNCTION)
        return false;
    read_function(L, &ar);
    return pl_is_own_chunk(ar.source);
}

/* The functions of the table at the top are the library's. The table itself is visited: scripts may
 * have added something. */
static void name_functions(struct visit *visit, const char *library)
{
    lua_State *L = visit->L;
    uint64_t seed = pl_hash(library, strlen(library), 0);
    lua_pushnil(L);
    while (lua_next(L, -2) != 0) {
        if (is_own_function(L) && lua_type(L, -2) == LUA_TSTRING)
            name_value(visit, seed, lua_tostring(L, -2));
        lua_pop(L, 1);
    }
}

/* Names the functions of the standard library as they were before any script ran. */
static void name_globals(struct visit *visit)
{
    lua_State *L = visit->L;
    pl_ref_push(L, visit->s->refs.own_globals);
    name_functions(visit, "_G");
    lua_pushnil(L);
    while (lua_next(L, -2) != 0) {
        if (lua_istable(L, -1) && lua_type(L, -2) == LUA_TSTRING)
            name_functions(visit, lua_tostring(L, -2));
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

static bool is_own_module(lua_State *L)
{
    return lua_type(L, -2) == LUA_TSTRING && pl_own_find(lua_tostring(L, -2)) != NULL;
}

/* Scripts cannot change a module, so the table is a name, too. */
static void name_modules(struct visit *visit)
{
    lua_State *L = visit->L;
    pl_ref_push(L, visit->s->refs.host);
    name_functions(visit, "perilune.host");
    lua_pop(L, 1);
    pl_ref_push(L, visit->s->refs.loaded);
    lua_pushnil(L);
    while (lua_next(L, -2) != 0) {
        if (is_own_module(L) && lua_istable(L, -1)) {
            name_functions(visit, lua_tostring(L, -2));
            name_value(visit, 0, lua_tostring(L, -2));
        }
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

/* ---- the visit ---- */

static void visit_value(struct visit *visit);

/* A metatable of tables with entries that only C can read. */
static bool hides_entries(const struct pl_state *s, const void *meta)
{
    return meta == s->lazy_meta || meta == s->unread_meta;
}

static void visit_table(struct visit *visit)
{
    lua_State *L = visit->L;
    if (lua_getmetatable(L, -1)) {
        if (hides_entries(visit->s, lua_topointer(L, -1)))
            visit->is_known = false;
        visit_value(visit);
    }
    int table = lua_gettop(L);
    uint64_t before = visit->digest, entries = 0;
    lua_pushnil(L);
    while (visit->is_known && lua_next(L, table) != 0) {
        visit->digest = 0;
        lua_pushvalue(L, -2);
        visit_value(visit);
        visit_value(visit);
        entries += visit->digest;
    }
    lua_settop(L, table);
    visit->digest = before;
    feed_number(visit, entries);
}

/* One of no library: Perilune's own begin with the state as upvalue. An iterator or a coroutine of
 * LuaJIT has a place in something. */
static bool is_readable_c(const struct visit *visit)
{
    lua_State *L = visit->L;
    bool is_own = lua_getupvalue(L, -1, 1) == NULL;
    if (!is_own) {
        is_own = lua_touserdata(L, -1) == visit->s;
        lua_pop(L, 1);
    }
    return is_own && lua_tocfunction(L, -1) != NULL;
}

/* Functions of the library that were made for a script have functions of the script. */
static void visit_upvalues(struct visit *visit, bool is_library)
{
    lua_State *L = visit->L;
    for (int i = 1; visit->is_known && lua_getupvalue(L, -1, i) != NULL; i++) {
        if (is_library && lua_type(L, -1) != LUA_TFUNCTION)
            lua_pop(L, 1);
        else
            visit_value(visit);
    }
}

static void visit_function(struct visit *visit)
{
    lua_State *L = visit->L;
    lua_Debug ar;
    read_function(L, &ar);
    lua_CFunction function = lua_tocfunction(L, -1);
    if (*ar.what == 'C' && !is_readable_c(visit))
        visit->is_known = false;
    feed(visit, &function, sizeof function);
    feed(visit, ar.source, strlen(ar.source));
    feed_number(visit, (uint64_t)ar.linedefined);
    visit_upvalues(visit, pl_is_own_chunk(ar.source));
}

/* Visits a table or a function, unless it was visited before or is a library's. */
static void visit_object(struct visit *visit)
{
    const void *address = lua_topointer(visit->L, -1);
    uintptr_t number = (uintptr_t)pl_map_get(&visit->known, address_of(&address));
    if (number == 0) {
        uint64_t before = visit->digest;
        visit->digest = 0;
        keep_digest(visit, address,
                    visit->depth++); /* until it is known: for what leads back to it */
        if (lua_type(visit->L, -1) == LUA_TTABLE)
            visit_table(visit);
        else
            visit_function(visit);
        visit->depth--;
        number = (uintptr_t)visit->digest | 1;
        keep_digest(visit, address, visit->digest);
        visit->digest = before;
    }
    feed_number(visit, number);
}

static void visit_plain(struct visit *visit)
{
    lua_State *L = visit->L;
    lua_Number number = lua_tonumber(L, -1);
    switch (lua_type(L, -1)) {
    case LUA_TBOOLEAN:
        feed_number(visit, (uint64_t)lua_toboolean(L, -1));
        break;
    case LUA_TNUMBER:
        feed(visit, &number, sizeof number);
        break;
    case LUA_TSTRING:
        feed(visit, lua_tostring(L, -1), lua_objlen(L, -1));
        break;
    case LUA_TNIL:
    case LUA_TLIGHTUSERDATA: /* null */
        break;
    default:
        visit->is_known = false;
    }
}

/* Pops the value. */
static void visit_value(struct visit *visit)
{
    lua_State *L = visit->L;
    int type = lua_type(L, -1);
    feed_number(visit, (uint64_t)type);
    if (++visit->values > MOST_VALUES || visit->depth == MOST_DEPTH || !lua_checkstack(L, PLACES))
        visit->is_known = false;
    else if (type == LUA_TTABLE || type == LUA_TFUNCTION)
        visit_object(visit);
    else
        visit_plain(visit);
    lua_pop(L, 1);
}

/* Own modules are loaded when they are first needed, so which are there says nothing. */
static void visit_modules(struct visit *visit)
{
    lua_State *L = visit->L;
    pl_ref_push(L, visit->s->refs.loaded);
    lua_pushnil(L);
    while (visit->is_known && lua_next(L, -2) != 0) {
        if (is_own_module(L))
            lua_pop(L, 1);
        else
            visit_value(visit);
    }
}

bool pl_script_memory(struct pl_state *s, uint64_t *digest)
{
    struct visit visit = {.s = s, .L = s->L, .known = PL_MAP_INIT, .is_known = true};
    int top = lua_gettop(s->L);
    name_globals(&visit);
    name_modules(&visit);
    lua_pushvalue(s->L, LUA_GLOBALSINDEX);
    visit_value(&visit);
    pl_ref_push(s->L, s->refs.declared);
    visit_value(&visit);
    visit_modules(&visit);
    lua_settop(s->L, top);
    pl_map_deinit(&visit.known);
    *digest = visit.digest;
    return visit.is_known;
}
