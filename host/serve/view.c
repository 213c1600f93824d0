/* The observable state of a running host: the checks behind the probes, the metrics that are
 * computed on demand, the two endpoints, and the dump of SIGUSR1. It borrows the manager and the
 * lanes and must be told before they are destroyed. */
#include "serve/view.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/log.h"
#include "serve/version.h"
#include "serve/endpoints.h"
#include "serve/host_metrics.h"
#include "serve/memory_limit.h"
#include "serve/memory_report.h"
#include "serve/process_metrics.h"
#include "control/dump.h"

#include <stdio.h>

#define LANES_MAX 8 /* sets: generations that have not ended */

struct pl_view {
    struct pl_view_options o;
    struct pl_health *health;
    struct pl_process_metrics *process;
    struct pl_host_metrics *host;
    struct pl_endpoints *endpoints;
    struct pl_manager *manager; /* borrowed; NULL: none yet, or no longer */
    struct pl_lanes *lanes[LANES_MAX];
    size_t lanes_count;
    struct pl_memory_limit memory;
    bool stopping;
};

/* ---- checks ---- */

static bool check_lanes(void *arg, struct pl_buf *why)
{
    const struct pl_view *view = arg;
    int stuck = 0;
    for (size_t i = 0; i < view->lanes_count; i++)
        stuck += pl_lanes_stuck(view->lanes[i]);
    if (stuck > 0)
        pl_buf_add_f(why, "%d of the scripts' threads could not be interrupted and were replaced",
                     stuck);
    return stuck == 0;
}

static bool check_shutdown(void *arg, struct pl_buf *why)
{
    const struct pl_view *view = arg;
    if (view->stopping)
        pl_buf_add_z(why, "the host is stopping");
    return !view->stopping;
}

static bool check_startup(void *arg, struct pl_buf *why)
{
    const struct pl_view *view = arg;
    if (view->manager == NULL)
        pl_buf_add_z(why, "controllers have not been started");
    return view->manager != NULL;
}

/* Synced is enough: a controller that waits for the lead is as ready as possible. */
static void check_controllers(void *arg, struct pl_health_page *page)
{
    const struct pl_view *view = arg;
    for (size_t i = 0; view->manager != NULL && i < pl_manager_count(view->manager); i++) {
        const struct pl_controller *controller = pl_manager_at(view->manager, i);
        char name[128];
        struct pl_buf why = PL_BUF_INIT;
        bool ready = view->stopping || pl_controller_has_synced(controller);
        snprintf(name, sizeof(name), "controller/%s", pl_controller_spec(controller)->name);
        if (!ready)
            pl_controller_explain(controller, &why);
        if (!ready && pl_controller_waits_elsewhere(controller))
            pl_health_note(page, name, pl_buf_z(&why)); /* restarting this host would not help */
        else
            pl_health_say(page, name, ready ? NULL : pl_buf_z(&why));
        pl_buf_deinit(&why);
    }
}

static void on_memory(void *arg, uint64_t used, uint64_t limit)
{
    const struct pl_view *view = arg;
    uint64_t scripts = 0;
    for (size_t i = 0; i < view->lanes_count; i++)
        scripts += pl_lanes_memory(view->lanes[i]);
    pl_memory_say(view->manager, used, limit, scripts);
}

/* ---- lifetime ---- */

struct pl_view *pl_view_create(const struct pl_view_options *options, struct pl_err *err)
{
    struct pl_view *view = PL_NEW(struct pl_view);
    view->o = *options;
    view->health = pl_health_create();
    pl_health_add(view->health, PL_PROBE_LIVE, "lanes", check_lanes, view);
    pl_health_add(view->health, PL_PROBE_READY, "shutdown", check_shutdown, view);
    pl_health_add(view->health, PL_PROBE_READY, "startup", check_startup, view);
    pl_health_add_group(view->health, PL_PROBE_READY, check_controllers, view);
    view->process = pl_process_metrics_add(options->metrics);
    view->host =
        pl_host_metrics_add(options->metrics, options->waits, options->pool, options->loop);
    const struct pl_endpoints_options endpoints = {
        .loop = options->loop,
        .metrics = options->metrics,
        .health = view->health,
        .metrics_address = options->metrics_address,
        .health_address = options->health_address,
        .metrics_secure = options->metrics_secure,
        .metrics_cert = options->metrics_cert,
    };
    pl_memory_limit_start(&view->memory, pl_loop_timers(options->loop), "", on_memory, view);
    view->endpoints = pl_endpoints_create(&endpoints, err);
    if (view->endpoints != NULL)
        return view;
    pl_view_destroy(view);
    return NULL;
}

void pl_view_destroy(struct pl_view *view)
{
    if (view == NULL)
        return;
    pl_memory_limit_stop(&view->memory);
    pl_endpoints_destroy(view->endpoints);
    pl_host_metrics_remove(view->host);
    pl_process_metrics_remove(view->process);
    pl_health_destroy(view->health);
    pl_free(view);
}

/* ---- its sources ---- */

struct pl_health *pl_view_health(struct pl_view *view)
{
    return view->health;
}

void pl_view_set_client(struct pl_view *view, struct pl_client *client)
{
    pl_endpoints_ask(view->endpoints, client);
}

void pl_view_set_manager(struct pl_view *view, struct pl_manager *manager)
{
    view->manager = manager;
}

void pl_view_add_lanes(struct pl_view *view, struct pl_lanes *lanes)
{
    PL_REQUIRE(view->lanes_count < LANES_MAX);
    view->lanes[view->lanes_count++] = lanes;
}

void pl_view_remove_lanes(struct pl_view *view, const struct pl_lanes *lanes)
{
    size_t kept = 0;
    for (size_t i = 0; i < view->lanes_count; i++)
        if (view->lanes[i] != lanes)
            view->lanes[kept++] = view->lanes[i];
    view->lanes_count = kept;
}

void pl_view_set_stopping(struct pl_view *view)
{
    view->stopping = true;
}

void pl_view_dump(struct pl_view *view)
{
    size_t left_out = 0;
    pl_log(PL_LOG_INFO, "state of the host", pl_str("version", pl_version()),
           pl_str("state", view->stopping          ? "stopping"
                           : view->manager == NULL ? "starting"
                                                   : "running"),
           pl_int("waits", (int64_t)view->o.waits->count));
    if (view->manager != NULL) {
        left_out += pl_dump_controllers(view->manager);
        left_out += pl_dump_sources(pl_manager_cluster(view->manager));
    }
    for (size_t i = 0; i < view->lanes_count; i++)
        pl_lanes_dump(view->lanes[i]);
    left_out += pl_dump_waits(view->o.waits);
    pl_log(PL_LOG_INFO, "end of the state of the host", pl_int("left_out", (int64_t)left_out));
}
