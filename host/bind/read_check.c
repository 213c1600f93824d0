/* The common part of all reads: arguments, refusals, waiting for a cache, and reports to a
 * shadow. */
#include "bind/read_impl.h"

#include "lane/co.h"
#include "lua/lerr.h"

#include <stdio.h>
#include <string.h>

#define INDEX_POLL_NS   (5 * PL_MS) /* interval of checks on an index that is being built */
#define SYNC_TIMEOUT_NS (120 * PL_SECOND)

/* ---- arguments ---- */

static void parse_kind(lua_State *L, struct pl_state *s, int index, struct pl_kind *kind)
{
    struct pl_err err;
    pl_err_clear(&err);
    if (pl_kind_parse(pl_lua_slice(L, index), kind, &err) != 0)
        pl_lerr_raise(L, s, "%s", err.message);
}

/* Kept until the next collection: a script uses the same few in every read. */
void pl_reading_kind(lua_State *L, struct pl_state *s, int index, struct pl_kind *kind)
{
    luaL_checkstring(L, index);
    pl_ref_push(L, s->refs.kinds);
    lua_pushvalue(L, index);
    lua_rawget(L, -2); /* -- kinds, kept or nil */
    const struct pl_kind *kept = lua_touserdata(L, -1);
    if (kept != NULL) {
        *kind = *kept;
    } else {
        parse_kind(L, s, index, kind);
        lua_pushvalue(L, index);
        *(struct pl_kind *)lua_newuserdata(L, sizeof *kind) = *kind;
        lua_rawset(L, -4);
    }
    lua_pop(L, 2);
}

struct pl_lanes *pl_reading_lanes(lua_State *L, struct pl_state *s)
{
    if (s->lane == NULL || s->lane->lanes->cluster == NULL)
        pl_lerr_raise(L, s,
                      "there is no cluster here: only reconciles, tasks and functions called "
                      "for events can read and write");
    if (atomic_load(&s->lane->abandoned)) /* the data may be freed */
        pl_lerr_raise(L, s, "this run was abandoned");
    return s->lane->lanes;
}

int pl_reading_controller(const struct pl_state *s)
{
    return s->task != NULL ? s->task->exec->controller : s->asking;
}

unsigned pl_reading_flags(const struct pl_kind *kind, bool partial)
{
    unsigned flags = PL_OBJECT_ROOT | (partial ? (unsigned)PL_OBJECT_PARTIAL : 0);
    return flags | (pl_kind_is_secret(kind) ? (unsigned)PL_OBJECT_SECRET : 0);
}

/* ---- operations ---- */

struct pl_lop *pl_reading_op(lua_State *L, struct pl_state *s, enum pl_lop_type type,
                             const char *verb, int kind)
{
    pl_co_check_wait(L, s);
    struct pl_lop *op = pl_lop_create(type);
    op->verb = verb;
    op->kind = pl_lop_text(op, pl_lua_slice(L, kind)).ptr;
    return op;
}

static int push_again(lua_State *L, struct pl_state *s, struct pl_lop *op)
{
    PL_UNUSED(op);
    lua_pushlightuserdata(L, s);
    return 1;
}

/* Index functions may be asked while other kinds are still being listed: then they are asked again.
 */
static int refuse_to_wait(lua_State *L, struct pl_state *s, struct pl_cache *cache, int kind)
{
    struct pl_ask *ask = atomic_load(&s->lane->answering);
    if (ask != NULL && ask->external.controller < 0)
        ask->lacks = cache;
    return pl_lerr_raise(L, s,
                         "cannot wait here: the cache of %s has not synced yet, and predicates, "
                         "map and index functions may not wait",
                         lua_tostring(L, kind));
}

int pl_reading_wait_for_sync(lua_State *L, struct pl_state *s, struct pl_cache *cache, int kind)
{
    if (s->phase == PL_PHASE_MAP)
        return refuse_to_wait(L, s, cache, kind);
    struct pl_lop *op = pl_reading_op(L, s, PL_LOP_SYNC, "read", kind);
    const struct pl_controller_spec *spec = pl_edition_spec(cache->edition);
    op->cache = cache;
    op->delay_ns = spec->cache_sync_timeout_ns > 0 ? spec->cache_sync_timeout_ns : SYNC_TIMEOUT_NS;
    op->push = push_again;
    return pl_co_wait(L, s, op);
}

/* Waits a while, as the index is being built after a reload, and returns "again". */
int pl_reading_wait_for_index(lua_State *L, struct pl_state *s, struct pl_cache *cache,
                              const char *stored)
{
    struct pl_ask *ask = atomic_load(&s->lane->answering);
    if (ask != NULL &&
        ask->external.controller >= 0) { /* for index functions it may be the same index */
        ask->lacks = cache;
        ask->lacks_index = stored;
    }
    struct pl_lop *op = pl_reading_op(L, s, PL_LOP_SLEEP, "list", 1);
    op->delay_ns = INDEX_POLL_NS;
    op->push = push_again;
    return pl_co_wait(L, s, op);
}

int pl_reading_raise_outside(lua_State *L, struct pl_state *s, const struct pl_cache *limited,
                             struct pl_slice ns)
{
    return pl_lerr_raise(L, s, "%s: the namespace \"%s\" is not one of those %s",
                         lua_tostring(L, 1), ns.ptr ? ns.ptr : "",
                         limited != NULL ? "of --namespace: perilune.live can read it"
                                         : "that the controller declares");
}

/* Objects in another replica's shard are not in this cache, and nothing is known about them here.
 */
void pl_reading_check_shard(lua_State *L, struct pl_state *s, const struct pl_cache *cache,
                            struct pl_slice ns)
{
    if (!pl_cache_is_elsewhere(cache, ns))
        return;
    struct pl_err err;
    pl_err_clear(&err);
    pl_err_set(&err, PL_EREFUSED,
               "the namespace \"%.*s\" belongs to another replica: perilune.live can read it, and "
               "a source with shared = true caches all namespaces",
               PL_FMT(ns));
    snprintf(err.reason, sizeof err.reason, "shard");
    struct pl_about about = {.verb = "read", .kind = lua_tostring(L, 1)};
    pl_lerr_push(L, s, &err, &about);
    lua_error(L);
}

/* A live read is checked where it is sent. */
void pl_reading_check_scope(lua_State *L, struct pl_state *s, struct pl_cache *cache,
                            const char *called, struct pl_slice ns, struct pl_slice name)
{
    struct pl_err err;
    pl_err_clear(&err);
    if (cache->resource != NULL && pl_resource_check_scope(cache->resource, ns, name, &err) != 0)
        pl_lerr_raise(L, s, "%s: %s", called, err.message);
}

/* ---- shadows ---- */

struct pl_capture *pl_reading_view(const struct pl_state *s)
{
    return pl_exec_view(s->task != NULL ? s->task->exec : NULL);
}

bool pl_reading_is_followed(const struct pl_state *s)
{
    return pl_exec_watcher(s->task != NULL ? s->task->exec : NULL) != NULL;
}

/* For a shadow that follows this run: records what it found. */
void pl_reading_tell(const struct pl_state *s, const struct pl_cache *cache,
                     const struct pl_kind *kind, struct pl_slice key, struct pl_doc *doc)
{
    if (pl_reading_is_followed(s) && cache->spec->cluster_name == NULL &&
        !cache->options.metadata_only && (doc != NULL || !pl_cache_is_selective(cache)))
        pl_capture_show(s->task->exec->capture, kind, key, doc, true);
}
