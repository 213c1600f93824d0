/* host.metric*: metrics that scripts declare. The registry is the host's and outlives every state,
 * so that the same declaration in other lanes and in later generations is the same metric. */
#include "base/alloc.h"
#include "base/metrics.h"
#include "lane/bind_list.h"
#include "lane/lane.h"
#include "lane/lerr.h"

#include <math.h>
#include <string.h>

#define VALUE_MAX 256 /* bytes of a label's value; the rest is cut off */

static const char handle_name[] = "perilune.metric";

/* What scripts' metrics hold: a userdata, as an address alone would have to be trusted. */
struct handle {
    struct pl_metric *metric; /* the registry's, which outlives the state */
    enum pl_metric_type type;
    int label_count;
};

static const double bounds[] = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10};

/* Beginnings that are the core's own. */
static const char *const reserved[] = {"perilune_",    "controller_runtime_", "workqueue_",
                                       "rest_client_", "leader_election_",    "process_"};

static int check_name(const char *name, struct pl_err *err)
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
        bool is_text = lua_type(L, -1) == LUA_TSTRING; /* the text of a number would not stay */
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
        return pl_lerr_raise(L, s, "nothing can be changed from here: reads alone are allowed");
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
    else if (check_name(spec.name, &err) == 0 && take_labels(L, 4, &spec, &err) == 0)
        metric = pl_metrics_declare(s->metrics, &spec, &err);
    if (metric == NULL) {
        lua_pushnil(L);
        lua_pushstring(L, err.message);
        return 2;
    }
    if (spec.labels[0] == NULL)
        pl_metric_series(metric, NULL); /* shown from the start, as rates need its zero */
    push_handle(L, &spec, metric);
    return 1;
}

/* The value at index as it is shown: without what a Secret holds, cut between characters. */
static char *label_value(lua_State *L, const struct pl_state *s, int index)
{
    struct pl_slice text = pl_lua_slice(L, index);
    char *masked = pl_secrets_mask(&s->secrets, text);
    if (masked != NULL)
        text = pl_slice_z(masked);
    size_t len = text.len < VALUE_MAX ? text.len : VALUE_MAX;
    while (len > 0 && len < text.len && ((unsigned char)text.ptr[len] & 0xc0) == 0x80)
        len--;
    char *copy = pl_memdup0(text.ptr, len);
    pl_free(masked);
    return copy;
}

/* (metric, number, value of each label in order), of a metric of one of the two types */
static struct pl_series *series_of(lua_State *L, enum pl_metric_type type,
                                   enum pl_metric_type other, double *number)
{
    const struct pl_state *s = pl_state_of(L);
    const struct handle *handle = luaL_checkudata(L, 1, handle_name);
    luaL_argcheck(L, handle->type == type || handle->type == other, 1, "a metric of another type");
    *number = luaL_checknumber(L, 2);
    luaL_argcheck(L, isfinite(*number) && (handle->type != PL_METRIC_COUNTER || *number >= 0), 2,
                  "a number expected, for a counter of at least zero");
    int count = handle->label_count;
    if (lua_gettop(L) - 2 != count)
        luaL_error(L, "the metric has %d labels, not %d", count, lua_gettop(L) - 2);
    for (int i = 0; i < count; i++)
        luaL_checkstring(L, i + 3); /* raises here, where nothing is owned yet */
    char *values[PL_METRIC_LABELS] = {NULL};
    for (int i = 0; i < count; i++)
        values[i] = label_value(L, s, i + 3);
    struct pl_series *series = pl_metric_series(handle->metric, (const char *const *)values);
    for (int i = 0; i < count; i++)
        pl_free(values[i]);
    return series;
}

static int add(lua_State *L)
{
    double number;
    struct pl_series *series = series_of(L, PL_METRIC_COUNTER, PL_METRIC_GAUGE, &number);
    pl_series_add(series, number);
    return 0;
}

static int set(lua_State *L)
{
    double number;
    struct pl_series *series = series_of(L, PL_METRIC_GAUGE, PL_METRIC_GAUGE, &number);
    pl_series_set(series, number);
    return 0;
}

static int observe(lua_State *L)
{
    double number;
    struct pl_series *series = series_of(L, PL_METRIC_HISTOGRAM, PL_METRIC_HISTOGRAM, &number);
    pl_series_observe(series, number);
    return 0;
}

const luaL_Reg pl_bind_metrics[] = {
    {"metric", declare},         {"metric_add", add}, {"metric_set", set},
    {"metric_observe", observe}, {NULL, NULL},
};
