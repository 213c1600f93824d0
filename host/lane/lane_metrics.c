/* Activity and memory of lanes, in the host's metrics and its log. Generations share the series of
 * a lane's number. */
#include "base/alloc.h"
#include "base/log.h"
#include "base/metrics.h"
#include "lane/lane.h"

#include <stdio.h>

struct pl_lane_metrics {
    struct pl_lanes *lanes; /* back-pointer */
    struct shown_lane {
        struct pl_series *busy, *memory; /* held */
        double memory_seen;              /* our share of it */
    } * lane;                            /* owned array, one for each lane */
};

static struct pl_series *lane_metrics_hold(struct pl_metrics *metrics, enum pl_metric_type type,
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

static void lane_metrics_collect(void *arg)
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
        shown->lane[i].busy =
            lane_metrics_hold(metrics, PL_METRIC_COUNTER, "perilune_lane_busy_seconds_total",
                              "Time that lanes did not wait for work.", i);
        shown->lane[i].memory =
            lane_metrics_hold(metrics, PL_METRIC_GAUGE, "perilune_lua_memory_bytes",
                              "Memory of Lua states, without lanes that are stuck.", i);
    }
    pl_lane_metrics_stuck(lanes, 0);
    pl_metrics_collect(metrics, lane_metrics_collect, shown);
    return shown;
}

void pl_lane_metrics_stuck(struct pl_lanes *lanes, int more)
{
    static const struct pl_metric_spec stuck = {
        .name = "perilune_lane_stuck",
        .help = "Lanes that could not be interrupted and were replaced.",
        .type = PL_METRIC_GAUGE};
    pl_series_add(pl_metric_series(pl_metrics_add(lanes->metrics, &stuck), NULL), more);
}

void pl_lane_metrics_remove(struct pl_lane_metrics *shown)
{
    if (shown == NULL)
        return;
    lane_metrics_collect(shown);
    pl_metrics_uncollect(shown->lanes->metrics, lane_metrics_collect, shown);
    for (int i = 0; i < shown->lanes->options.count; i++) {
        set_memory(&shown->lane[i], 0);
        pl_series_release(shown->lane[i].busy);
        pl_series_release(shown->lane[i].memory);
    }
    pl_free(shown->lane);
    pl_free(shown);
}

/* ---- the log ---- */

static size_t lane_metrics_count_of(const struct pl_list *list)
{
    size_t count = 0;
    PL_LIST_FOR (link, list)
        count++;
    return count;
}

void pl_lanes_dump(struct pl_lanes *lanes)
{
    int64_t now = pl_clock_mono(pl_clock_system());
    for (int i = 0; i < lanes->options.count; i++) {
        struct pl_lane *lane = lanes->lanes[i];
        if (lane == NULL)
            continue;
        int64_t since = atomic_load(&lane->busy_since_ns);
        struct pl_limits *limits = atomic_load(&lane->limits);
        pl_log(PL_LOG_INFO, "state: lane", pl_int("lane", i), pl_bool("busy", since != 0),
               pl_num("busy_for", since != 0 ? (double)(now - since) / (double)PL_SECOND : 0),
               pl_int("runs", (int64_t)lane_metrics_count_of(&lane->io.execs)),
               pl_int("calls", (int64_t)lane_metrics_count_of(&lane->io.ops)),
               pl_int("questions", (int64_t)lane->io.asks_out),
               pl_int("questions_waiting", (int64_t)lane_metrics_count_of(&lane->io.asks_waiting)),
               pl_int("memory", limits != NULL ? (int64_t)pl_limits_used(limits) : 0));
    }
    if (atomic_load(&lanes->stuck) > 0)
        pl_log(PL_LOG_INFO, "state: stuck lanes", pl_int("count", atomic_load(&lanes->stuck)));
}
