/* host: list, and the batches of each: options, the cache or the server, and the results. */
#include "bind/batch.h"
#include "bind/read_impl.h"

#include "base/buf.h"
#include "lane/co.h"
#include "lua/lerr.h"
#include "lua/member.h"
#include "object/meta.h"

#include <string.h>

#define PAGE       500 /* objects of one page, when a live `each` asks the server */
#define LISTED_MAX 256 /* objects of a list that a shadow is told of */

/* ---- options ---- */

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
    {"name", LUA_TSTRING}, {"value", LUA_TSTRING}, {"", LUA_TNIL}};

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
static struct list_options list_read_options(lua_State *L, struct pl_state *s, int options)
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

/* ---- results ---- */

/* remaining: below 0 when it is unknown. */
static void push_info(lua_State *L, struct pl_slice rv, struct pl_slice token, int64_t remaining)
{
    lua_createtable(L, 0, 1);
    pl_lua_set(L, "resource_version", rv);
    pl_lua_set(L, "continue", token);
    if (token.len > 0 && remaining >= 0) {
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
    int64_t remaining = -1; /* the server does not count what a selector selects */
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
    struct pl_lop *op = pl_reading_op(L, s, PL_LOP_READ, "list", 1);
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

static void tell_listed(const struct pl_state *s, const struct pl_cache *cache,
                        const struct pl_kind *kind, const struct pl_docs *docs)
{
    struct pl_buf key = PL_BUF_INIT;
    for (size_t i = 0; docs->count <= LISTED_MAX && i < docs->count; i++) {
        pl_buf_clear(&key);
        if (pl_meta_key(pl_doc_root(docs->items[i]), &key, NULL) == 0)
            pl_reading_tell(s, cache, kind, pl_buf_slice(&key), docs->items[i]);
    }
    pl_buf_deinit(&key);
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
    seen.view = pl_reading_view(s);
    int failed = pl_cache_list(s->lane, cache, &seen, &found, &err);
    batch->docs = found.docs; /* from now on nothing leaks if a function raises */
    found.docs = (struct pl_docs){.items = NULL};
    if (failed) {
        pl_found_deinit(&found);
        if (failed == PL_EAGAIN)
            return pl_reading_wait_for_index(L, s, cache, filter->index_stored);
        return pl_lerr_raise(L, s, "list: %s", err.message);
    }
    if (pl_reading_is_followed(s) && cache->spec->cluster_name == NULL)
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

static bool is_in_metadata(const char *path)
{
    static const char names[][12] = {"metadata", "apiVersion", "kind"};
    for (size_t i = 0; i < PL_ARRAY_LEN(names); i++) {
        size_t len = strlen(names[i]);
        if (strncmp(path, names[i], len) == 0 && strchr(".[", path[len]) != NULL)
            return true;
    }
    return strchr(".[", *path) != NULL; /* written in another way */
}

/* The index of the filter. By a field that the cache leaves out, a list would always be empty. */
static void find_index(lua_State *L, struct pl_state *s, const struct pl_lanes *lanes,
                       const struct pl_wanted *wanted, const struct pl_cache *cache,
                       struct pl_filter *filter)
{
    const struct pl_index_spec *index = pl_lanes_index(lanes, &wanted->kind, filter->index_name);
    filter->index_stored = index != NULL ? index->stored : NULL;
    if (index != NULL && index->path != NULL && cache != NULL && cache->options.metadata_only &&
        !is_in_metadata(index->path))
        pl_lerr_raise(L, s, "list: index \"%s\": the cache of %s has only metadata, without %s",
                      index->name, lua_tostring(L, 1), index->path);
}

int pl_reading_list(lua_State *L, bool each)
{
    struct pl_state *s = pl_state_of(L);
    struct pl_lanes *lanes = pl_reading_lanes(L, s);
    luaL_checktype(L, 2, LUA_TTABLE);
    lua_settop(L, 2);
    luaL_checkstack(L, 20, NULL);
    struct list_options options = list_read_options(L, s, 2);
    struct pl_filter filter = options.filter;
    struct pl_wanted wanted = {
        .ns = filter.ns, .cluster = options.cluster, .metadata_only = options.metadata_only};
    pl_reading_kind(L, s, 1, &wanted.kind);
    struct pl_cache *cache = NULL;
    enum pl_choice choice = options.live
                                ? PL_CHOICE_LIVE
                                : pl_cache_choose(lanes, pl_reading_controller(s), &wanted, &cache);
    if (choice == PL_CHOICE_OUTSIDE)
        return pl_reading_raise_outside(L, s, cache, wanted.ns);
    if (choice == PL_CHOICE_CACHE && !pl_cache_is_ready(cache))
        return pl_reading_wait_for_sync(L, s, cache, 1);
    if (choice == PL_CHOICE_CACHE) {
        pl_reading_check_scope(L, s, cache, each ? "each" : "list", filter.ns, pl_slice(NULL, 0));
        pl_reading_check_shard(L, s, cache, filter.ns);
    }
    if (filter.index_name.ptr != NULL)
        find_index(L, s, lanes, &wanted, cache, &filter);
    if (choice != PL_CHOICE_CACHE && filter.index_name.ptr != NULL)
        return pl_lerr_raise(L, s,
                             choice == PL_CHOICE_LIVE
                                 ? "list: an index works on a cache, and that of %s has other "
                                   "namespaces, or only metadata (metadata_only = true lists it)"
                                 : "list: an index works on a cache; declare %s with :Reads",
                             lua_tostring(L, 1));
    bool partial = wanted.metadata_only || (cache != NULL && cache->options.metadata_only);
    struct pl_batch *batch = pl_batch_push(L, s);
    batch->flags = pl_reading_flags(&wanted.kind, partial);
    pl_batch_read_select(L, s, batch, 2);
    if (choice == PL_CHOICE_CACHE)
        return list_cached(L, s, cache, &filter, each);
    if (choice == PL_CHOICE_UNDECLARED)
        pl_cache_hint(lanes, pl_lua_slice(L, 1));
    return list_live(L, s, &wanted, &options, each);
}
