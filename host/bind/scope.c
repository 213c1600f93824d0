/* host: whether a kind has namespaces, as far as the caches of this generation know. */
#include "bind/list.h"
#include "lane/cache.h"

/* The resource of that group and kind, in any version, that a controller has found; NULL: none. */
static const struct pl_resource *found_resource(const struct pl_lanes *lanes,
                                                const struct pl_kind *kind)
{
    for (size_t i = 0; i < lanes->controller_count; i++) {
        struct pl_known_controller *known = &lanes->controllers[i];
        for (size_t j = 0; j < known->cache_count; j++) {
            struct pl_cache *cache = &known->caches[j];
            if (pl_cache_is_ready(cache) && cache->resource != NULL &&
                pl_kind_eq_group(&cache->resource->kind, kind))
                return cache->resource;
        }
    }
    return NULL;
}

/* is_cluster_scoped(api_version, kind) -> true, or false also when it is not known */
static int is_cluster_scoped(lua_State *L)
{
    struct pl_state *s = pl_state_of(L);
    struct pl_kind kind;
    struct pl_err err;
    luaL_checkstring(L, 1);
    luaL_checkstring(L, 2);
    const struct pl_resource *resource = NULL;
    pl_err_clear(&err);
    if (s->lane != NULL && s->phase != PL_PHASE_LOAD && !atomic_load(&s->lane->abandoned) &&
        pl_kind_from(pl_lua_slice(L, 1), pl_lua_slice(L, 2), &kind, &err) == 0)
        resource = found_resource(s->lane->lanes, &kind);
    lua_pushboolean(L, resource != NULL && !resource->namespaced);
    return 1;
}

const luaL_Reg pl_bind_scopes[] = {
    {"is_cluster_scoped", is_cluster_scoped},
    {NULL, NULL},
};
