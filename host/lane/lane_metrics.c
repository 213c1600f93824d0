/* What lanes cost, on the page of the host. Generations share the series of a lane's number. */
#include "base/alloc.h"
#include "base/metrics.h"
#include "lane/lane.h"

#include <stdio.h>

struct pl_lane_metrics {
    struct pl_lanes *lanes; /* back-pointer */
    struct pl_series *stuck;
    struct shown_lane {
        struct pl_series *busy, *memory; /* held */
        double memory_seen;              /* this share of it is ours */
    } * lane;                            /* owned array, one a lane */
};

static struct pl_series *hold(struct pl_metrics *metrics, enum pl_metric_type type,
                              const char *name, const char *help, int lane)
{
    const struct pl_metric_spec spec = {
        .name = name, .help = help, .type = type, .labels = {"lane"}};
    char number[16];
    snprintf(number, sizeof number, "%d", lane);
    return pl_metric_hold(pl_metrics_add(metrics, &spec), (const char *const[]){number});
}

static void set_memory(struct shown_lane *shown, double bytes)
{
    pl_series_add(shown->memory, bytes - shown->memory_seen);
    shown->memory_seen = bytes;
}

static int64_t busy_ns(struct pl_lane *lane)
{
    int64_t done = atomic_load(&lane->busy_ns), since = atomic_load(&lane->busy_since_ns);
    return since == 0 ? done : done + pl_clock_mono(pl_clock_system()) - since;
}

static void collect(void *arg)
{
    struct pl_lane_metrics *shown = arg;
    struct pl_lanes *lanes = shown->lanes;
    for (int i = 0; i < lanes->options.count; i++) {
        struct pl_lane *lane = lanes->lanes[i];
        if (lane == NULL)
            continue;
        int64_t busy = busy_ns(lane);
        if (busy > lane->io.busy_seen_ns) {
            pl_series_add(shown->lane[i].busy,
                          (double)(busy - lane->io.busy_seen_ns) / (double)PL_SECOND);
            lane->io.busy_seen_ns = busy;
        }
        struct pl_limits *limits = atomic_load(&lane->limits);
        set_memory(&shown->lane[i], limits != NULL ? (double)pl_limits_used(limits) : 0);
    }
}

struct pl_lane_metrics *pl_lane_metrics_add(struct pl_lanes *lanes)
{
    struct pl_metrics *metrics = lanes->metrics;
    struct pl_lane_metrics *shown = PL_NEW(struct pl_lane_metrics);
    shown->lanes = lanes;
    shown->lane = pl_calloc((size_t)lanes->options.count, sizeof *shown->lane);
    for (int i = 0; i < lanes->options.count; i++) {
        shown->lane[i].busy = hold(metrics, PL_METRIC_COUNTER, "perilune_lane_busy_seconds_total",
                                   "Time that lanes did not wait for work.", i);
        shown->lane[i].memory = hold(metrics, PL_METRIC_GAUGE, "perilune_lua_memory_bytes",
                                     "Memory of Lua states, without lanes that are stuck.", i);
    }
    const struct pl_metric_spec stuck = {
        .name = "perilune_lane_stuck",
        .help = "Lanes that could not be interrupted and were replaced.",
        .type = PL_METRIC_GAUGE};
    shown->stuck = pl_metric_series(pl_metrics_add(metrics, &stuck), NULL);
    pl_metrics_collect(metrics, collect, shown);
    return shown;
}

void pl_lane_metrics_stuck(struct pl_lane_metrics *shown, int more)
{
    if (shown != NULL)
        pl_series_add(shown->stuck, more);
}

void pl_lane_metrics_remove(struct pl_lane_metrics *shown)
{
    if (shown == NULL)
        return;
    collect(shown);
    pl_metrics_uncollect(shown->lanes->metrics, collect, shown);
    for (int i = 0; i < shown->lanes->options.count; i++) {
        set_memory(&shown->lane[i], 0);
        pl_series_release(shown->lane[i].busy);
        pl_series_release(shown->lane[i].memory);
    }
    pl_free(shown->lane);
    pl_free(shown);
}
