#include "lane/declare.h"

#include "base/alloc.h"
#include "base/check.h"
#include "control/predicate.h"
#include "lane/origin.h"
#include "lane/lazy.h"
#include "lane/lerr.h"
#include "value/path.h"
#include "value/selector.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* What stays in Lua: declared[controller] = {reconcile, maps = {[source] = f},
 * leaves = {[source] = {[leaf] = f}}}, declared.indexes[kind][name] = f; counted from 0. */

/* ---- reading tables, without metamethods ---- */

static void get(lua_State *L, const char *name)
{
    lua_pushstring(L, name);
    lua_rawget(L, -2);
}

static const char *text_of(lua_State *L, const char *name)
{
    get(L, name);
    const char *text = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
    lua_pop(L, 1); /* the table keeps it */
    return text;
}

static char *dup_text(lua_State *L, const char *name)
{
    const char *text = text_of(L, name);
    return text ? pl_strdup(text) : NULL;
}

static double number_of(lua_State *L, const char *name, double otherwise)
{
    get(L, name);
    double value = lua_type(L, -1) == LUA_TNUMBER ? lua_tonumber(L, -1) : otherwise;
    lua_pop(L, 1);
    return value;
}

static int64_t nanoseconds(lua_State *L, const char *name)
{
    double seconds = number_of(L, name, 0);
    return seconds > 9e9 ? INT64_MAX / 2 : (int64_t)(seconds * (double)PL_SECOND);
}

static int integer_of(lua_State *L, const char *name, int otherwise)
{
    double value = number_of(L, name, otherwise);
    return value > 1e9 ? 1000000000 : value < -1e9 ? -1000000000 : (int)value;
}

static bool flag_of(lua_State *L, const char *name, bool otherwise)
{
    get(L, name);
    bool value = lua_isnil(L, -1) ? otherwise : lua_toboolean(L, -1);
    lua_pop(L, 1);
    return value;
}

static char **texts_of(lua_State *L, const char *name)
{
    get(L, name);
    if (lua_type(L, -1) != LUA_TTABLE) {
        lua_pop(L, 1);
        return NULL;
    }
    int count = (int)lua_objlen(L, -1), kept = 0;
    char **texts = pl_calloc((size_t)count + 1, sizeof *texts);
    for (int i = 1; i <= count; i++) {
        lua_rawgeti(L, -1, i);
        if (lua_type(L, -1) == LUA_TSTRING)
            texts[kept++] = pl_strdup(lua_tostring(L, -1));
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return texts;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort_unique(char **texts)
{
    size_t count = 0, kept = 0;
    while (texts != NULL && texts[count] != NULL)
        count++;
    if (count == 0)
        return;
    qsort(texts, count, sizeof *texts, compare_texts);
    for (size_t i = 0; i < count; i++) {
        if (kept > 0 && strcmp(texts[kept - 1], texts[i]) == 0)
            pl_free(texts[i]);
        else
            texts[kept++] = texts[i];
    }
    texts[kept] = NULL;
}

/* ---- predicates ---- */

struct reading {
    lua_State *L;
    int leaves; /* index of the table leaf -> function */
    int count;  /* leaves so far */
    struct pl_err *err;
};

static struct pl_predicate *read_predicate(struct reading *r, int depth);

/* The function at the top, which is popped. */
static struct pl_predicate *read_leaf(struct reading *r)
{
    lua_rawseti(r->L, r->leaves, r->count);
    return pl_predicate_external(r->count++);
}

static struct pl_predicate *read_parts(struct reading *r, bool all, int depth)
{
    lua_State *L = r->L;
    get(L, "of");
    size_t count = lua_type(L, -1) == LUA_TTABLE ? lua_objlen(L, -1) : 0, made = 0;
    struct pl_predicate **parts = pl_calloc(count + 1, sizeof(struct pl_predicate *));
    for (; made < count; made++) {
        lua_rawgeti(L, -1, (int)made + 1);
        parts[made] = read_predicate(r, depth + 1);
        lua_pop(L, 1);
        if (parts[made] == NULL)
            break;
    }
    struct pl_predicate *result = NULL;
    if (made == count) {
        result =
            all ? pl_predicate_all(parts, count, r->err) : pl_predicate_any(parts, count, r->err);
    } else {
        for (size_t i = 0; i < made; i++)
            pl_predicate_destroy(parts[i]);
    }
    pl_free(parts);
    lua_pop(L, 1);
    return result;
}

static struct pl_predicate *read_none(struct reading *r, int depth)
{
    get(r->L, "of");
    struct pl_predicate *part = read_predicate(r, depth + 1);
    lua_pop(r->L, 1);
    return part ? pl_predicate_none(&part, 1, r->err) : NULL;
}

static struct pl_predicate *read_funcs(struct reading *r)
{
    static const char *const names[PL_EVENT_TYPES] = {
        [PL_EVENT_CREATE] = "create",
        [PL_EVENT_UPDATE] = "update",
        [PL_EVENT_DELETE] = "delete",
        [PL_EVENT_GENERIC] = "generic",
    };
    struct pl_predicate *parts[PL_EVENT_TYPES] = {NULL};
    for (size_t i = 0; i < PL_EVENT_TYPES; i++) {
        get(r->L, names[i]);
        if (lua_isfunction(r->L, -1))
            parts[i] = read_leaf(r);
        else
            lua_pop(r->L, 1);
    }
    return pl_predicate_funcs(parts, r->err);
}

static struct pl_predicate *read_fields_changed(struct reading *r)
{
    char **paths = texts_of(r->L, "paths");
    size_t count = 0;
    while (paths != NULL && paths[count] != NULL)
        count++;
    struct pl_predicate *result =
        pl_predicate_fields_changed((const char *const *)paths, count, r->err);
    for (size_t i = 0; i < count; i++)
        pl_free(paths[i]);
    pl_free(paths);
    return result;
}

static struct pl_predicate *read_selector(struct reading *r)
{
    struct pl_selector *selector = pl_selector_parse(pl_slice_z(text_of(r->L, "selector")), r->err);
    return selector ? pl_predicate_label_selector(selector) : NULL;
}

/* The predicate at the top, which stays. NULL and err for what is none. */
static struct pl_predicate *read_predicate(struct reading *r, int depth)
{
    lua_State *L = r->L;
    if (lua_type(L, -1) != LUA_TTABLE || depth > PL_PREDICATE_DEPTH || !lua_checkstack(L, 8)) {
        pl_err_set(r->err, PL_EINVAL, "predicates are nested too deeply");
        return NULL;
    }
    struct pl_slice type = pl_slice_z(text_of(L, "type"));
    if (pl_slice_eqz(type, "generation_changed"))
        return pl_predicate_generation_changed();
    if (pl_slice_eqz(type, "resource_version_changed"))
        return pl_predicate_resource_version_changed();
    if (pl_slice_eqz(type, "label_changed"))
        return pl_predicate_label_changed();
    if (pl_slice_eqz(type, "annotation_changed"))
        return pl_predicate_annotation_changed();
    if (pl_slice_eqz(type, "finalizers_changed"))
        return pl_predicate_finalizers_changed();
    if (pl_slice_eqz(type, "label_selector"))
        return read_selector(r);
    if (pl_slice_eqz(type, "fields_changed"))
        return read_fields_changed(r);
    if (pl_slice_eqz(type, "all") || pl_slice_eqz(type, "any"))
        return read_parts(r, pl_slice_eqz(type, "all"), depth);
    if (pl_slice_eqz(type, "none"))
        return read_none(r, depth);
    if (pl_slice_eqz(type, "funcs"))
        return read_funcs(r);
    if (pl_slice_eqz(type, "script")) {
        get(L, "f");
        return read_leaf(r);
    }
    pl_err_set(r->err, PL_EINVAL, "%.*s is no predicate", PL_FMT(type));
    return NULL;
}

/* ---- sources ---- */

static enum pl_source_role role_of(const char *text)
{
    if (text != NULL && strcmp(text, "for") == 0)
        return PL_SOURCE_FOR;
    if (text != NULL && strcmp(text, "owns") == 0)
        return PL_SOURCE_OWNS;
    return text != NULL && strcmp(text, "watches") == 0 ? PL_SOURCE_WATCHES : PL_SOURCE_READS;
}

/* -- declared[controller], source */
static int read_source_predicate(lua_State *L, int functions, int index,
                                 struct pl_source_spec *source, struct pl_err *err)
{
    get(L, "predicate");
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
    struct reading reading = {.L = L, .leaves = lua_gettop(L) - 1, .err = err};
    source->predicate = read_predicate(&reading, 0);
    lua_pop(L, 2);
    return source->predicate == NULL ? PL_EINVAL : 0;
}

static void read_map(lua_State *L, int functions, int index, struct pl_source_spec *source)
{
    source->map_by = source->role == PL_SOURCE_OWNS ? PL_MAP_OWNER : PL_MAP_SELF;
    get(L, "map");
    if (lua_isfunction(L, -1)) {
        source->map_by = PL_MAP_EXTERNAL;
        lua_pushliteral(L, "maps");
        lua_rawget(L, functions);
        lua_pushvalue(L, -2);
        lua_rawseti(L, -2, index);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

/* The source at the top. */
static int read_source(lua_State *L, int functions, int index, struct pl_source_spec *source,
                       struct pl_err *err)
{
    source->role = role_of(text_of(L, "role"));
    int failed = pl_kind_parse(pl_slice_z(text_of(L, "kind")), &source->kind, err);
    source->options.namespaces = texts_of(L, "namespaces");
    sort_unique(source->options.namespaces);
    source->options.labels = dup_text(L, "labels");
    source->options.fields = dup_text(L, "fields");
    source->options.metadata_only = flag_of(L, "metadata_only", false);
    source->options.managed_fields = flag_of(L, "managed_fields", false);
    source->match_every_owner = flag_of(L, "match_every_owner", false);
    source->writes = texts_of(L, "writes");
    source->finalizers = texts_of(L, "finalizers");
    read_map(L, functions, index, source);
    return failed ? failed : read_source_predicate(L, functions, index, source, err);
}

static int read_sources(lua_State *L, int functions, struct pl_controller_spec *spec,
                        struct pl_err *err)
{
    get(L, "sources");
    size_t count = lua_type(L, -1) == LUA_TTABLE ? lua_objlen(L, -1) : 0;
    spec->sources = pl_calloc(count + 1, sizeof *spec->sources);
    int failed = 0;
    for (size_t i = 0; i < count && failed == 0; i++) {
        spec->source_count = i + 1; /* so that what was read is freed */
        lua_rawgeti(L, -1, (int)i + 1);
        failed = read_source(L, functions, (int)i, &spec->sources[i], err);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return failed;
}

static int read_writes(lua_State *L, struct pl_controller_spec *spec, struct pl_err *err)
{
    get(L, "writes");
    size_t count = lua_type(L, -1) == LUA_TTABLE ? lua_objlen(L, -1) : 0;
    spec->writes = pl_calloc(count + 1, sizeof *spec->writes);
    int failed = 0;
    for (size_t i = 0; i < count && failed == 0; i++) {
        spec->write_count = i + 1;
        lua_rawgeti(L, -1, (int)i + 1);
        failed = pl_kind_parse(pl_slice_z(text_of(L, "kind")), &spec->writes[i].kind, err);
        spec->writes[i].verbs = texts_of(L, "verbs");
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return failed;
}

static void read_rate(lua_State *L, struct pl_controller_spec *spec)
{
    get(L, "rate_limiter");
    if (lua_type(L, -1) == LUA_TTABLE) {
        spec->rate.base_ns = nanoseconds(L, "base");
        spec->rate.max_ns = nanoseconds(L, "max");
        spec->rate.fast_ns = nanoseconds(L, "fast");
        spec->rate.slow_ns = nanoseconds(L, "slow");
        spec->rate.fast_attempts = integer_of(L, "fast_attempts", 0);
        spec->rate.qps = number_of(L, "qps", 0);
        spec->rate.burst = integer_of(L, "burst", 0);
        spec->rate.max_wait_ns = nanoseconds(L, "max_wait");
    }
    lua_pop(L, 1);
}

static void read_task(lua_State *L, struct pl_controller_spec *spec)
{
    get(L, "task");
    if (lua_type(L, -1) == LUA_TTABLE) {
        const char *form = text_of(L, "form");
        bool is_every = form != NULL && strcmp(form, "every") == 0;
        spec->task = (struct pl_task_spec){.form = is_every ? PL_TASK_EVERY : PL_TASK_RUN,
                                           .period_ns = nanoseconds(L, "period"),
                                           .immediate = flag_of(L, "immediate", false)};
    }
    lua_pop(L, 1);
}

/* The spec's table at the top; its functions go to the table at `functions`. */
static int read_spec(lua_State *L, int functions, struct pl_controller_spec *spec,
                     struct pl_err *err)
{
    spec->name = dup_text(L, "name");
    const char *file = text_of(L, "file");
    spec->declared_at = pl_format("%s:%d", file ? file : "?", integer_of(L, "line", 0));
    spec->max_concurrent = integer_of(L, "max_concurrent_reconciles", 1);
    spec->reconcile_timeout_ns = nanoseconds(L, "reconcile_timeout");
    read_rate(L, spec);
    spec->max_retries = integer_of(L, "max_retries", -1);
    spec->resync_period_ns = nanoseconds(L, "resync_period");
    spec->leader_election = flag_of(L, "leader_election", true);
    spec->channels = texts_of(L, "channels");
    read_task(L, spec);
    const char *on_reload = text_of(L, "on_reload");
    spec->on_reload_enqueue = on_reload == NULL || strcmp(on_reload, "none") != 0;
    spec->cache_sync_timeout_ns = nanoseconds(L, "cache_sync_timeout");
    int failed = read_sources(L, functions, spec, err);
    if (failed == 0)
        failed = read_writes(L, spec, err);
    if (failed == 0)
        failed = pl_controller_spec_check(spec, err);
    return failed;
}

/* ---- host.controller, host.index ---- */

/* Which scripts the declaration is in: the innermost one and those that it was called by, up to the
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

/* Replaces the table at the top by a member of it, nil when it is no table. */
static void step(lua_State *L, const char *name)
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
    step(L, "reconcile");
}

void pl_declare_push_map(lua_State *L, struct pl_state *s, int controller, int source)
{
    push_controller(L, s, controller);
    step(L, "maps");
    step_to(L, source);
}

void pl_declare_push_leaf(lua_State *L, struct pl_state *s, int controller, int source, int leaf)
{
    push_controller(L, s, controller);
    step(L, "leaves");
    step_to(L, source);
    step_to(L, leaf);
}

void pl_declare_push_indexes(lua_State *L, struct pl_state *s, const char *kind)
{
    pl_ref_push(L, s->refs.declared);
    step(L, "indexes");
    step(L, kind);
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
