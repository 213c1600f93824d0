/* host: reading. Each function returns "failed?" and its results. WAIT (the state's address) as
 * first result means: call again, since the missing data is there now. */
#include "bind/read_impl.h"

#include "base/check.h"
#include "bind/list.h"
#include "lane/co.h"
#include "lane/exec_memo.h"
#include "lua/lazy.h"
#include "lua/member.h"
#include "object/meta.h"

#include <string.h>

/* ---- get ---- */

static int read_push_object(lua_State *L, struct pl_state *s, struct pl_lop *op)
{
    if (op->out.doc == NULL) {
        lua_pushnil(L);
        return 1;
    }
    pl_lazy_push(L, s, op->out.doc, op->push_flags);
    return 1;
}

/* The run's object is gone; an object of the same name that belongs to another replica is not it.
 */
static int push_own(lua_State *L, struct pl_state *s, struct pl_lop *op)
{
    struct pl_scratch scratch;
    if (op->out.doc == NULL ||
        pl_shards_hold_uid(s->lane->lanes->shards, pl_meta_uid(pl_doc_root(op->out.doc), &scratch)))
        return read_push_object(L, s, op);
    lua_pushnil(L);
    return 1;
}

/* By uid, for the run's own key. */
static bool is_own(const struct pl_state *s, const struct pl_cache *cache,
                   const struct pl_wanted *wanted, struct pl_slice name)
{
    const struct pl_exec *exec = s->task != NULL ? s->task->exec : NULL;
    return exec != NULL && cache->share == PL_SHARE_BY_UID &&
           pl_exec_for_cache(s->task->exec) == cache && pl_slice_eqz(name, exec->name) &&
           pl_slice_eq(wanted->ns, pl_slice_z(exec->ns));
}

static const char *get_called(lua_State *L)
{
    return lua_type(L, 5) == LUA_TSTRING ? lua_tostring(L, 5) : "get";
}

/* Index 4 may be options, whose headers name the user to impersonate. */
static int get_as(lua_State *L, struct pl_state *s, const struct pl_wanted *wanted,
                  struct pl_slice name,
                  int (*push)(lua_State *L, struct pl_state *s, struct pl_lop *op))
{
    struct pl_lop *op = pl_reading_op(L, s, PL_LOP_READ, "get", 1);
    pl_lop_set_key(op, wanted->ns, name);
    op->called = pl_lop_text(op, pl_slice_z(get_called(L))).ptr;
    op->cluster = pl_lop_text(op, wanted->cluster);
    op->in.read = (struct pl_read){
        .verb = PL_VERB_GET,
        .kind = wanted->kind,
        .ns = pl_lop_text(op, wanted->ns),
        .name = pl_lop_text(op, name),
        .headers = pl_lop_text(op, pl_member_text(L, 4, "headers")),
        .metadata_only = wanted->metadata_only,
    };
    op->missing_is_nil = true;
    op->push_flags = pl_reading_flags(&wanted->kind, wanted->metadata_only);
    op->push = push;
    return pl_co_wait(L, s, op);
}

static int get_live(lua_State *L, struct pl_state *s, const struct pl_wanted *wanted,
                    struct pl_slice name)
{
    return get_as(L, s, wanted, name, read_push_object);
}

static void add_metadata(struct pl_part **parts)
{
    static const char names[][12] = {"apiVersion", "kind", "metadata"};
    for (size_t i = 0; i < PL_ARRAY_LEN(names); i++)
        PL_REQUIRE(pl_parts_add(parts, pl_slice_z(names[i]), NULL) == 0);
}

/* Pushes an object of a cache; false when there is none. */
static bool push_cached(lua_State *L, struct pl_state *s, struct pl_cache *cache,
                        const struct pl_wanted *wanted, struct pl_slice name)
{
    struct pl_buf key = PL_BUF_INIT;
    pl_key_add(&key, wanted->ns, name);
    struct pl_doc *doc = pl_store_get(cache->store, pl_buf_slice(&key));
    if (s->task != NULL)
        pl_co_saw(s->task, cache, pl_buf_slice(&key), doc);
    pl_reading_tell(s, cache, &wanted->kind, pl_buf_slice(&key), doc);
    struct pl_doc *seen;
    if (pl_reading_view(s) != NULL &&
        pl_capture_sees(pl_reading_view(s), &wanted->kind, pl_buf_slice(&key), &seen)) {
        pl_doc_unref(doc);
        doc = seen;
    }
    pl_buf_deinit(&key);
    if (doc == NULL)
        return false;
    bool partial = wanted->metadata_only || cache->options.metadata_only;
    struct pl_part *parts = NULL;
    if (wanted->metadata_only && !cache->options.metadata_only)
        add_metadata(&parts);
    pl_lazy_push_parts(L, s, doc, pl_reading_flags(&wanted->kind, partial), parts);
    pl_parts_free(parts);
    pl_doc_unref(doc);
    return true;
}

/* get(kind, ns|nil, name, {live=, metadata_only=}|nil, called): called is the client's function, if
 * it is not get */
static int get(lua_State *L)
{
    struct pl_state *s = pl_state_of(L);
    struct pl_lanes *lanes = pl_reading_lanes(L, s);
    if (!lua_isnoneornil(L, 4))
        luaL_checktype(L, 4, LUA_TTABLE);
    struct pl_wanted wanted = {.ns = pl_argument_text(L, 2),
                               .cluster = pl_member_text(L, 4, "cluster"),
                               .metadata_only = pl_member_flag(L, 4, "metadata_only")};
    pl_reading_kind(L, s, 1, &wanted.kind);
    luaL_checkstring(L, 3);
    struct pl_slice name = pl_lua_slice(L, 3);
    if (pl_member_flag(L, 4, "live"))
        return get_live(L, s, &wanted, name);
    struct pl_cache *cache = NULL;
    switch (pl_cache_choose(lanes, pl_reading_controller(s), &wanted, &cache)) {
    case PL_CHOICE_OUTSIDE:
        return pl_reading_raise_outside(L, s, cache, wanted.ns);
    case PL_CHOICE_UNDECLARED:
        pl_cache_hint(lanes, pl_lua_slice(L, 1));
        return get_live(L, s, &wanted, name);
    case PL_CHOICE_LIVE:
        return get_live(L, s, &wanted, name);
    case PL_CHOICE_CACHE:
        break;
    }
    if (!pl_cache_is_ready(cache))
        return pl_reading_wait_for_sync(L, s, cache, 1);
    pl_reading_check_scope(L, s, cache, get_called(L), wanted.ns, name);
    pl_reading_check_shard(L, s, cache, wanted.ns);
    lua_pushboolean(L, false);
    if (push_cached(L, s, cache, &wanted, name))
        return 2;
    if (pl_cache_is_selective(cache)) /* the server may have an object that the cache leaves out */
        return get_as(L, s, &wanted, name,
                      is_own(s, cache, &wanted, name) ? push_own : read_push_object);
    lua_pushnil(L);
    return 2;
}

/* ---- list ---- */

static int read_list(lua_State *L)
{
    return pl_reading_list(L, false);
}

static int batch_of(lua_State *L)
{
    return pl_reading_list(L, true);
}

/* ---- key_changed ---- */

static int push_flag(lua_State *L, struct pl_state *s, struct pl_lop *op)
{
    PL_UNUSED(s);
    lua_pushboolean(L, op->out.flag);
    return 1;
}

/* key_changed(kind, ns|nil, name, seconds, cluster|nil). Compares with what this task read last, so
 * that a change between that read and this call is not missed. */
static int key_changed(lua_State *L)
{
    struct pl_state *s = pl_state_of(L);
    struct pl_lanes *lanes = pl_reading_lanes(L, s);
    struct pl_wanted wanted = {.ns = pl_argument_text(L, 2), .cluster = pl_argument_text(L, 5)};
    pl_reading_kind(L, s, 1, &wanted.kind);
    luaL_checkstring(L, 3);
    struct pl_slice name = pl_lua_slice(L, 3);
    double seconds = luaL_checknumber(L, 4);
    struct pl_cache *cache = NULL;
    enum pl_choice choice = pl_cache_choose(lanes, pl_reading_controller(s), &wanted, &cache);
    if (choice == PL_CHOICE_CACHE && !pl_cache_is_ready(cache))
        return pl_reading_wait_for_sync(L, s, cache, 1);
    struct pl_lop *op = pl_reading_op(L, s, PL_LOP_KEY, "wait", 1);
    pl_lop_set_key(op, wanted.ns, name);
    op->in.watch_key = op->key;
    op->delay_ns = pl_clamp(seconds * (double)PL_SECOND, 0, (int64_t)1e8 * PL_SECOND);
    if (choice == PL_CHOICE_CACHE && !pl_cache_is_selective(cache)) {
        op->cache = cache;
        op->out.doc = pl_co_seen(s->task, cache, op->key);
    }
    op->push = push_flag;
    return pl_co_wait(L, s, op);
}

const luaL_Reg pl_bind_reads[] = {
    {"get", get}, {"list", read_list}, {"batch", batch_of}, {"key_changed", key_changed},
    {NULL, NULL},
};
