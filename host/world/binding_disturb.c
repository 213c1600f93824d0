/* Calls that only the explorer makes: they hold parts of a world back, and let others happen early
 * or late. Ordinary specs, and undisturbed executions, call none of them. */
#include "world/binding_impl.h"

#include "base/hash.h"
#include "value/write.h"

#include <inttypes.h>
#include <lauxlib.h>

static int disturb_limit(lua_State *L)
{
    pl_world_limit(pl_binding_check(L)->world, (unsigned)luaL_checkinteger(L, 2));
    return 0;
}

static int disturb_limit_key(lua_State *L)
{
    pl_world_limit_key(pl_binding_check(L)->world, (unsigned)luaL_checkinteger(L, 2));
    return 0;
}

static int disturb_limit_retries(lua_State *L)
{
    pl_world_limit_retries(pl_binding_check(L)->world, (unsigned)luaL_checkinteger(L, 2));
    return 0;
}

static int forget_rounds(lua_State *L)
{
    pl_world_forget_rounds(pl_binding_check(L)->world);
    return 0;
}

static int disturb_hold(lua_State *L)
{
    struct bound_world *bound = pl_binding_check(L);
    if (bound->choose.L == NULL)
        return luaL_error(L, "only a world with a chooser holds watches back");
    pl_choose_hold(&bound->choose, luaL_checkstring(L, 2), lua_toboolean(L, 3));
    pl_world_look(bound->world);
    return 0;
}

static int disturb_attend(lua_State *L)
{
    pl_choose_attend(&pl_binding_check(L)->choose, lua_toboolean(L, 2));
    return 0;
}

static int disturb_expire(lua_State *L)
{
    pl_world_expire_watches(pl_binding_check(L)->world, luaL_checkstring(L, 2));
    return 0;
}

static int hold_garbage(lua_State *L)
{
    pl_world_hold_garbage(pl_binding_check(L)->world, lua_toboolean(L, 2));
    return 0;
}

static int disturb_enqueue(lua_State *L)
{
    struct bound_world *bound = pl_binding_check(L);
    lua_pushboolean(L,
                    pl_world_enqueue(bound->world, luaL_checkstring(L, 2), luaL_checkstring(L, 3)));
    return 1;
}

static int lateness(lua_State *L)
{
    struct bound_world *bound = pl_binding_check(L);
    pl_world_set_lateness(bound->world, pl_binding_nanoseconds(L, 2));
    return 0;
}

static int pace(lua_State *L)
{
    struct bound_world *bound = pl_binding_check(L);
    pl_world_set_pace(bound->world, pl_binding_nanoseconds(L, 2));
    return 0;
}

static int reverse_lists(lua_State *L)
{
    struct bound_world *bound = pl_binding_check(L);
    lua_pushboolean(L, pl_world_reverse_lists(bound->world, lua_toboolean(L, 2)));
    return 1;
}

/* ---- stored objects ---- */

struct listing {
    lua_State *L;
    struct pl_buf json; /* of one object */
    int count, new;
};

/* Members that differ between two objects that are otherwise alike, so they are not compared. */
static bool is_left_out(struct pl_slice member)
{
    static const char names[][20] = {"uid", "resourceVersion", "creationTimestamp"};
    for (size_t i = 0; i < PL_ARRAY_LEN(names); i++)
        if (pl_slice_eqz(member, names[i]))
            return true;
    return false;
}

/* Writes a text that is the same for objects whose fields have the same managers, at any time: the
 * order of the entries follows the time, too. */
static void write_managers(struct pl_buf *out, struct pl_node managed)
{
    struct pl_buf text = PL_BUF_INIT;
    struct pl_iter entries = pl_iter(managed);
    uint64_t sum = 0;
    while (pl_iter_next(&entries)) {
        struct pl_iter members = pl_iter(entries.value);
        pl_buf_clear(&text);
        while (pl_iter_next(&members)) {
            if (!pl_slice_eqz(members.key, "time"))
                pl_write(&text, members.value, PL_WRITE_COMPACT);
        }
        sum += pl_hash(text.ptr, text.len, 0);
    }
    pl_buf_add_f(out, "\"%016" PRIx64 "\"", sum);
    pl_buf_deinit(&text);
}

/* Writes an object, or its metadata, without these members. */
static void write_bare(struct pl_buf *out, struct pl_node value, bool is_metadata)
{
    struct pl_iter it = pl_iter(value);
    const char *between = "{";
    while (pl_iter_next(&it)) {
        if (is_metadata && is_left_out(it.key))
            continue;
        pl_buf_add_z(out, between);
        pl_write_str(out, it.key);
        pl_buf_add_char(out, ':');
        if (!is_metadata && pl_slice_eqz(it.key, "metadata"))
            write_bare(out, it.value, true);
        else if (is_metadata && pl_slice_eqz(it.key, "managedFields"))
            write_managers(out, it.value);
        else
            pl_write(out, it.value, PL_WRITE_COMPACT);
        between = ",";
    }
    pl_buf_add_z(out, *between == '{' ? "{}" : "}");
}

/* -- known, names, texts */
static void list_one(void *arg, const char *uid, uint64_t version, const struct pl_doc *doc)
{
    struct listing *listing = arg;
    lua_State *L = listing->L;
    lua_pushfstring(L, "%s %f", uid, (lua_Number)version);
    lua_pushvalue(L, -1);
    lua_rawget(L, -5);
    if (lua_isnil(L, -1)) {
        pl_buf_clear(&listing->json);
        write_bare(&listing->json, pl_doc_root(doc), false);
        lua_pushlstring(L, listing->json.ptr, listing->json.len);
        lua_rawseti(L, -4, ++listing->new);
    }
    lua_pop(L, 1);
    lua_rawseti(L, -3, ++listing->count);
}

static int list_objects(lua_State *L)
{
    struct bound_world *bound = pl_binding_check(L);
    struct listing listing = {.L = L, .json = PL_BUF_INIT};
    const char *resource = luaL_checkstring(L, 2);
    luaL_checktype(L, 3, LUA_TTABLE);
    lua_settop(L, 3);
    lua_newtable(L);
    lua_newtable(L);
    bool listed = pl_world_each_object(bound->world, resource, list_one, &listing);
    pl_buf_deinit(&listing.json);
    return listed ? 2 : 0;
}

static int point_body(lua_State *L)
{
    pl_choose_push_body(&pl_binding_check(L)->choose, L);
    return 1;
}

static int host_memory(lua_State *L)
{
    uint64_t digest;
    struct pl_replica *replica =
        pl_world_replica(pl_binding_check(L)->world, luaL_checkstring(L, 2));
    if (replica == NULL || !pl_replica_memory(replica, &digest))
        return 0;
    lua_pushlstring(L, (const char *)&digest, sizeof digest);
    return 1;
}

/* Whether a rule of the spec runs, which the world waits for. */
static int asks_rule(lua_State *L)
{
    lua_pushboolean(L, pl_binding_check(L)->calling > 0);
    return 1;
}

void pl_binding_add_disturbing(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"limit", disturb_limit},
        {"limit_key", disturb_limit_key},
        {"limit_retries", disturb_limit_retries},
        {"forget_rounds", forget_rounds},
        {"hold", disturb_hold},
        {"attend", disturb_attend},
        {"expire", disturb_expire},
        {"hold_garbage", hold_garbage},
        {"enqueue", disturb_enqueue},
        {"lateness", lateness},
        {"pace", pace},
        {"reverse_lists", reverse_lists},
        {"objects", list_objects},
        {"memory", host_memory},
        {"point_body", point_body},
        {"asks_rule", asks_rule},
        {NULL, NULL},
    };
    luaL_register(L, NULL, functions);
}
