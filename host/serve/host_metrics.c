/* perilune_* metrics that belong to no controller and no lane, set when the page is written; only
 * the turns of the loop are counted as they happen. Names of waits are literals of the core, so
 * their number is known; beyond NAMES_MAX they are not shown. */
#include "serve/host_metrics.h"

#include "base/alloc.h"
#include "serve/version.h"

#include <string.h>

#define NAMES_MAX 64 /* of waits; they are literals of the core */

struct pl_host_metrics {
    struct pl_metrics *metrics; /* borrowed, as is what follows */
    struct pl_waits *waits;
    struct pl_pool *pool;
    struct pl_loop *loop;
    struct {
        const char *name;
        struct pl_series *count, *oldest;
        size_t counted;
        int64_t oldest_ns;
    } waiting[NAMES_MAX];
    size_t waiting_count;
    struct pl_series *overdue;
    struct pl_series *turns;
    struct pl_series *documents, *values, *document_bytes, *value_bytes, *table_bytes;
};

static struct pl_series *gauge(struct pl_metrics *metrics, const char *name, const char *help,
                               const char *label, const char *value)
{
    const struct pl_metric_spec spec = {
        .name = name, .help = help, .type = PL_METRIC_GAUGE, .labels = {label}};
    return pl_metric_series(pl_metrics_add(metrics, &spec), (const char *const[]){value});
}

/* ---- waits ---- */

static size_t host_metrics_index_of(struct pl_host_metrics *host, const char *name)
{
    size_t i = 0;
    while (i < host->waiting_count && strcmp(host->waiting[i].name, name) != 0)
        i++;
    if (i < host->waiting_count || i == NAMES_MAX)
        return i;
    host->waiting[i].name = name;
    host->waiting[i].count = gauge(host->metrics, "perilune_waits",
                                   "Operations that the host waits for, by name.", "wait", name);
    host->waiting[i].oldest =
        gauge(host->metrics, "perilune_wait_oldest_seconds",
              "How long the longest wait of that name has lasted.", "wait", name);
    return host->waiting_count++;
}

static void collect_waits(struct pl_host_metrics *host)
{
    size_t overdue = 0;
    for (size_t i = 0; i < host->waiting_count; i++) {
        host->waiting[i].counted = 0;
        host->waiting[i].oldest_ns = 0;
    }
    for (const struct pl_wait *wait = pl_waits_next(host->waits, NULL); wait != NULL;
         wait = pl_waits_next(host->waits, wait)) {
        size_t i = host_metrics_index_of(host, wait->name);
        overdue += pl_wait_is_overdue(wait);
        if (i == NAMES_MAX)
            continue;
        if (host->waiting[i].counted++ == 0)
            host->waiting[i].oldest_ns = pl_wait_age_ns(wait); /* the longest comes first */
    }
    for (size_t i = 0; i < host->waiting_count; i++) {
        pl_series_set(host->waiting[i].count, (double)host->waiting[i].counted);
        pl_series_set(host->waiting[i].oldest, (double)host->waiting[i].oldest_ns / PL_SECOND);
    }
    pl_series_set(host->overdue, (double)overdue);
}

/* ---- documents ---- */

static void host_metrics_collect(void *arg)
{
    struct pl_host_metrics *host = arg;
    struct pl_pool_stats stats;
    collect_waits(host);
    pl_pool_stats(host->pool, &stats);
    pl_series_set(host->documents, (double)stats.documents);
    pl_series_set(host->values, (double)stats.nodes);
    pl_series_set(host->document_bytes, (double)stats.document_bytes);
    pl_series_set(host->value_bytes, (double)stats.node_bytes);
    pl_series_set(host->table_bytes, (double)stats.table_bytes);
}

/* ---- the loop ---- */

static void on_host_metrics_turn(void *arg, int64_t took_ns)
{
    struct pl_host_metrics *host = arg;
    pl_series_observe(host->turns, (double)took_ns / PL_SECOND);
}

static void observe_loop(struct pl_host_metrics *host, struct pl_loop *loop)
{
    static const double bounds[] = {0.0001, 0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1};
    static const struct pl_metric_spec spec = {
        .name = "perilune_loop_turn_seconds",
        .help = "How long the I/O thread worked before it polled for events again.",
        .type = PL_METRIC_HISTOGRAM,
        .bounds = bounds,
        .bound_count = PL_ARRAY_LEN(bounds)};
    host->loop = loop;
    host->turns = pl_metric_series(pl_metrics_add(host->metrics, &spec), NULL);
    pl_loop_observe(loop, on_host_metrics_turn, host);
}

struct pl_host_metrics *pl_host_metrics_add(struct pl_metrics *metrics, struct pl_waits *waits,
                                            struct pl_pool *pool, struct pl_loop *loop)
{
    static const char bytes[] = "perilune_document_pool_bytes";
    static const char bytes_help[] =
        "Memory of documents: their own, values that they share, and the table of those.";
    struct pl_host_metrics *host = PL_NEW(struct pl_host_metrics);
    host->metrics = metrics;
    host->waits = waits;
    host->pool = pool;
    pl_series_set(
        gauge(metrics, "perilune_build_info", "1, with the version.", "version", pl_version()), 1);
    host->overdue = gauge(metrics, "perilune_waits_overdue",
                          "Waits whose deadline has passed: bugs of the host.", NULL, NULL);
    host->documents = gauge(metrics, "perilune_documents", "Documents alive.", NULL, NULL);
    host->values =
        gauge(metrics, "perilune_shared_values", "Values that documents share.", NULL, NULL);
    host->document_bytes = gauge(metrics, bytes, bytes_help, "part", "documents");
    host->value_bytes = gauge(metrics, bytes, bytes_help, "part", "values");
    host->table_bytes = gauge(metrics, bytes, bytes_help, "part", "table");
    observe_loop(host, loop);
    pl_metrics_collect(metrics, host_metrics_collect, host);
    return host;
}

void pl_host_metrics_remove(struct pl_host_metrics *host)
{
    if (host == NULL)
        return;
    pl_metrics_uncollect(host->metrics, host_metrics_collect, host);
    pl_loop_observe(host->loop, NULL, NULL);
    pl_free(host);
}
