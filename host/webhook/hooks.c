/* The webhook server: maps paths to handlers, and opens and closes the listener.
 *
 * Routes are kept by their paths for the life of the process, so that counters continue over
 * reloads; pl_hooks_switch replaces their handlers. A listener is opened once and not closed before
 * the host stops: a reload replaces the handlers of paths and keeps connections. */
#include "webhook/hooks_impl.h"

#include "base/alloc.h"
#include "base/check.h"

#include <string.h>

#define MAX_BODY        ((size_t)7 << 20)
#define MAX_CONNECTIONS 4096
#define IDLE_MS         90000
#define LAST_WORDS_NS   (20 * PL_MS) /* for answers that are on their way at the end */

/* ---- registrations ---- */

static struct pl_hook_set *create_set(struct pl_hooks *hooks, struct pl_edition *edition)
{
    struct pl_hook_set *set = PL_NEW(struct pl_hook_set);
    set->refs = 1;
    set->edition = pl_edition_ref(edition);
    set->serial = hooks->switches;
    pl_list_init(&set->waiting);
    return set;
}

void pl_hook_set_unref(struct pl_hook_set *set)
{
    if (set == NULL || --set->refs > 0)
        return;
    pl_edition_unref(set->edition);
    pl_free(set);
}

/* ---- routes ---- */

static const double latency_bounds[] = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                        0.25,   0.5,   1,      2.5,   5,    10,    30};

static void hooks_add_metrics(struct pl_hooks *hooks)
{
    static const struct pl_metric_spec totals = {
        .name = "controller_runtime_webhook_requests_total",
        .help = "Total number of admission requests by HTTP status code.",
        .type = PL_METRIC_COUNTER,
        .labels = {"webhook", "code"}};
    static const struct pl_metric_spec in_flight = {
        .name = "controller_runtime_webhook_requests_in_flight",
        .help = "Current number of admission requests being served.",
        .type = PL_METRIC_GAUGE,
        .labels = {"webhook"}};
    static const struct pl_metric_spec latency = {
        .name = "controller_runtime_webhook_latency_seconds",
        .help = "Histogram of the latency of processing admission requests.",
        .type = PL_METRIC_HISTOGRAM,
        .labels = {"webhook"},
        .bounds = latency_bounds,
        .bound_count = PL_ARRAY_LEN(latency_bounds)};
    static const struct pl_metric_spec denied = {.name = "perilune_webhook_denied_total",
                                                 .help = "Requests that a handler denied.",
                                                 .type = PL_METRIC_COUNTER,
                                                 .labels = {"webhook"}};
    hooks->totals = pl_metrics_add(hooks->o.metrics, &totals);
    hooks->in_flight = pl_metrics_add(hooks->o.metrics, &in_flight);
    hooks->latency = pl_metrics_add(hooks->o.metrics, &latency);
    hooks->denied = pl_metrics_add(hooks->o.metrics, &denied);
}

static void hooks_show(struct pl_hooks *hooks, struct pl_hook_route *route)
{
    const char *labels[] = {route->path};
    if (hooks->totals == NULL)
        hooks_add_metrics(hooks);
    route->shown.in_flight = pl_metric_series(hooks->in_flight, labels);
    route->shown.latency = pl_metric_series(hooks->latency, labels);
    route->shown.denied = pl_metric_series(hooks->denied, labels);
}

static struct pl_hook_route *route_of(struct pl_hooks *hooks, const char *key, const char *path)
{
    struct pl_hook_route *route = pl_map_get(&hooks->routes, pl_slice_z(key));
    if (route != NULL)
        return route;
    route = PL_NEW(struct pl_hook_route);
    route->key = pl_strdup(key);
    route->path = pl_strdup(path);
    pl_map_put(&hooks->routes, pl_slice_z(key), route);
    hooks_show(hooks, route);
    return route;
}

static char *hooks_key_of(const struct pl_hook_kind *kind, bool converts)
{
    return converts ? pl_format("/convert %s/%s", kind->kind.group, kind->kind.kind)
                    : pl_strdup(kind->path);
}

static void free_route(struct pl_hook_route *route)
{
    pl_hook_set_unref(route->set);
    pl_free(route->key);
    pl_free(route->path);
    pl_free(route->error);
    pl_free(route);
}

struct pl_hook_route *pl_hooks_find(const struct pl_hooks *hooks, struct pl_slice path)
{
    struct pl_hook_route *route = pl_map_get(&hooks->routes, path);
    return route != NULL && route->set != NULL ? route : NULL;
}

struct pl_hook_route *pl_hooks_find_convert(const struct pl_hooks *hooks,
                                            const struct pl_kind *kind)
{
    struct pl_hook_kind wanted = {.kind = *kind};
    char *key = hooks_key_of(&wanted, true);
    struct pl_hook_route *route = pl_hooks_find(hooks, pl_slice_z(key));
    pl_free(key);
    return route;
}

bool pl_hooks_converts(const struct pl_hooks *hooks)
{
    for (const struct pl_hook_route *route = hooks->first; route != NULL; route = route->next)
        if (pl_edition_spec(route->set->edition)->hook->sort == PL_HOOK_CONVERT)
            return true;
    return false;
}

bool pl_hooks_any(const struct pl_hooks *hooks)
{
    return hooks->first != NULL;
}

static void forget_handlers(struct pl_hooks *hooks)
{
    size_t at = 0;
    struct pl_slice key;
    void *value;
    while (pl_map_next(&hooks->routes, &at, &key, &value)) {
        struct pl_hook_route *route = value;
        pl_hook_set_unref(route->set);
        route->set = NULL;
        route->next = NULL;
    }
    hooks->first = NULL;
}

void pl_hooks_switch(struct pl_hooks *hooks, struct pl_edition *const *editions, size_t count)
{
    pl_loop_require(hooks->o.loop);
    struct pl_hook_route **end = &hooks->first;
    hooks->switches++;
    forget_handlers(hooks);
    for (size_t i = 0; i < count; i++) {
        const struct pl_hook_spec *spec = pl_edition_spec(editions[i])->hook;
        struct pl_hook_set *set = create_set(hooks, editions[i]);
        for (size_t j = 0; j < spec->kind_count; j++) {
            char *key = hooks_key_of(&spec->kinds[j], spec->sort == PL_HOOK_CONVERT);
            struct pl_hook_route *route = route_of(hooks, key, spec->kinds[j].path);
            pl_free(key);
            set->refs++;
            route->set = set;
            route->kind = &spec->kinds[j];
            *end = route;
            end = &route->next;
        }
        pl_hook_set_unref(set);
    }
}

void pl_hooks_each(const struct pl_hooks *hooks,
                   void (*visit)(void *arg, const struct pl_hook_status *status), void *arg)
{
    for (const struct pl_hook_route *route = hooks->first; route != NULL; route = route->next) {
        const struct pl_controller_spec *spec = pl_edition_spec(route->set->edition);
        visit(arg, &(struct pl_hook_status){.kind = route->kind,
                                            .spec = spec->hook,
                                            .declared_at = spec->declared_at,
                                            .requests = route->requests,
                                            .denied = route->denied,
                                            .errors = route->errors,
                                            .in_flight = route->in_flight});
    }
}

/* The kinds of one handler that have not synced; true: there is one in our cluster. */
static bool add_unsynced_reads(const struct pl_hook_route *route, struct pl_buf *why)
{
    const struct pl_controller_spec *spec = pl_edition_spec(route->set->edition);
    bool here = false;
    for (size_t i = 0; i < spec->source_count; i++) {
        const struct pl_informer *informer = pl_edition_informer(route->set->edition, i);
        if (informer == NULL || pl_informer_has_synced(informer))
            continue;
        const struct pl_err *trouble = pl_informer_trouble(informer);
        pl_buf_add_f(why, "%s%s: source %s: %s", why->len > 0 ? " | " : "", spec->name,
                     pl_informer_owner(informer),
                     trouble != NULL ? trouble->message : "has not synced");
        here = here || spec->sources[i].cluster_name == NULL;
    }
    return here;
}

bool pl_hooks_have_synced(const struct pl_hooks *hooks, struct pl_buf *why, bool *elsewhere)
{
    const struct pl_hook_set *last = NULL;
    size_t before = why->len;
    *elsewhere = true;
    for (const struct pl_hook_route *route = hooks->first; route != NULL; route = route->next) {
        if (route->set != last && add_unsynced_reads(route, why))
            *elsewhere = false;
        last = route->set;
    }
    return why->len == before;
}

/* ---- the listener ---- */

int pl_hooks_listen(struct pl_hooks *hooks, const struct pl_hooks_listen *where, struct pl_err *err)
{
    static const struct pl_server_ops ops = {.on_request = pl_hook_request};
    const struct pl_server_options options = {.host = where->host,
                                              .port = where->port,
                                              .cert_pem = where->cert_pem,
                                              .key_pem = where->key_pem,
                                              .client_ca_pem = where->client_ca_pem,
                                              .max_body = MAX_BODY,
                                              .idle_ms = IDLE_MS,
                                              .max_connections = MAX_CONNECTIONS};
    PL_REQUIRE(hooks->server == NULL && !hooks->draining);
    hooks->server = pl_server_create(hooks->o.loop, &options, &ops, hooks, err);
    return hooks->server != NULL ? 0 : err->code;
}

bool pl_hooks_is_listening(const struct pl_hooks *hooks)
{
    return hooks->server != NULL;
}

int pl_hooks_port(const struct pl_hooks *hooks)
{
    return hooks->server != NULL ? pl_server_port(hooks->server) : 0;
}

int pl_hooks_set_certificate(struct pl_hooks *hooks, const char *cert_pem, const char *key_pem,
                             struct pl_err *err)
{
    return hooks->server == NULL ? 0
                                 : pl_server_set_certificate(hooks->server, cert_pem, key_pem, err);
}

/* ---- its end ---- */

static void hooks_tell_stopped(struct pl_timer *timer)
{
    struct pl_hooks *hooks = PL_CONTAINER_OF(timer, struct pl_hooks, drain);
    pl_server_destroy(hooks->server);
    hooks->server = NULL;
    forget_handlers(hooks);
    hooks->stopped(hooks->stopped_arg);
}

void pl_hooks_check_end(struct pl_hooks *hooks)
{
    if (!hooks->drained || hooks->ending || !pl_list_empty(&hooks->requests))
        return;
    hooks->ending = true;
    pl_timer_start(hooks->timers, &hooks->drain, hooks->server != NULL ? LAST_WORDS_NS : 0,
                   hooks_tell_stopped);
}

static void on_hooks_drained(struct pl_timer *timer)
{
    struct pl_hooks *hooks = PL_CONTAINER_OF(timer, struct pl_hooks, drain);
    hooks->drained = true;
    pl_hooks_check_end(hooks);
}

void pl_hooks_stop(struct pl_hooks *hooks, int64_t drain_ns, void (*done)(void *arg), void *arg)
{
    if (hooks->draining)
        return;
    hooks->draining = true;
    hooks->stopped = done;
    hooks->stopped_arg = arg;
    if (hooks->server == NULL && pl_list_empty(&hooks->requests)) {
        hooks->drained = hooks->ending = true;
        hooks_tell_stopped(&hooks->drain);
        return;
    }
    if (hooks->server != NULL)
        pl_server_close_after(hooks->server);
    else
        drain_ns = 0;
    pl_timer_start(hooks->timers, &hooks->drain, drain_ns, on_hooks_drained);
}

struct pl_hooks *pl_hooks_create(const struct pl_hooks_options *options)
{
    struct pl_hooks *hooks = PL_NEW(struct pl_hooks);
    hooks->o = *options;
    hooks->timers = pl_loop_timers(options->loop);
    pl_list_init(&hooks->requests);
    return hooks;
}

void pl_hooks_destroy(struct pl_hooks *hooks)
{
    if (hooks == NULL)
        return;
    pl_timer_stop(hooks->timers, &hooks->drain);
    pl_server_destroy(hooks->server);
    PL_REQUIRE(pl_list_empty(&hooks->requests));
    size_t at = 0;
    struct pl_slice key;
    void *value;
    while (pl_map_next(&hooks->routes, &at, &key, &value))
        free_route(value);
    pl_map_deinit(&hooks->routes);
    pl_free(hooks);
}
