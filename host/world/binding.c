/* The C functions of a spec's worlds. A userdata owns a world and closes it when it is collected,
 * unless it was closed before. */
#include "world/binding_impl.h"

#include "base/alloc.h"
#include "base/text.h"
#include "cluster/history.h"
#include "lua/state.h"
#include "value/build.h"
#include "value/doc.h"
#include "value/scan.h"

#include <lauxlib.h>
#include <math.h>
#include <string.h>

static const char meta[] = "perilune.world";

/* ---- arguments and results ---- */

/* Raises the message at the spec's line. */
static void raise_mistake(lua_State *L, const char *message)
{
    lua_getfield(L, LUA_REGISTRYINDEX, "_LOADED");
    lua_getfield(L, -1, "perilune.check");
    lua_getfield(L, -1, "fail");
    lua_pushstring(L, message);
    lua_call(L, 1, 0);
}

struct bound_world *pl_binding_check(lua_State *L)
{
    struct bound_world *bound = luaL_checkudata(L, 1, meta);
    pl_binding_renew(L);
    if (bound->world == NULL)
        raise_mistake(L, "this world was closed at the end of its test");
    bound->L = L;
    if (bound->choose.L != NULL)
        bound->choose.L = L;
    return bound;
}

struct bound_world *pl_binding_check_idle(lua_State *L)
{
    struct bound_world *bound = pl_binding_check(L);
    if (bound->calling > 0)
        raise_mistake(L, "a rule (http, exec, always, simulate) can't move the world or its hosts: "
                         "the call that it answers has not ended; do this in the test, after the "
                         "rule");
    return bound;
}

static int binding_answer(lua_State *L, int rc, const struct pl_err *err)
{
    struct bound_world *bound = lua_touserdata(L, 1);
    pl_binding_renew(L);
    pl_choose_raise(&bound->choose, L);
    if (bound->failure != NULL) { /* an error of a callback comes first */
        lua_pushnil(L);
        lua_pushstring(L, bound->failure);
        pl_free(bound->failure);
        bound->failure = NULL;
        return 2;
    }
    if (rc != 0)
        return pl_lua_fail(L, err);
    lua_pushboolean(L, true);
    return 1;
}

static struct pl_slice binding_text_of(lua_State *L, int index)
{
    size_t len = 0;
    const char *text = lua_tolstring(L, index, &len);
    return pl_slice(text != NULL ? text : "", len);
}

int64_t pl_binding_nanoseconds(lua_State *L, int index)
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
        texts[(*count)++] = pl_text_copy(text);
    }
    return texts;
}

static struct pl_doc *read_json(lua_State *L, int index, struct pl_err *err)
{
    struct pl_scan_options options = {.keep_managed_fields = true};
    luaL_checkstring(L, index);
    return pl_scan_text(binding_text_of(L, index), &options, err);
}

/* ---- opening and closing ---- */

static int open_world(lua_State *L)
{
    struct bound_world *bound = lua_newuserdata(L, sizeof *bound);
    *bound = (struct bound_world){.L = L};
    pl_line_coverage_init(&bound->lines);
    for (int i = 0; i < CALLBACKS; i++)
        bound->callbacks[i] = LUA_NOREF;
    luaL_getmetatable(L, meta);
    lua_setmetatable(L, -2);
    struct pl_world_options options = {.wall_ns = (int64_t)(luaL_checknumber(L, 1) * 1e9),
                                       .seed = (uint64_t)luaL_checknumber(L, 2),
                                       .dog = lua_touserdata(L, lua_upvalueindex(1))};
    pl_binding_listen(bound, &options);
    if (lua_isfunction(L, 3)) {
        pl_choose_init(&bound->choose, L, 3);
        options.chooser = &bound->choose.chooser;
    }
    if (options.seed == 0)
        options.seed = 1;
    if (lua_toboolean(L, 4))
        options.lines = &bound->lines.watch;
    options.first_version = (uint64_t)luaL_optnumber(L, 5, 0);
    options.unshared = lua_toboolean(L, 6);
    bound->world = pl_world_create(&options);
    return 1;
}

static int close_world(lua_State *L)
{
    struct bound_world *bound = luaL_checkudata(L, 1, meta);
    struct pl_world *world = bound->world;
    bound->L = L;
    bound->world = NULL; /* no callbacks from now on */
    if (world != NULL)
        pl_world_destroy(world);
    pl_choose_deinit(&bound->choose);
    pl_recorded_deinit(&bound->recorded);
    pl_line_coverage_deinit(&bound->lines);
    for (int i = 0; i < CALLBACKS; i++) {
        luaL_unref(L, LUA_REGISTRYINDEX, bound->callbacks[i]);
        bound->callbacks[i] = LUA_NOREF;
    }
    pl_free(bound->failure);
    pl_free(bound->last_start);
    bound->failure = bound->last_start = NULL;
    return 0;
}

typedef int (*starting_fn)(struct pl_world *world, const struct pl_replica_options *options,
                           struct pl_err *err);

/* Calls the function with the options that are in the document, and in the text. */
static int with_options(struct pl_world *world, struct pl_doc *doc, const char *text,
                        starting_fn call, struct pl_err *err)
{
    struct pl_node root = pl_doc_root(doc), config = pl_node_getz(root, "config");
    struct pl_node namespaces = pl_node_getz(root, "namespaces");
    struct pl_scratch scratch;
    struct pl_slice name = pl_node_str(pl_node_getz(root, "name"), &scratch);
    char *host = pl_text_copy(name);
    size_t count, ignored;
    double cpu = pl_node_double(pl_node_getz(root, "cpu_limit"));
    double skew = pl_node_double(pl_node_getz(root, "skew"));
    struct pl_replica_options options = {.name = host,
                                         .elects = pl_node_bool(pl_node_getz(root, "elects")),
                                         .cpu_limit_ns = (int64_t)(cpu * 1e9),
                                         .skew_ns = (int64_t)(skew * 1e9),
                                         .text = text};
    char **paths = texts_of(pl_node_getz(root, "paths"), &count);
    char **only = pl_node_is_missing(namespaces) ? NULL : texts_of(namespaces, &ignored);
    options.paths = (const char *const *)paths;
    options.path_count = count;
    options.namespaces = only;
    options.config = pl_node_is_missing(config) ? NULL : pl_doc_from_node(config, NULL);
    int rc = call(world, &options, err);
    pl_doc_unref(options.config);
    pl_texts_free(paths);
    pl_texts_free(only);
    pl_free(host);
    return rc;
}

static int binding_start(lua_State *L)
{
    struct bound_world *bound = pl_binding_check_idle(L);
    struct pl_err err;
    pl_err_clear(&err);
    struct pl_doc *doc = read_json(L, 2, &err);
    if (doc == NULL)
        return pl_lua_fail(L, &err);
    pl_free(bound->last_start);
    bound->last_start = pl_strdup(lua_tostring(L, 2));
    int rc = with_options(bound->world, doc, bound->last_start, pl_world_start, &err);
    pl_doc_unref(doc);
    return binding_answer(L, rc, &err);
}

static int no_error(struct pl_world *world, const struct pl_replica_options *options,
                    struct pl_err *err)
{
    PL_UNUSED(err);
    pl_world_load_ahead(world, options);
    return 0;
}

static int load_ahead(lua_State *L)
{
    struct bound_world *bound = pl_binding_check(L);
    struct pl_err err;
    struct pl_doc *doc = NULL;
    if (bound->last_start != NULL)
        doc = pl_scan_text(pl_slice_z(bound->last_start), NULL, &err);
    if (doc != NULL)
        with_options(bound->world, doc, bound->last_start, no_error, &err);
    pl_doc_unref(doc);
    return 0;
}

typedef int (*host_fn)(struct pl_world *world, const char *name, struct pl_err *err);

static int with_host(lua_State *L, host_fn call)
{
    struct pl_err err;
    pl_err_clear(&err);
    struct bound_world *bound = pl_binding_check_idle(L);
    return binding_answer(L, call(bound->world, luaL_checkstring(L, 2), &err), &err);
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
    lua_pushboolean(L,
                    pl_world_replica(pl_binding_check(L)->world, luaL_checkstring(L, 2)) != NULL);
    return 1;
}

static int reload_host(lua_State *L)
{
    struct bound_world *bound = pl_binding_check_idle(L);
    struct pl_err err;
    pl_err_clear(&err);
    struct pl_doc *doc = read_json(L, 3, &err);
    if (doc == NULL)
        return pl_lua_fail(L, &err);
    size_t count;
    char **paths = texts_of(pl_doc_root(doc), &count);
    int rc = pl_world_reload(bound->world, luaL_checkstring(L, 2), (const char *const *)paths,
                             count, &err);
    pl_texts_free(paths);
    pl_doc_unref(doc);
    return binding_answer(L, rc, &err);
}

/* ---- the server ---- */

/* request(world, method, target, type of the body, body) -> status, body; or nil, message, whether
 * a rule of the spec raised it. */
static int request(lua_State *L)
{
    struct bound_world *bound = pl_binding_check(L);
    struct pl_err err;
    struct pl_world_answer got;
    pl_err_clear(&err);
    int rc = pl_world_request(bound->world, luaL_checkstring(L, 2), luaL_checkstring(L, 3),
                              lua_tostring(L, 4), binding_text_of(L, 5), &got, &err);
    if (rc != 0 || bound->failure != NULL) {
        bool by_rule = bound->failure != NULL;
        pl_buf_deinit(&got.body);
        int results = binding_answer(L, rc, &err);
        lua_pushboolean(L, by_rule);
        return results + 1;
    }
    lua_pushinteger(L, got.status);
    lua_pushlstring(L, pl_buf_z(&got.body), got.body.len);
    pl_buf_deinit(&got.body);
    return 2;
}

static int version(lua_State *L)
{
    lua_pushfstring(L, "%d", (int)pl_world_version(pl_binding_check(L)->world));
    return 1;
}

static int take_seen(lua_State *L)
{
    pl_recorded_push_seen(&pl_binding_check(L)->recorded, L);
    return 1;
}

/* lines(world) -> path -> the numbers of the lines that ran, of a world that was opened to see
 * them. */
static int seen_lines(lua_State *L)
{
    pl_line_coverage_push(&pl_binding_check(L)->lines, L);
    return 1;
}

static int take_runs(lua_State *L)
{
    pl_recorded_push_runs(&pl_binding_check(L)->recorded, L);
    return 1;
}

/* ---- callbacks ---- */

static int set_callback(lua_State *L, enum callback which)
{
    struct bound_world *bound = pl_binding_check(L);
    lua_settop(L, 2);
    luaL_unref(L, LUA_REGISTRYINDEX, bound->callbacks[which]);
    bound->callbacks[which] = LUA_NOREF;
    if (lua_type(L, 2) == LUA_TFUNCTION)
        bound->callbacks[which] = luaL_ref(L, LUA_REGISTRYINDEX);
    return 0;
}

static int set_on_http(lua_State *L)
{
    return set_callback(L, ON_HTTP);
}

static int set_on_exec(lua_State *L)
{
    return set_callback(L, ON_EXEC);
}

static int set_on_stored(lua_State *L)
{
    return set_callback(L, ON_STORED);
}

static void on_alarm(void *arg, int id)
{
    struct bound_world *bound = arg;
    if (bound->world != NULL) {
        lua_rawgeti(bound->L, LUA_REGISTRYINDEX, id);
        pl_binding_call(bound, 0, 0);
    }
    luaL_unref(bound->L, LUA_REGISTRYINDEX, id);
}

static int set_alarm(lua_State *L)
{
    struct bound_world *bound = pl_binding_check(L);
    int64_t delay = pl_binding_nanoseconds(L, 2);
    luaL_checktype(L, 3, LUA_TFUNCTION);
    lua_settop(L, 3);
    pl_alarms_add(pl_world_alarms(bound->world), delay, on_alarm, bound,
                  luaL_ref(L, LUA_REGISTRYINDEX));
    return 0;
}

/* ---- queries about a host ---- */

static struct pl_replica *check_host(lua_State *L, struct bound_world *bound)
{
    struct pl_replica *replica = pl_world_replica(bound->world, luaL_checkstring(L, 2));
    if (replica == NULL)
        raise_mistake(L, lua_pushfstring(L, "no host \"%s\" runs", lua_tostring(L, 2)));
    return replica;
}

static int metrics(lua_State *L)
{
    struct pl_buf page = PL_BUF_INIT;
    pl_metrics_write(pl_replica_metrics(check_host(L, pl_binding_check(L))), &page);
    lua_pushlstring(L, pl_buf_z(&page), page.len);
    pl_buf_deinit(&page);
    return 1;
}

struct telling {
    lua_State *L;
    const char *controller;
    int count;
};

static void binding_tell(void *arg, const struct pl_happened *happened)
{
    struct telling *telling = arg;
    lua_State *L = telling->L;
    lua_createtable(L, 0, 3);
    pl_binding_set_text(L, "controller", telling->controller);
    pl_binding_set_text(L, "what", pl_happening_name(happened->what));
    lua_pushlstring(L, happened->detail.ptr != NULL ? happened->detail.ptr : "",
                    happened->detail.len);
    lua_setfield(L, -2, "detail");
    lua_rawseti(L, -2, ++telling->count);
}

static int why(lua_State *L)
{
    struct bound_world *bound = pl_binding_check(L);
    struct pl_replica *replica = check_host(L, bound);
    struct pl_slice key = binding_text_of(L, 3);
    struct pl_manager *manager = pl_replica_manager(replica);
    lua_newtable(L);
    struct telling telling = {.L = L};
    for (size_t i = 0; i < pl_manager_count(manager); i++) {
        telling.controller = pl_controller_spec(pl_manager_at(manager, i))->name;
        pl_history_each(pl_cluster_history(pl_replica_cluster(replica)),
                        pl_slice_z(telling.controller), key, binding_tell, &telling);
    }
    return 1;
}

static void forget_why_of(void *arg, struct pl_replica *replica)
{
    PL_UNUSED(arg);
    pl_history_clear(pl_cluster_history(pl_replica_cluster(replica)));
}

/* forget_why(world): empties the history, so that `why` shows only later entries. */
static int forget_why(lua_State *L)
{
    pl_world_each_host(pl_binding_check(L)->world, forget_why_of, NULL);
    return 0;
}

static void name_controllers(void *arg, struct pl_replica *replica)
{
    lua_State *L = arg;
    struct pl_manager *manager = pl_replica_manager(replica);
    for (size_t i = 0; i < pl_manager_count(manager); i++) {
        lua_pushboolean(L, true);
        lua_setfield(L, 2, pl_controller_spec(pl_manager_at(manager, i))->name);
    }
}

/* controllers(world, names): adds name -> true for the controllers and tasks of all hosts. */
static int add_controllers(lua_State *L)
{
    struct bound_world *bound = pl_binding_check(L);
    luaL_checktype(L, 2, LUA_TTABLE);
    lua_settop(L, 2);
    pl_world_each_host(bound->world, name_controllers, L);
    return 0;
}

/* ---- time ---- */

/* step(world [, seconds since 1970]): the clock is not moved beyond that time */
static int binding_step(lua_State *L)
{
    struct bound_world *bound = pl_binding_check_idle(L);
    lua_Number end = luaL_optnumber(L, 2, HUGE_VAL);
    bool some =
        pl_world_step(bound->world, end < 9e9 ? (int64_t)(end * (double)PL_SECOND) : INT64_MAX);
    struct pl_err err;
    pl_err_clear(&err);
    pl_choose_raise(&bound->choose, L);
    if (bound->failure != NULL)
        return binding_answer(L, 0, &err);
    lua_pushboolean(L, some);
    return 1;
}

static int binding_settle(lua_State *L)
{
    struct pl_err err;
    pl_err_clear(&err);
    struct bound_world *bound = pl_binding_check_idle(L);
    return binding_answer(L, pl_world_settle(bound->world, pl_binding_nanoseconds(L, 2), &err),
                          &err);
}

static int binding_advance(lua_State *L)
{
    struct pl_err err;
    pl_err_clear(&err);
    struct pl_world *world = pl_binding_check_idle(L)->world;
    int64_t ns = pl_binding_nanoseconds(L, 2);
    return binding_answer(L, pl_world_advance(world, ns, lua_toboolean(L, 3), &err), &err);
}

static int settled(lua_State *L)
{
    struct pl_buf why = PL_BUF_INIT;
    bool is = pl_world_is_settled(pl_binding_check(L)->world, &why);
    lua_pushboolean(L, is);
    lua_pushlstring(L, pl_buf_z(&why), why.len);
    pl_buf_deinit(&why);
    return is ? 1 : 2;
}

static int binding_now(lua_State *L)
{
    int64_t ns = pl_world_now(pl_binding_check(L)->world);
    lua_pushnumber(L, (lua_Number)(ns / PL_SECOND) + (lua_Number)(ns % PL_SECOND) / 1e9);
    return 1;
}

static int actor_status(lua_State *L)
{
    struct pl_buf status = PL_BUF_INIT;
    bool acts = pl_world_actor_status(pl_binding_check(L)->world, luaL_checkstring(L, 2),
                                      luaL_checkstring(L, 3), &status);
    if (acts)
        lua_pushlstring(L, status.ptr, status.len);
    pl_buf_deinit(&status);
    return acts ? 1 : 0;
}

static int binding_newest(lua_State *L)
{
    uint64_t version = pl_world_newest(pl_binding_check(L)->world, luaL_checkstring(L, 2));
    lua_pushnumber(L, (lua_Number)version);
    return 1;
}

static int changed_outside(lua_State *L)
{
    pl_world_changed_outside(pl_binding_check(L)->world);
    return 0;
}

static const luaL_Reg functions[] = {
    {"close", close_world},
    {"start", binding_start},
    {"sync", sync_host},
    {"stop", stop_host},
    {"crash", crash_host},
    {"load_ahead", load_ahead},
    {"reload", reload_host},
    {"runs_host", runs_host},
    {"request", request},
    {"version", version},
    {"seen", take_seen},
    {"runs", take_runs},
    {"lines", seen_lines},
    {"on_http", set_on_http},
    {"on_exec", set_on_exec}, /* commands in Pods */
    {"on_stored", set_on_stored},
    {"alarm", set_alarm},
    {"metrics", metrics},
    {"why", why},
    {"forget_why", forget_why},
    {"controllers", add_controllers},
    {"step", binding_step},
    {"settle", binding_settle},
    {"advance", binding_advance},
    {"settled", settled},
    {"now", binding_now},
    {"actor_status", actor_status},
    {"newest", binding_newest},
    {"changed_outside", changed_outside},
    {NULL, NULL},
};

void pl_world_push(lua_State *L, struct pl_watchdog *dog)
{
    luaL_newmetatable(L, meta);
    lua_pushcfunction(L, close_world);
    lua_setfield(L, -2, "__gc");
    lua_pop(L, 1);
    lua_newtable(L);
    luaL_register(L, NULL, functions);
    pl_binding_add_disturbing(L);
    lua_pushlightuserdata(L, dog);
    lua_pushcclosure(L, open_world, 1);
    lua_setfield(L, -2, "open");
}
