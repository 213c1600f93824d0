/* host: reading. Each function returns "failed?" and its results. WAIT (the state's address) as
 * first result means: call again, since the missing data is there now. */
#include "base/check.h"
#include "base/alloc.h"
#include "write/capture.h"
#include "bind/bind.h"
#include "bind/batch.h"
#include "bind/list.h"
#include "lane/cache.h"
#include "lane/effects.h"
#include "lane/exec_memo.h"
#include "lua/lazy.h"
#include "lua/lerr.h"
#include "lua/member.h"
#include "lane/co.h"
#include "object/meta.h"

#include <stdio.h>
#include <stdlib.h>

#define INDEX_POLL_NS   (5 * PL_MS) /* interval of checks on an index that is being built */
#define SYNC_TIMEOUT_NS (120 * PL_SECOND)
#define PAGE            500 /* objects of one page, when a live `each` asks the server */
#define LISTED_MAX      256 /* objects of a list that a shadow is told of */

/* ---- arguments ---- */

static void parse_kind(lua_State *L, struct pl_state *s, int index, struct pl_kind *kind)
{
    struct pl_err err;
    pl_err_clear(&err);
    if (pl_kind_parse(pl_lua_slice(L, index), kind, &err) != 0)
        pl_lerr_raise(L, s, "%s", err.message);
}

/* Kept until the next collection: a script uses the same few in every read. */
static void check_kind(lua_State *L, struct pl_state *s, int index, struct pl_kind *kind)
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

static struct pl_lanes *check_lanes(lua_State *L, struct pl_state *s)
{
    if (s->lane == NULL || s->lane->lanes->cluster == NULL)
        pl_lerr_raise(L, s,
                      "there is no cluster here: only reconciles, tasks and functions called "
                      "for events can read and write");
    if (atomic_load(&s->lane->abandoned)) /* the data may be freed */
        pl_lerr_raise(L, s, "this run was abandoned");
    return s->lane->lanes;
}

/* The running controller, or the one whose event is being evaluated. */
static int running_controller(const struct pl_state *s)
{
    return s->task != NULL ? s->task->exec->controller : s->asking;
}

static unsigned object_flags(const struct pl_kind *kind, bool partial)
{
    unsigned flags = PL_OBJECT_ROOT | (partial ? (unsigned)PL_OBJECT_PARTIAL : 0);
    bool secret = strcmp(kind->kind, "Secret") == 0 && *kind->group == '\0';
    return flags | (secret ? (unsigned)PL_OBJECT_SECRET : 0);
}

/* ---- operations ---- */

static struct pl_lop *new_op(lua_State *L, struct pl_state *s, enum pl_lop_type type,
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

/* Waits until the cache has synced, and returns "again". */
static int wait_for_sync(lua_State *L, struct pl_state *s, struct pl_cache *cache, int kind)
{
    if (s->phase == PL_PHASE_MAP)
        return refuse_to_wait(L, s, cache, kind);
    struct pl_lop *op = new_op(L, s, PL_LOP_SYNC, "read", kind);
    const struct pl_controller_spec *spec = pl_edition_spec(cache->edition);
    op->cache = cache;
    op->delay_ns = spec->cache_sync_timeout_ns > 0 ? spec->cache_sync_timeout_ns : SYNC_TIMEOUT_NS;
    op->push = push_again;
    return pl_co_wait(L, s, op);
}

/* Waits a while, as the index is being built after a reload, and returns "again". */
static int wait_for_index(lua_State *L, struct pl_state *s, struct pl_cache *cache,
                          const char *stored)
{
    struct pl_ask *ask = atomic_load(&s->lane->answering);
    if (ask != NULL &&
        ask->external.controller >= 0) { /* for index functions it may be the same index */
        ask->lacks = cache;
        ask->lacks_index = stored;
    }
    struct pl_lop *op = new_op(L, s, PL_LOP_SLEEP, "list", 1);
    op->delay_ns = INDEX_POLL_NS;
    op->push = push_again;
    return pl_co_wait(L, s, op);
}

static int raise_outside(lua_State *L, struct pl_state *s, struct pl_slice ns)
{
    return pl_lerr_raise(
        L, s, "%s: the namespace \"%s\" is not one of those that the controller declares",
        lua_tostring(L, 1), ns.ptr ? ns.ptr : "");
}

/* Objects in another replica's shard are not in this cache, and nothing is known about them here.
 */
static void check_shard(lua_State *L, struct pl_state *s, const struct pl_cache *cache,
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
static void read_check_scope(lua_State *L, struct pl_state *s, struct pl_cache *cache,
                             const char *called, struct pl_slice ns, struct pl_slice name)
{
    struct pl_err err;
    pl_err_clear(&err);
    if (cache->resource != NULL && pl_resource_check_scope(cache->resource, ns, name, &err) != 0)
        pl_lerr_raise(L, s, "%s: %s", called, err.message);
}

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
    struct pl_lop *op = new_op(L, s, PL_LOP_READ, "get", 1);
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
    op->push_flags = object_flags(&wanted->kind, wanted->metadata_only);
    op->push = push;
    return pl_co_wait(L, s, op);
}

static int get_live(lua_State *L, struct pl_state *s, const struct pl_wanted *wanted,
                    struct pl_slice name)
{
    return get_as(L, s, wanted, name, read_push_object);
}

static struct pl_capture *view_of(const struct pl_state *s)
{
    return pl_exec_view(s->task != NULL ? s->task->exec : NULL);
}

static bool is_watched(const struct pl_state *s)
{
    return pl_exec_watcher(s->task != NULL ? s->task->exec : NULL) != NULL;
}

/* For a shadow that follows this run: records what it found. */
static void tell_found(const struct pl_state *s, const struct pl_cache *cache,
                       const struct pl_kind *kind, struct pl_slice key, struct pl_doc *doc)
{
    if (is_watched(s) && cache->spec->cluster_name == NULL && !cache->options.metadata_only &&
        (doc != NULL || !pl_cache_is_selective(cache)))
        pl_capture_show(s->task->exec->capture, kind, key, doc, true);
}

static void tell_listed(const struct pl_state *s, const struct pl_cache *cache,
                        const struct pl_kind *kind, const struct pl_docs *docs)
{
    struct pl_buf key = PL_BUF_INIT;
    for (size_t i = 0; docs->count <= LISTED_MAX && i < docs->count; i++) {
        pl_buf_clear(&key);
        if (pl_meta_key(pl_doc_root(docs->items[i]), &key, NULL) == 0)
            tell_found(s, cache, kind, pl_buf_slice(&key), docs->items[i]);
    }
    pl_buf_deinit(&key);
}

static void add_metadata(struct pl_part **parts)
{
    static const char *const names[] = {"apiVersion", "kind", "metadata"};
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
    tell_found(s, cache, &wanted->kind, pl_buf_slice(&key), doc);
    struct pl_doc *seen;
    if (view_of(s) != NULL &&
        pl_capture_sees(view_of(s), &wanted->kind, pl_buf_slice(&key), &seen)) {
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
    pl_lazy_push_parts(L, s, doc, object_flags(&wanted->kind, partial), parts);
    pl_parts_free(parts);
    pl_doc_unref(doc);
    return true;
}

/* get(kind, ns|nil, name, {live=, metadata_only=}|nil, called): called is the client's function, if
 * it is not get */
static int get(lua_State *L)
{
    struct pl_state *s = pl_state_of(L);
    struct pl_lanes *lanes = check_lanes(L, s);
    if (!lua_isnoneornil(L, 4))
        luaL_checktype(L, 4, LUA_TTABLE);
    struct pl_wanted wanted = {.ns = pl_argument_text(L, 2),
                               .cluster = pl_member_text(L, 4, "cluster"),
                               .metadata_only = pl_member_flag(L, 4, "metadata_only")};
    check_kind(L, s, 1, &wanted.kind);
    luaL_checkstring(L, 3);
    struct pl_slice name = pl_lua_slice(L, 3);
    if (pl_member_flag(L, 4, "live"))
        return get_live(L, s, &wanted, name);
    struct pl_cache *cache = NULL;
    switch (pl_cache_choose(lanes, running_controller(s), &wanted, &cache)) {
    case PL_CHOICE_OUTSIDE:
        return raise_outside(L, s, wanted.ns);
    case PL_CHOICE_UNDECLARED:
        pl_cache_hint(lanes, pl_lua_slice(L, 1));
        return get_live(L, s, &wanted, name);
    case PL_CHOICE_LIVE:
        return get_live(L, s, &wanted, name);
    case PL_CHOICE_CACHE:
        break;
    }
    if (!pl_cache_is_ready(cache))
        return wait_for_sync(L, s, cache, 1);
    read_check_scope(L, s, cache, get_called(L), wanted.ns, name);
    check_shard(L, s, cache, wanted.ns);
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

struct list_options {
    struct pl_filter filter;
    struct pl_slice headers; /* of a live list */
    struct pl_slice cluster;
    bool live, metadata_only;
};

static int64_t limit_of(lua_Number value)
{
    return value > 0 && value < 1e15 ? (int64_t)value : 0;
}

static const struct pl_member index_members[] = {
    {"name", LUA_TSTRING}, {"value", LUA_TSTRING}, {NULL, LUA_TNIL}};

/* The value at the top, which must be of that type. */
static void check_option(lua_State *L, struct pl_state *s, const char *name, int type)
{
    if (lua_type(L, -1) != type)
        pl_lerr_raise(L, s, "%s must be a %s, not a %s", name, lua_typename(L, type),
                      luaL_typename(L, -1));
}

static struct pl_slice text_option(lua_State *L, struct pl_state *s, const char *name)
{
    check_option(L, s, name, LUA_TSTRING);
    return pl_lua_slice(L, -1); /* the table keeps it alive */
}

/* The option whose value is at the top; no memory is owned here. */
static void read_option(lua_State *L, struct pl_state *s, const char *name,
                        struct list_options *out)
{
    struct pl_filter *filter = &out->filter;
    if (strcmp(name, "namespace") == 0) {
        filter->ns = text_option(L, s, name);
    } else if (strcmp(name, "owner_uid") == 0) {
        filter->owner_uid = text_option(L, s, name);
    } else if (strcmp(name, "labels") == 0) {
        filter->labels = text_option(L, s, name);
    } else if (strcmp(name, "fields") == 0) {
        filter->fields = text_option(L, s, name);
    } else if (strcmp(name, "live") == 0) {
        out->live = lua_toboolean(L, -1);
    } else if (strcmp(name, "metadata_only") == 0) {
        out->metadata_only = lua_toboolean(L, -1);
    } else if (strcmp(name, "headers") == 0) {
        out->headers = text_option(L, s, name);
    } else if (strcmp(name, "cluster") == 0) {
        out->cluster = text_option(L, s, name);
    } else if (strcmp(name, "limit") == 0) {
        check_option(L, s, name, LUA_TNUMBER);
        filter->limit = limit_of(lua_tonumber(L, -1));
    } else if (strcmp(name, "continue") == 0) {
        filter->continue_token = text_option(L, s, name);
    } else if (strcmp(name, "select") == 0) {
        check_option(L, s, name, LUA_TTABLE);
    } else if (strcmp(name, "index") == 0) {
        int index = lua_gettop(L);
        check_option(L, s, name, LUA_TTABLE);
        pl_member_check(L, s, index, index_members);
        filter->index_name = pl_member_text(L, index, "name");
        filter->index_value = pl_member_text(L, index, "value");
    }
}

/* One pass over the table: few of the many possible options are present. */
static struct list_options read_read_options(lua_State *L, struct pl_state *s, int options)
{
    struct list_options out = {.live = false};
    lua_pushnil(L);
    while (lua_next(L, options) != 0) {
        if (lua_type(L, -2) == LUA_TSTRING)
            read_option(L, s, lua_tostring(L, -2), &out);
        lua_pop(L, 1);
    }
    return out;
}

static void push_info(lua_State *L, struct pl_slice rv, struct pl_slice token, int64_t remaining)
{
    lua_createtable(L, 0, 1);
    pl_lua_set(L, "resource_version", rv);
    pl_lua_set(L, "continue", token);
    if (token.len > 0) {
        lua_pushnumber(L, (lua_Number)remaining);
        lua_setfield(L, -2, "remaining");
    }
}

/* -- batch; pushes the results of list (all objects, info) or each (batch, token) */
static int finish_list(lua_State *L, struct pl_state *s, bool each, struct pl_slice rv,
                       struct pl_slice token, int64_t remaining)
{
    if (each) {
        if (token.len == 0)
            return 1;
        pl_lua_push(L, token);
        return 2;
    }
    pl_batch_push_all(L, s, lua_touserdata(L, -1));
    push_info(L, rv, token, remaining);
    return 2;
}

/* The results of a live list; op->options holds the batch. */
static int push_live(lua_State *L, struct pl_state *s, struct pl_lop *op)
{
    luaL_checkstack(L, 10, NULL);
    pl_ref_push(L, op->options);
    luaL_unref(L, LUA_REGISTRYINDEX, op->options);
    op->options = LUA_NOREF;
    struct pl_batch *batch = lua_touserdata(L, -1);
    batch->docs = op->out.items;
    op->out.items = (struct pl_docs){.items = NULL};
    if (op->owner_uid.ptr != NULL)
        pl_docs_keep_owned(&batch->docs, op->owner_uid);
    struct pl_scratch rv, token;
    struct pl_node metadata = pl_node_getz(pl_doc_root(op->out.doc), "metadata");
    int64_t remaining = 0;
    pl_node_int(pl_node_getz(metadata, "remainingItemCount"), &remaining);
    int count =
        finish_list(L, s, op->each, pl_node_str(pl_node_getz(metadata, "resourceVersion"), &rv),
                    pl_node_str(pl_node_getz(metadata, "continue"), &token), remaining);
    if (!op->each)
        lua_remove(L, -3); /* the batch */
    return count;
}

/* -- batch */
static int list_live(lua_State *L, struct pl_state *s, struct pl_wanted *wanted,
                     const struct list_options *options, bool each)
{
    const struct pl_filter *filter = &options->filter;
    struct pl_lop *op = new_op(L, s, PL_LOP_READ, "list", 1);
    op->cluster = pl_lop_text(op, options->cluster);
    op->in.read = (struct pl_read){
        .verb = PL_VERB_LIST,
        .kind = wanted->kind,
        .ns = pl_lop_text(op, filter->ns),
        .labels = pl_lop_text(op, filter->labels),
        .fields = pl_lop_text(op, filter->fields),
        .continue_token = pl_lop_text(op, filter->continue_token),
        .headers = pl_lop_text(op, options->headers),
        .limit = filter->limit > 0 ? filter->limit
                 : each            ? PAGE
                                   : 0,
        .metadata_only = wanted->metadata_only,
    };
    op->key = pl_lop_text(op, filter->ns);
    op->owner_uid = pl_lop_text(op, filter->owner_uid);
    op->each = each;
    op->push = push_live;
    op->options = luaL_ref(L, LUA_REGISTRYINDEX);
    return pl_co_wait(L, s, op);
}

/* -- batch */
static int list_cached(lua_State *L, struct pl_state *s, struct pl_cache *cache,
                       const struct pl_filter *filter, bool each)
{
    struct pl_batch *batch = lua_touserdata(L, -1);
    struct pl_found found;
    struct pl_err err;
    pl_err_clear(&err);
    struct pl_filter seen = *filter;
    seen.view = view_of(s);
    int failed = pl_cache_list(s->lane, cache, &seen, &found, &err);
    batch->docs = found.docs; /* from now on nothing leaks if a function raises */
    found.docs = (struct pl_docs){.items = NULL};
    if (failed) {
        pl_found_deinit(&found);
        if (failed == PL_EAGAIN)
            return wait_for_index(L, s, cache, filter->index_stored);
        return pl_lerr_raise(L, s, "list: %s", err.message);
    }
    if (is_watched(s) && cache->spec->cluster_name == NULL)
        tell_listed(s, cache, &cache->spec->kind, &batch->docs);
    lua_pushboolean(L, false);
    lua_insert(L, -2); /* -- failed?, batch */
    int count = finish_list(L, s, each, pl_buf_slice(&found.rv),
                            pl_buf_slice(&found.continue_token), (int64_t)found.remaining);
    if (!each)
        lua_remove(L, -3); /* the batch */
    pl_found_deinit(&found);
    return count + 1;
}

/* (kind, options): list, or the batch of each */
static int list_or_batch(lua_State *L, bool each)
{
    struct pl_state *s = pl_state_of(L);
    struct pl_lanes *lanes = check_lanes(L, s);
    luaL_checktype(L, 2, LUA_TTABLE);
    lua_settop(L, 2);
    luaL_checkstack(L, 20, NULL);
    struct list_options options = read_read_options(L, s, 2);
    struct pl_filter filter = options.filter;
    struct pl_wanted wanted = {
        .ns = filter.ns, .cluster = options.cluster, .metadata_only = options.metadata_only};
    check_kind(L, s, 1, &wanted.kind);
    struct pl_cache *cache = NULL;
    enum pl_choice choice = options.live
                                ? PL_CHOICE_LIVE
                                : pl_cache_choose(lanes, running_controller(s), &wanted, &cache);
    if (choice == PL_CHOICE_OUTSIDE)
        return raise_outside(L, s, wanted.ns);
    if (choice == PL_CHOICE_CACHE && !pl_cache_is_ready(cache))
        return wait_for_sync(L, s, cache, 1);
    if (choice == PL_CHOICE_CACHE) {
        read_check_scope(L, s, cache, each ? "each" : "list", filter.ns, pl_slice(NULL, 0));
        check_shard(L, s, cache, filter.ns);
    }
    if (filter.index_name.ptr != NULL)
        filter.index_stored = pl_lanes_stored_index(lanes, &wanted.kind, filter.index_name);
    if (choice != PL_CHOICE_CACHE && filter.index_name.ptr != NULL)
        return pl_lerr_raise(L, s, "list: an index works on a cache; declare %s with :Reads",
                             lua_tostring(L, 1));
    bool partial = wanted.metadata_only || (cache != NULL && cache->options.metadata_only);
    struct pl_batch *batch = pl_batch_push(L, s);
    batch->flags = object_flags(&wanted.kind, partial);
    pl_batch_read_select(L, s, batch, 2);
    if (choice == PL_CHOICE_CACHE)
        return list_cached(L, s, cache, &filter, each);
    if (choice == PL_CHOICE_UNDECLARED)
        pl_cache_hint(lanes, pl_lua_slice(L, 1));
    return list_live(L, s, &wanted, &options, each);
}

static int read_list(lua_State *L)
{
    return list_or_batch(L, false);
}

static int batch_of(lua_State *L)
{
    return list_or_batch(L, true);
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
    struct pl_lanes *lanes = check_lanes(L, s);
    struct pl_wanted wanted = {.ns = pl_argument_text(L, 2), .cluster = pl_argument_text(L, 5)};
    check_kind(L, s, 1, &wanted.kind);
    luaL_checkstring(L, 3);
    struct pl_slice name = pl_lua_slice(L, 3);
    double seconds = luaL_checknumber(L, 4);
    struct pl_cache *cache = NULL;
    enum pl_choice choice = pl_cache_choose(lanes, running_controller(s), &wanted, &cache);
    if (choice == PL_CHOICE_CACHE && !pl_cache_is_ready(cache))
        return wait_for_sync(L, s, cache, 1);
    struct pl_lop *op = new_op(L, s, PL_LOP_KEY, "wait", 1);
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
