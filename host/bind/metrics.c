/* host.metric*: metrics that scripts declare. The host's registry outlives every state, so the same
 * declaration in other lanes and later generations gives the same metric. */
#include "base/alloc.h"
#include "base/metrics_declare.h"
#include "base/utf8.h"
#include "bind/list.h"
#include "lane/exec_memo.h"
#include "lane/co.h"
#include "lane/lane.h"
#include "lua/lerr.h"

#include <math.h>
#include <string.h>

#define VALUE_MAX 256 /* limit of a label's value in bytes; the rest is cut off */

static const char handle_name[] = "perilune.metric";

/* The Lua value of a metric: a userdata, since a bare address would have to be trusted. */
struct handle {
    struct pl_metric *metric; /* the registry owns it and outlives the state */
    enum pl_metric_type type;
    int label_count;
};

static const double bounds[] = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10};

/* Prefixes of the core's own metrics. */
static const char reserved[][20] = {"perilune_",    "controller_runtime_", "workqueue_",
                                    "rest_client_", "leader_election_",    "process_"};

static int metrics_check_name(const char *name, struct pl_err *err)
{
    for (size_t i = 0; i < PL_ARRAY_LEN(reserved); i++)
        if (strncmp(name, reserved[i], strlen(reserved[i])) == 0)
            return pl_err_set(err, PL_EINVAL,
                              "names that begin with \"%s\" are the host's own; choose another one",
                              reserved[i]);
    return 0;
}

/* The array of strings at index into the spec's labels; they stay on its table. */
static int take_labels(lua_State *L, int index, struct pl_metric_spec *spec, struct pl_err *err)
{
    size_t count = lua_objlen(L, index);
    if (count > PL_METRIC_LABELS)
        return pl_err_set(err, PL_ELIMIT, "a metric has at most %d labels", PL_METRIC_LABELS);
    for (size_t i = 0; i < count; i++) {
        lua_rawgeti(L, index, (int)i + 1);
        bool is_text =
            lua_type(L, -1) == LUA_TSTRING; /* the text of a number would not stay alive */
        spec->labels[i] = is_text ? lua_tostring(L, -1) : NULL;
        lua_pop(L, 1);
        if (!is_text)
            return pl_err_set(err, PL_EINVAL, "the names of labels must be strings");
    }
    return 0;
}

static void push_handle(lua_State *L, const struct pl_metric_spec *spec, struct pl_metric *metric)
{
    struct handle *handle = lua_newuserdata(L, sizeof *handle);
    *handle = (struct handle){.metric = metric, .type = spec->type};
    while (handle->label_count < PL_METRIC_LABELS && spec->labels[handle->label_count] != NULL)
        handle->label_count++;
    if (luaL_newmetatable(L, handle_name)) {
        lua_pushstring(L, handle_name);
        lua_setfield(L, -2, "__metatable");
    }
    lua_setmetatable(L, -2);
}

/* metric(type, name, help, labels) -> metric | nil, message */
static int declare(lua_State *L)
{
    static const char *const types[] = {"counter", "gauge", "histogram", NULL};
    struct pl_state *s = pl_state_of(L);
    if (s->lane != NULL && s->lane->lanes->options.dialog != NULL)
        return pl_lerr_raise(L, s, "nothing can be changed here: only reads are allowed");
    struct pl_metric_spec spec = {
        .type = (enum pl_metric_type)luaL_checkoption(L, 1, NULL, types),
        .name = luaL_checkstring(L, 2),
        .help = luaL_checkstring(L, 3),
        .bounds = bounds,
    };
    luaL_checktype(L, 4, LUA_TTABLE);
    spec.bound_count = spec.type == PL_METRIC_HISTOGRAM ? PL_ARRAY_LEN(bounds) : 0;
    struct pl_err err;
    pl_err_clear(&err);
    struct pl_metric *metric = NULL;
    if (s->metrics == NULL)
        pl_err_set(&err, PL_EUNSUPPORTED, "there is no registry in this process");
    else if (metrics_check_name(spec.name, &err) == 0 && take_labels(L, 4, &spec, &err) == 0)
        metric = pl_metrics_declare(s->metrics, &spec, &err);
    if (metric == NULL) {
        lua_pushnil(L);
        lua_pushstring(L, err.message);
        return 2;
    }
    if (spec.labels[0] == NULL)
        pl_metric_series(metric, NULL); /* shown from the start, as rates need the zero */
    push_handle(L, &spec, metric);
    return 1;
}

/* The value at index as it is shown: without secrets, cut between characters. */
static char *label_value(lua_State *L, const struct pl_state *s, int index)
{
    struct pl_slice text = pl_lua_slice(L, index);
    char *masked = pl_secrets_mask(&s->secrets, text);
    if (masked != NULL)
        text = pl_slice_z(masked);
    char *copy = pl_memdup0(text.ptr, pl_utf8_cut(text, VALUE_MAX));
    pl_free(masked);
    return copy;
}

/* The values of a metric's labels, in order; free_values frees them. */
struct values {
    char *text[PL_METRIC_LABELS];
    int count;
};

/* From index on to the top. */
static struct values values_of(lua_State *L, const struct handle *handle, int index)
{
    const struct pl_state *s = pl_state_of(L);
    struct values values = {.count = handle->label_count};
    int given = lua_gettop(L) - index + 1;
    if (given != values.count)
        luaL_error(L, "the metric has %d labels, not %d", values.count, given);
    for (int i = 0; i < values.count; i++)
        luaL_checkstring(L, i + index); /* raises here, before anything is owned */
    for (int i = 0; i < values.count; i++)
        values.text[i] = label_value(L, s, i + index);
    return values;
}

static void free_values(struct values *values)
{
    for (int i = 0; i < values->count; i++)
        pl_free(values->text[i]);
}

/* True when the labels name the run's object: one has its name or its key, and the label
 * "namespace", if there is one, has its namespace. */
static bool names_object(const struct pl_exec *exec, const struct pl_metric *metric,
                         const struct values *values)
{
    int ns = pl_metric_label(metric, "namespace");
    if (ns >= 0 && strcmp(values->text[ns], exec->ns) != 0)
        return false;
    for (int i = 0; i < values->count; i++)
        if (i != ns &&
            (strcmp(values->text[i], exec->name) == 0 || strcmp(values->text[i], exec->key) == 0))
            return true;
    return false;
}

/* The owner whose end is the series' end; NULL: none. The caller frees it. */
static char *owner_of(const struct pl_state *s, const struct pl_metric *metric,
                      const struct values *values)
{
    bool runs = s->task != NULL && s->phase == PL_PHASE_RUN;
    return runs && names_object(s->task->exec, metric, values)
               ? pl_exec_metrics_owner(s->task->exec)
               : NULL;
}

/* (metric, number, per object?, value of each label in order), of a metric of one of the types */
static int metrics_put(lua_State *L, enum pl_metric_put how, enum pl_metric_type type,
                       enum pl_metric_type other)
{
    const struct handle *handle = luaL_checkudata(L, 1, handle_name);
    luaL_argcheck(L, handle->type == type || handle->type == other, 1, "a metric of another type");
    double number = luaL_checknumber(L, 2);
    luaL_argcheck(L, isfinite(number) && (handle->type != PL_METRIC_COUNTER || number >= 0), 2,
                  "expected a number (for a counter: zero or more)");
    luaL_checkany(L, 3);
    struct values values = values_of(L, handle, 4);
    char *owner = lua_toboolean(L, 3) ? owner_of(pl_state_of(L), handle->metric, &values) : NULL;
    pl_metric_put(handle->metric, (const char *const *)values.text, owner, how, number);
    pl_free(owner);
    free_values(&values);
    return 0;
}

static int metrics_add(lua_State *L)
{
    return metrics_put(L, PL_METRIC_ADD, PL_METRIC_COUNTER, PL_METRIC_GAUGE);
}

static int metrics_set(lua_State *L)
{
    return metrics_put(L, PL_METRIC_SET, PL_METRIC_GAUGE, PL_METRIC_GAUGE);
}

static int observe(lua_State *L)
{
    return metrics_put(L, PL_METRIC_OBSERVE, PL_METRIC_HISTOGRAM, PL_METRIC_HISTOGRAM);
}

/* (metric, value of each label in order) -> there was one */
static int remove_series(lua_State *L)
{
    const struct handle *handle = luaL_checkudata(L, 1, handle_name);
    struct values values = values_of(L, handle, 2);
    bool was_there = pl_metric_remove(handle->metric, (const char *const *)values.text);
    free_values(&values);
    lua_pushboolean(L, was_there);
    return 1;
}

const luaL_Reg pl_bind_metrics[] = {
    {"metric", declare},         {"metric_add", metrics_add},      {"metric_set", metrics_set},
    {"metric_observe", observe}, {"metric_remove", remove_series}, {NULL, NULL},
};
