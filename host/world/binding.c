/* The C functions of a spec's worlds. A world belongs to a userdata, which closes it when it is
 * collected, if nobody has before. */
#include "world/binding.h"

#include "base/alloc.h"
#include "value/build.h"
#include "value/doc.h"
#include "value/scan.h"
#include "world/choose.h"
#include "world/world.h"

#include <lauxlib.h>
#include <lua.h>
#include <string.h>

#define SEEN_MAX 100000 /* requests that are kept */

static const char meta[] = "perilune.world";

struct seen {
    char *host, *method, *verb, *path, *query, *body, *answer;
    size_t body_len, answer_len;
    int status;
    bool lost;
    int64_t at_ns;
};

struct bound {
    struct pl_world *world;  /* NULL: closed */
    struct pl_choose choose; /* zeros: undisturbed */
    struct seen *seen;
    size_t seen_count, seen_cap;
};

/* ---- what was asked ---- */

static void on_seen(void *arg, const struct pl_wire_seen *from)
{
    struct bound *bound = arg;
    if (bound->seen_count == SEEN_MAX)
        return;
    if (bound->seen_count == bound->seen_cap) {
        bound->seen_cap = bound->seen_cap > 0 ? 2 * bound->seen_cap : 64;
        bound->seen = pl_reallocarray(bound->seen, bound->seen_cap, sizeof *bound->seen);
    }
    bound->seen[bound->seen_count++] = (struct seen){
        .host = pl_strdup(from->host),
        .method = pl_strdup(from->method),
        .verb = pl_strdup(from->verb),
        .path = pl_memdup0(from->path.ptr, from->path.len),
        .query = pl_memdup0(from->query.ptr, from->query.len),
        .body = pl_memdup0(from->body.ptr, from->body.len),
        .answer = pl_memdup0(from->answer.ptr, from->answer.len),
        .body_len = from->body.len,
        .answer_len = from->answer.len,
        .status = from->status,
        .lost = from->lost,
        .at_ns = pl_world_now(bound->world),
    };
}

static void free_seen(struct bound *bound)
{
    for (size_t i = 0; i < bound->seen_count; i++) {
        struct seen *seen = &bound->seen[i];
        pl_free(seen->host);
        pl_free(seen->method);
        pl_free(seen->verb);
        pl_free(seen->path);
        pl_free(seen->query);
        pl_free(seen->body);
        pl_free(seen->answer);
    }
    bound->seen_count = 0;
}

static void set_text(lua_State *L, const char *name, const char *text, size_t len)
{
    lua_pushlstring(L, text, len);
    lua_setfield(L, -2, name);
}

static void push_seen(lua_State *L, const struct seen *seen)
{
    lua_createtable(L, 0, 10);
    set_text(L, "host", seen->host, strlen(seen->host));
    set_text(L, "method", seen->method, strlen(seen->method));
    set_text(L, "verb", seen->verb, strlen(seen->verb));
    set_text(L, "path", seen->path, strlen(seen->path));
    set_text(L, "query", seen->query, strlen(seen->query));
    set_text(L, "body", seen->body, seen->body_len);
    set_text(L, "answer", seen->answer, seen->answer_len);
    lua_pushinteger(L, seen->status);
    lua_setfield(L, -2, "status");
    lua_pushboolean(L, seen->lost);
    lua_setfield(L, -2, "lost");
    lua_pushnumber(L, (lua_Number)seen->at_ns / 1e9);
    lua_setfield(L, -2, "at");
}

/* ---- arguments and results ---- */

static struct bound *check(lua_State *L)
{
    struct bound *bound = luaL_checkudata(L, 1, meta);
    if (bound->world == NULL)
        luaL_error(L, "this world was closed at the end of its test");
    if (bound->choose.L != NULL)
        bound->choose.L = L;
    return bound;
}

static int fail(lua_State *L, const struct pl_err *err)
{
    lua_pushnil(L);
    lua_pushstring(L, err->message);
    return 2;
}

static int answer(lua_State *L, int rc, const struct pl_err *err)
{
    struct bound *bound = lua_touserdata(L, 1);
    pl_choose_raise(&bound->choose, L);
    if (rc != 0)
        return fail(L, err);
    lua_pushboolean(L, true);
    return 1;
}

static struct pl_slice text_of(lua_State *L, int index)
{
    size_t len = 0;
    const char *text = lua_tolstring(L, index, &len);
    return pl_slice(text != NULL ? text : "", len);
}

static int64_t nanoseconds(lua_State *L, int index)
{
    lua_Number seconds = luaL_checknumber(L, index);
    return seconds >= 9e9 ? INT64_MAX : seconds <= 0 ? 0 : (int64_t)(seconds * 1e9 + 0.5);
}

/* The texts of an array: NULL-terminated, to free with free_texts. */
static char **texts_of(struct pl_node array, size_t *count)
{
    struct pl_iter it = pl_iter(array);
    char **texts = pl_calloc(pl_node_len(array) + 1, sizeof *texts);
    *count = 0;
    while (pl_iter_next(&it)) {
        struct pl_scratch scratch;
        struct pl_slice text = pl_node_str(it.value, &scratch);
        texts[(*count)++] = pl_memdup0(text.ptr, text.len);
    }
    return texts;
}

static void free_texts(char **texts)
{
    for (char **text = texts; text != NULL && *text != NULL; text++)
        pl_free(*text);
    pl_free(texts);
}

static struct pl_doc *read_json(lua_State *L, int index, struct pl_err *err)
{
    struct pl_scan_options options = {.keep_managed_fields = true};
    luaL_checkstring(L, index);
    return pl_scan_text(text_of(L, index), &options, err);
}

/* ---- life ---- */

static int open_world(lua_State *L)
{
    struct pl_world_options options = {.wall_ns = (int64_t)(luaL_checknumber(L, 1) * 1e9),
                                       .seed = (uint64_t)luaL_checknumber(L, 2),
                                       .dog = lua_touserdata(L, lua_upvalueindex(1)),
                                       .seen = on_seen};
    struct bound *bound = lua_newuserdata(L, sizeof *bound);
    *bound = (struct bound){.world = NULL};
    luaL_getmetatable(L, meta);
    lua_setmetatable(L, -2);
    options.arg = bound;
    if (lua_isfunction(L, 3)) {
        pl_choose_init(&bound->choose, L, 3);
        options.chooser = &bound->choose.chooser;
    }
    if (options.seed == 0)
        options.seed = 1;
    bound->world = pl_world_create(&options);
    return 1;
}

static int close_world(lua_State *L)
{
    struct bound *bound = luaL_checkudata(L, 1, meta);
    struct pl_world *world = bound->world;
    if (world != NULL)
        pl_world_destroy(world);
    bound->world = NULL;
    pl_choose_deinit(&bound->choose);
    free_seen(bound);
    pl_free(bound->seen);
    bound->seen = NULL;
    bound->seen_cap = 0;
    return 0;
}

static int start(lua_State *L)
{
    struct bound *bound = check(L);
    struct pl_err err;
    pl_err_clear(&err);
    struct pl_doc *doc = read_json(L, 2, &err);
    if (doc == NULL)
        return fail(L, &err);
    struct pl_node root = pl_doc_root(doc), config = pl_node_getz(root, "config");
    struct pl_node namespaces = pl_node_getz(root, "namespaces");
    struct pl_scratch scratch;
    struct pl_slice name = pl_node_str(pl_node_getz(root, "name"), &scratch);
    char *host = pl_memdup0(name.ptr, name.len);
    size_t count, ignored;
    double cpu = pl_node_double(pl_node_getz(root, "cpu_limit"));
    struct pl_replica_options options = {.name = host, .cpu_limit_ns = (int64_t)(cpu * 1e9)};
    char **paths = texts_of(pl_node_getz(root, "paths"), &count);
    char **only = pl_node_is_missing(namespaces) ? NULL : texts_of(namespaces, &ignored);
    options.paths = (const char *const *)paths;
    options.path_count = count;
    options.namespaces = only;
    options.config = pl_node_is_missing(config) ? NULL : pl_doc_from_node(config, NULL);
    int rc = pl_world_start(bound->world, &options, &err);
    pl_doc_unref(options.config);
    free_texts(paths);
    free_texts(only);
    pl_free(host);
    pl_doc_unref(doc);
    return answer(L, rc, &err);
}

typedef int (*host_fn)(struct pl_world *world, const char *name, struct pl_err *err);

static int with_host(lua_State *L, host_fn call)
{
    struct pl_err err;
    pl_err_clear(&err);
    return answer(L, call(check(L)->world, luaL_checkstring(L, 2), &err), &err);
}

static int sync_host(lua_State *L)
{
    return with_host(L, pl_world_sync);
}

static int stop_host(lua_State *L)
{
    return with_host(L, pl_world_stop);
}

static int crash_host(lua_State *L)
{
    return with_host(L, pl_world_crash);
}

static int runs_host(lua_State *L)
{
    lua_pushboolean(L, pl_world_replica(check(L)->world, luaL_checkstring(L, 2)) != NULL);
    return 1;
}

static int reload_host(lua_State *L)
{
    struct bound *bound = check(L);
    struct pl_err err;
    pl_err_clear(&err);
    struct pl_doc *doc = read_json(L, 3, &err);
    if (doc == NULL)
        return fail(L, &err);
    size_t count;
    char **paths = texts_of(pl_doc_root(doc), &count);
    int rc = pl_world_reload(bound->world, luaL_checkstring(L, 2), (const char *const *)paths,
                             count, &err);
    free_texts(paths);
    pl_doc_unref(doc);
    return answer(L, rc, &err);
}

/* ---- the server ---- */

static int request(lua_State *L)
{
    struct bound *bound = check(L);
    struct pl_err err;
    struct pl_world_answer got;
    pl_err_clear(&err);
    int rc = pl_world_request(bound->world, luaL_checkstring(L, 2), luaL_checkstring(L, 3),
                              lua_tostring(L, 4), text_of(L, 5), &got, &err);
    if (rc != 0) {
        pl_buf_deinit(&got.body);
        return fail(L, &err);
    }
    lua_pushinteger(L, got.status);
    lua_pushlstring(L, pl_buf_z(&got.body), got.body.len);
    pl_buf_deinit(&got.body);
    return 2;
}

static int limit(lua_State *L)
{
    pl_world_limit(check(L)->world, (unsigned)luaL_checkinteger(L, 2));
    return 0;
}

static int hold(lua_State *L)
{
    struct bound *bound = check(L);
    if (bound->choose.L == NULL)
        return luaL_error(L, "only a world with a chooser holds watches back");
    pl_choose_hold(&bound->choose, luaL_checkstring(L, 2), lua_toboolean(L, 3));
    pl_world_look(bound->world);
    return 0;
}

static int expire(lua_State *L)
{
    pl_world_expire_watches(check(L)->world, luaL_checkstring(L, 2));
    return 0;
}

static int version(lua_State *L)
{
    lua_pushfstring(L, "%d", (int)pl_world_version(check(L)->world));
    return 1;
}

static int take_seen(lua_State *L)
{
    struct bound *bound = check(L);
    lua_createtable(L, (int)bound->seen_count, 0);
    for (size_t i = 0; i < bound->seen_count; i++) {
        push_seen(L, &bound->seen[i]);
        lua_rawseti(L, -2, (int)i + 1);
    }
    free_seen(bound);
    return 1;
}

/* ---- time ---- */

static int step(lua_State *L)
{
    struct bound *bound = check(L);
    bool some = pl_world_step(bound->world);
    pl_choose_raise(&bound->choose, L);
    lua_pushboolean(L, some);
    return 1;
}

static int settle(lua_State *L)
{
    struct pl_err err;
    pl_err_clear(&err);
    return answer(L, pl_world_settle(check(L)->world, nanoseconds(L, 2), &err), &err);
}

static int advance(lua_State *L)
{
    struct pl_err err;
    pl_err_clear(&err);
    return answer(L, pl_world_advance(check(L)->world, nanoseconds(L, 2), &err), &err);
}

static int settled(lua_State *L)
{
    struct pl_buf why = PL_BUF_INIT;
    bool is = pl_world_is_settled(check(L)->world, &why);
    lua_pushboolean(L, is);
    lua_pushlstring(L, pl_buf_z(&why), why.len);
    pl_buf_deinit(&why);
    return is ? 1 : 2;
}

static int now(lua_State *L)
{
    int64_t ns = pl_world_now(check(L)->world);
    lua_pushnumber(L, (lua_Number)(ns / PL_SECOND) + (lua_Number)(ns % PL_SECOND) / 1e9);
    return 1;
}

static const luaL_Reg functions[] = {
    {"close", close_world},
    {"start", start},
    {"sync", sync_host},
    {"stop", stop_host},
    {"crash", crash_host},
    {"reload", reload_host},
    {"runs_host", runs_host},
    {"request", request},
    {"version", version},
    {"seen", take_seen},
    {"step", step},
    {"settle", settle},
    {"hold", hold},
    {"limit", limit},
    {"expire", expire},
    {"advance", advance},
    {"settled", settled},
    {"now", now},
    {NULL, NULL},
};

void pl_world_push(lua_State *L, struct pl_watchdog *dog)
{
    luaL_newmetatable(L, meta);
    lua_pushcfunction(L, close_world);
    lua_setfield(L, -2, "__gc");
    lua_pop(L, 1);
    lua_newtable(L);
    for (const luaL_Reg *function = functions; function->name != NULL; function++) {
        lua_pushcfunction(L, function->func);
        lua_setfield(L, -2, function->name);
    }
    lua_pushlightuserdata(L, dog);
    lua_pushcclosure(L, open_world, 1);
    lua_setfield(L, -2, "open");
}
