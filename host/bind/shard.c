/* host: the shards of this replica, and the shard of an object. Lanes ask while the I/O thread
 * changes them: an answer may be outdated when it is returned; the gate decides about writes. */
#include "bind/list.h"
#include "lane/cache.h"
#include "lane/co.h"
#include "lua/lerr.h"
#include "lua/member.h"
#include "object/meta.h"
#include "shard/shards.h"

static struct pl_shards *shards_of(lua_State *L, struct pl_state *s)
{
    if (s->lane == NULL || s->phase == PL_PHASE_LOAD)
        pl_lerr_raise(L, s, "shard: shards are not known while scripts are loaded");
    return s->lane->lanes->shards;
}

static bool is_mine(const struct pl_shards *shards, unsigned i)
{
    enum pl_shard_state state = pl_shards_state(shards, i);
    return state == PL_SHARD_OURS || state == PL_SHARD_GOING;
}

/* shards() -> number of shards, array of our shards */
static int shards(lua_State *L)
{
    struct pl_state *s = pl_state_of(L);
    const struct pl_shards *of = shards_of(L, s);
    unsigned count = pl_shards_count(of);
    lua_pushinteger(L, (lua_Integer)count);
    lua_newtable(L);
    int at = 0;
    for (unsigned i = 0; i < count; i++)
        if (pl_shards_state(of, i) == PL_SHARD_OURS) {
            lua_pushinteger(L, (lua_Integer)i);
            lua_rawseti(L, -2, ++at);
        }
    return 2;
}

static struct pl_cache *for_cache(const struct pl_state *s)
{
    int running = s->task != NULL ? s->task->exec->controller : s->asking;
    struct pl_cache *cache = running >= 0 ? pl_lanes_for_cache(s->lane->lanes, running) : NULL;
    return cache != NULL && pl_cache_is_ready(cache) ? cache : NULL;
}

/* By the cached object of that name of the running controller. */
static bool owns_cached(const struct pl_state *s, const struct pl_shards *of, struct pl_slice ns,
                        struct pl_slice name)
{
    struct pl_cache *cache = for_cache(s);
    struct pl_buf key = PL_BUF_INIT;
    struct pl_scratch scratch;
    pl_key_add(&key, ns, name);
    struct pl_doc *doc = cache != NULL ? pl_store_get(cache->store, pl_buf_slice(&key)) : NULL;
    bool owns =
        doc != NULL && is_mine(of, pl_shards_of_uid(of, pl_meta_uid(pl_doc_root(doc), &scratch)));
    pl_doc_unref(doc);
    pl_buf_deinit(&key);
    return owns;
}

/* owns(ns|nil, name, uid|nil) -> boolean */
static int owns(lua_State *L)
{
    struct pl_state *s = pl_state_of(L);
    const struct pl_shards *of = shards_of(L, s);
    struct pl_slice ns = pl_argument_text(L, 1), uid = pl_argument_text(L, 3);
    luaL_checkstring(L, 2);
    bool result = of == NULL;
    if (of != NULL && ns.len > 0 && pl_shards_by(of) == PL_SHARD_BY_NAMESPACE)
        result = is_mine(of, pl_shards_of_namespace(of, ns));
    else if (of != NULL && uid.len > 0)
        result = is_mine(of, pl_shards_of_uid(of, uid));
    else if (of != NULL)
        result = owns_cached(s, of, ns, pl_lua_slice(L, 2));
    lua_pushboolean(L, result);
    return 1;
}

const luaL_Reg pl_bind_shards[] = {
    {"shards", shards},
    {"owns_shard", owns},
    {NULL, NULL},
};
