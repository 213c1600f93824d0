/* Reads the declarations of scripts from Lua tables into the core's specs. Functions stay in Lua
 * and are identified by numbers. Tables are read without metamethods. Perilune's own Lua has
 * checked the values before; a wrong one here is clamped, never trusted. */
#include "lane/declare_impl.h"

#include "base/alloc.h"
#include "lane/hook.h"
#include "lua/origin.h"
#include "lua/lerr.h"
#include "lua/member.h"

/* The data in Lua: declared[controller] = {reconcile, maps = {[source] = f}, leaves = {[source] =
 * {[leaf] = f}}, blame = {[source] = f, reconcile = f}}, declared.indexes[kind][name] = f; counted
 * from 0. */

/* ---- reading tables, without metamethods ---- */

static char *dup_text(lua_State *L, const char *name)
{
    const char *text = pl_declare_text(L, name);
    return text ? pl_strdup(text) : NULL;
}

static double declare_number_of(lua_State *L, const char *name, double otherwise)
{
    pl_declare_get(L, name);
    double value = lua_type(L, -1) == LUA_TNUMBER ? lua_tonumber(L, -1) : otherwise;
    lua_pop(L, 1);
    return value;
}

static int64_t nanoseconds(lua_State *L, const char *name)
{
    double seconds = declare_number_of(L, name, 0);
    return pl_clamp(seconds * (double)PL_SECOND, -1, INT64_MAX / 2);
}

static int integer_of(lua_State *L, const char *name, int otherwise)
{
    return (int)pl_clamp(declare_number_of(L, name, otherwise), -1000000000, 1000000000);
}

static bool flag_of(lua_State *L, const char *name, bool otherwise)
{
    pl_declare_get(L, name);
    bool value = lua_isnil(L, -1) ? otherwise : lua_toboolean(L, -1);
    lua_pop(L, 1);
    return value;
}

/* ---- sources ---- */

static enum pl_source_role role_of(const char *text)
{
    enum pl_source_role role = PL_SOURCE_FOR;
    while (role != PL_SOURCE_READS &&
           (text == NULL || strcmp(text, pl_source_role_name(role)) != 0))
        role++;
    return role;
}

/* -- declared[controller], source */
static int read_source_predicate(lua_State *L, int functions, int index,
                                 struct pl_source_spec *source, struct pl_err *err)
{
    pl_declare_get(L, "predicate");
    if (lua_isnil(L, -1)) {
        lua_pop(L, 1);
        return 0;
    }
    lua_pushliteral(L, "leaves");
    lua_rawget(L, functions);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_rawseti(L, -3, index); /* -- source, predicate, leaves, own leaves */
    lua_insert(L, -3);
    lua_pop(L, 1); /* -- source, own leaves, predicate */
    source->predicate = pl_declare_predicate(L, lua_gettop(L) - 1, err);
    lua_pop(L, 2);
    return source->predicate == NULL ? PL_EINVAL : 0;
}

/* Stores the function at the top, which stays: functions.name[index]. */
static void keep_function(lua_State *L, int functions, const char *name, int index)
{
    lua_pushstring(L, name);
    lua_rawget(L, functions);
    lua_pushvalue(L, -2);
    lua_rawseti(L, -2, index);
    lua_pop(L, 1);
}

static void read_map(lua_State *L, int functions, int index, struct pl_source_spec *source)
{
    source->map_by = source->role == PL_SOURCE_OWNS ? PL_MAP_OWNER : PL_MAP_SELF;
    pl_declare_get(L, "map");
    if (lua_isfunction(L, -1)) {
        source->map_by = PL_MAP_EXTERNAL;
        keep_function(L, functions, "maps", index);
    }
    lua_pop(L, 1);
    pl_declare_get(L, "blame");
    keep_function(L, functions, "blame", index);
    lua_pop(L, 1);
}

/* Pushes the element of the array at the top; EINVAL when it is not a table. */
static int step_into(lua_State *L, size_t i, const char *what, struct pl_err *err)
{
    lua_rawgeti(L, -1, (int)i + 1);
    if (lua_type(L, -1) == LUA_TTABLE)
        return 0;
    return pl_err_set(err, PL_EINVAL, "%s must be a table, not a %s", what, luaL_typename(L, -1));
}

/* "*": any. */
static int read_kind(struct pl_slice text, struct pl_kind *kind, struct pl_err *err)
{
    if (!pl_slice_eqz(text, "*"))
        return pl_kind_parse(text, kind, err);
    pl_kind_set_any(kind);
    return 0;
}

/* The source at the top. */
static int read_source(lua_State *L, int functions, int index, struct pl_source_spec *source,
                       struct pl_err *err)
{
    source->role = role_of(pl_declare_text(L, "role"));
    int failed = read_kind(pl_slice_z(pl_declare_text(L, "kind")), &source->kind, err);
    char **namespaces = pl_declare_texts(L, "namespaces");
    source->options.namespaces = pl_texts_sorted(namespaces);
    pl_texts_free(namespaces);
    source->options.labels = dup_text(L, "labels");
    source->options.fields = dup_text(L, "fields");
    source->options.metadata_only = flag_of(L, "metadata_only", false);
    source->options.managed_fields = flag_of(L, "managed_fields", false);
    source->options.shared = flag_of(L, "shared", false);
    source->cluster_name = dup_text(L, "cluster");
    source->match_every_owner = flag_of(L, "match_every_owner", false);
    source->writes = pl_declare_texts(L, "writes");
    source->finalizers = pl_declare_texts(L, "finalizers");
    read_map(L, functions, index, source);
    return failed ? failed : read_source_predicate(L, functions, index, source, err);
}

static int read_sources(lua_State *L, int functions, struct pl_controller_spec *spec,
                        struct pl_err *err)
{
    pl_declare_get(L, "sources");
    size_t count = lua_type(L, -1) == LUA_TTABLE ? lua_objlen(L, -1) : 0;
    spec->sources = pl_calloc(count + 1, sizeof *spec->sources);
    int failed = 0;
    for (size_t i = 0; i < count && failed == 0; i++) {
        spec->source_count = i + 1; /* so that the read part is freed */
        failed = step_into(L, i, "a source", err);
        if (failed == 0)
            failed = read_source(L, functions, (int)i, &spec->sources[i], err);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return failed;
}

static int read_writes(lua_State *L, struct pl_controller_spec *spec, struct pl_err *err)
{
    pl_declare_get(L, "writes");
    size_t count = lua_type(L, -1) == LUA_TTABLE ? lua_objlen(L, -1) : 0;
    spec->writes = pl_calloc(count + 1, sizeof *spec->writes);
    int failed = 0;
    for (size_t i = 0; i < count && failed == 0; i++) {
        spec->write_count = i + 1;
        failed = step_into(L, i, "a kind that is written", err);
        if (failed == 0) {
            failed = read_kind(pl_slice_z(pl_declare_text(L, "kind")), &spec->writes[i].kind, err);
            spec->writes[i].verbs = pl_declare_texts(L, "verbs");
        }
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return failed;
}

static void read_rate(lua_State *L, struct pl_controller_spec *spec)
{
    pl_declare_get(L, "rate_limiter");
    if (lua_type(L, -1) == LUA_TTABLE) {
        spec->rate.base_ns = nanoseconds(L, "base");
        spec->rate.max_ns = nanoseconds(L, "max");
        spec->rate.fast_ns = nanoseconds(L, "fast");
        spec->rate.slow_ns = nanoseconds(L, "slow");
        spec->rate.fast_attempts = integer_of(L, "fast_attempts", 0);
        spec->rate.qps = declare_number_of(L, "qps", 0);
        spec->rate.burst = integer_of(L, "burst", 0);
        spec->rate.max_wait_ns = nanoseconds(L, "max_wait");
    }
    lua_pop(L, 1);
}

static void read_task(lua_State *L, struct pl_controller_spec *spec)
{
    pl_declare_get(L, "task");
    if (lua_type(L, -1) == LUA_TTABLE) {
        const char *form = pl_declare_text(L, "form");
        bool is_every = form != NULL && strcmp(form, "every") == 0;
        spec->task = (struct pl_task_spec){.form = is_every ? PL_TASK_EVERY : PL_TASK_RUN,
                                           .period_ns = nanoseconds(L, "period"),
                                           .immediate = flag_of(L, "immediate", false),
                                           .when_changed = flag_of(L, "when_changed", false)};
        spec->schedule = dup_text(L, "schedule");
    }
    lua_pop(L, 1);
}

/* Reads the spec's table at the top; its functions go to the table at `functions`. */
static int read_spec(lua_State *L, int functions, struct pl_controller_spec *spec,
                     struct pl_err *err)
{
    spec->name = dup_text(L, "name");
    const char *file = pl_declare_text(L, "file");
    spec->declared_at = pl_format("%s:%d", file ? file : "?", integer_of(L, "line", 0));
    spec->max_concurrent = integer_of(L, "max_concurrent_reconciles", 1);
    spec->reconcile_timeout_ns = nanoseconds(L, "reconcile_timeout");
    read_rate(L, spec);
    spec->max_retries = integer_of(L, "max_retries", -1);
    spec->resync_period_ns = nanoseconds(L, "resync_period");
    spec->leader_election = flag_of(L, "leader_election", true);
    spec->channels = pl_declare_texts(L, "channels");
    read_task(L, spec);
    pl_hook_read_spec(L, spec);
    const char *on_reload = pl_declare_text(L, "on_reload");
    spec->on_reload_enqueue = on_reload == NULL || strcmp(on_reload, "none") != 0;
    spec->cache_sync_timeout_ns = nanoseconds(L, "cache_sync_timeout");
    int failed = read_sources(L, functions, spec, err);
    if (failed == 0)
        failed = read_writes(L, spec, err);
    if (failed == 0)
        failed = pl_controller_spec_check(spec, err);
    return failed;
}

/* ---- host.controller, host.index, host.cluster ---- */

/* Notes the scripts that contain the declaration: the innermost one and its callers, up to the
 * chunk that is being loaded. */
static void note_unit(lua_State *L, struct pl_state *s, const char *prefix, const char *a,
                      const char *b)
{
    lua_Debug ar;
    if (s->origin == NULL)
        return;
    char *unit = pl_format("%s%s%s", prefix, a, b);
    for (int level = 0; lua_getstack(L, level, &ar); level++) {
        lua_getinfo(L, "S", &ar);
        if (*ar.source != '@')
            continue;
        pl_origin_add_unit(s->origin, unit, ar.source + 1);
        if (strcmp(ar.what, "main") == 0)
            break;
    }
    pl_free(unit);
}

static struct pl_declared *check_loading(lua_State *L, struct pl_state *s, const char *what)
{
    if (s->phase != PL_PHASE_LOAD || s->declared->sealed)
        pl_lerr_raise(L, s, "%s can only be called while the script is loaded", what);
    return s->declared;
}

/* Pushes declared[controller], made from the spec's table at index 1. */
static void push_functions(lua_State *L, struct pl_state *s, size_t controller)
{
    pl_ref_push(L, s->refs.declared);
    lua_newtable(L);
    lua_pushliteral(L, "reconcile");
    lua_rawget(L, 1);
    lua_setfield(L, -2, "reconcile");
    lua_newtable(L);
    lua_setfield(L, -2, "maps");
    lua_newtable(L);
    lua_setfield(L, -2, "leaves");
    lua_newtable(L);
    lua_pushliteral(L, "blame");
    lua_rawget(L, 1);
    lua_setfield(L, -2, "reconcile");
    lua_setfield(L, -2, "blame");
    lua_pushvalue(L, -1);
    lua_rawseti(L, -3, (int)controller);
    lua_remove(L, -2);
}

int pl_declare_controller(lua_State *L)
{
    struct pl_state *s = pl_state_of(L);
    struct pl_declarations *all = &check_loading(L, s, "host.controller")->content;
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    luaL_checkstack(L, 20, NULL);
    push_functions(L, s, all->controller_count);
    lua_pushvalue(L, 1); /* -- spec, functions, spec */
    all->controllers =
        pl_reallocarray(all->controllers, all->controller_count + 1, sizeof *all->controllers);
    struct pl_controller_spec *spec = &all->controllers[all->controller_count];
    memset(spec, 0, sizeof *spec);
    struct pl_err err;
    pl_err_clear(&err);
    if (read_spec(L, 2, spec, &err) != 0) {
        pl_controller_spec_deinit(spec);
        lua_pushstring(L, err.message);
        return lua_error(L);
    }
    all->controller_count++;
    note_unit(L, s, PL_UNIT_CONTROLLER, spec->name, "");
    return 0;
}

int pl_declare_cluster(lua_State *L)
{
    struct pl_state *s = pl_state_of(L);
    struct pl_declarations *all = &check_loading(L, s, "perilune.cluster")->content;
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    luaL_checkstack(L, 20, NULL);
    if (pl_declare_text(L, "name") == NULL)
        return pl_lerr_raise(L, s, "perilune.cluster: it has no name");
    all->clusters = pl_reallocarray(all->clusters, all->cluster_count + 1, sizeof *all->clusters);
    all->clusters[all->cluster_count++] =
        (struct pl_remote_spec){.name = dup_text(L, "name"),
                                .kubeconfig = dup_text(L, "kubeconfig"),
                                .context = dup_text(L, "context"),
                                .secret_ns = dup_text(L, "secret_namespace"),
                                .secret_name = dup_text(L, "secret_name"),
                                .secret_key = dup_text(L, "secret_key")};
    return 0;
}

static void keep_index_function(lua_State *L, struct pl_state *s, const char *kind)
{
    /* -- kind, name, function */
    pl_ref_push(L, s->refs.declared);
    lua_getfield(L, -1, "indexes");
    lua_getfield(L, -1, kind);
    if (lua_isnil(L, -1)) {
        lua_pop(L, 1);
        lua_newtable(L);
        lua_pushvalue(L, -1);
        lua_setfield(L, -3, kind);
    }
    lua_pushvalue(L, 2);
    lua_pushvalue(L, 3);
    lua_rawset(L, -3);
    lua_pop(L, 3);
}

int pl_declare_index(lua_State *L)
{
    struct pl_state *s = pl_state_of(L);
    struct pl_declarations *all = &check_loading(L, s, "perilune.index")->content;
    const char *kind_text = luaL_checkstring(L, 1), *name = luaL_checkstring(L, 2);
    bool by_path = lua_type(L, 3) == LUA_TSTRING;
    lua_settop(L, 3);
    if (!by_path)
        luaL_checktype(L, 3, LUA_TFUNCTION);
    struct pl_err err;
    pl_err_clear(&err);
    struct pl_index_spec index = {.name = NULL};
    if (pl_kind_parse(pl_slice_z(kind_text), &index.kind, &err) != 0)
        return pl_lerr_raise(L, s, "%s", err.message);
    for (size_t i = 0; i < all->index_count; i++) {
        if (strcmp(all->indexes[i].name, name) == 0 &&
            pl_kind_eq(&all->indexes[i].kind, &index.kind))
            return pl_lerr_raise(L, s, "index \"%s\" of %s is declared twice; first at %s", name,
                                 kind_text, all->indexes[i].declared_at);
    }
    if (!by_path)
        keep_index_function(L, s, kind_text);
    lua_Debug ar;
    bool known = pl_lerr_where(L, s, 0, &ar);
    index.name = pl_strdup(name);
    index.path = by_path ? pl_strdup(lua_tostring(L, 3)) : NULL;
    index.declared_at =
        known ? pl_format("%s:%d", pl_lerr_chunk(&ar), ar.currentline) : pl_strdup("?");
    all->indexes = pl_reallocarray(all->indexes, all->index_count + 1, sizeof *all->indexes);
    all->indexes[all->index_count++] = index;
    lua_pushfstring(L, " %s", name);
    note_unit(L, s, PL_UNIT_INDEX, kind_text, lua_tostring(L, -1));
    return 0;
}

/* ---- the functions ---- */

static void push_controller(lua_State *L, struct pl_state *s, int controller)
{
    pl_ref_push(L, s->refs.declared);
    lua_rawgeti(L, -1, controller);
    lua_remove(L, -2);
}

/* Replaces the table at the top by one of its members; nil when it is not a table. */
static void declare_step(lua_State *L, const char *name)
{
    if (lua_type(L, -1) == LUA_TTABLE)
        lua_getfield(L, -1, name);
    else
        lua_pushnil(L);
    lua_remove(L, -2);
}

static void step_to(lua_State *L, int index)
{
    if (lua_type(L, -1) == LUA_TTABLE)
        lua_rawgeti(L, -1, index);
    else
        lua_pushnil(L);
    lua_remove(L, -2);
}

void pl_declare_push_reconcile(lua_State *L, struct pl_state *s, int controller)
{
    push_controller(L, s, controller);
    declare_step(L, "reconcile");
}

void pl_declare_push_map(lua_State *L, struct pl_state *s, int controller, int source)
{
    push_controller(L, s, controller);
    declare_step(L, "maps");
    step_to(L, source);
}

void pl_declare_push_blamed(lua_State *L, struct pl_state *s, int controller, int source)
{
    push_controller(L, s, controller);
    declare_step(L, "blame");
    if (source < 0)
        declare_step(L, "reconcile");
    else
        step_to(L, source);
}

void pl_declare_push_leaf(lua_State *L, struct pl_state *s, int controller, int source, int leaf)
{
    push_controller(L, s, controller);
    declare_step(L, "leaves");
    step_to(L, source);
    step_to(L, leaf);
}

void pl_declare_push_indexes(lua_State *L, struct pl_state *s, const char *kind)
{
    pl_ref_push(L, s->refs.declared);
    declare_step(L, "indexes");
    declare_step(L, kind);
}

const char *pl_declare_where(struct pl_state *s, int controller)
{
    const struct pl_declared *declared = s->declared;
    if (controller < 0 || (size_t)controller >= declared->place_count)
        return "?";
    return declared->places[controller];
}

void pl_declare_open(struct pl_state *s)
{
    s->declared = PL_NEW(struct pl_declared);
    lua_newtable(s->L);
    lua_newtable(s->L);
    lua_setfield(s->L, -2, "indexes");
    s->refs.declared = luaL_ref(s->L, LUA_REGISTRYINDEX);
    lua_pushboolean(s->L, false);
    s->refs.blamed = luaL_ref(s->L, LUA_REGISTRYINDEX);
}

void pl_declare_seal(struct pl_state *s)
{
    struct pl_declared *declared = s->declared;
    declared->sealed = true;
    declared->place_count = declared->content.controller_count;
    declared->places = pl_calloc(declared->place_count + 1, sizeof *declared->places);
    for (size_t i = 0; i < declared->place_count; i++)
        declared->places[i] = pl_strdup(declared->content.controllers[i].declared_at);
}

void pl_declare_close(struct pl_state *s)
{
    struct pl_declared *declared = s->declared;
    if (declared == NULL)
        return;
    pl_declarations_deinit(&declared->content);
    for (size_t i = 0; i < declared->place_count; i++)
        pl_free(declared->places[i]);
    pl_free(declared->places);
    pl_free(declared);
}
