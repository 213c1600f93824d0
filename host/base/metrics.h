/* Counters, gauges and histograms in Prometheus' text format.
 *
 * Metrics are added while the program starts. A series is looked up once and then updated from any
 * thread without a lock. The number of series of a metric is limited. Label values beyond the limit
 * share one series, whose labels are all "other". So no script and no cluster can make the page
 * grow without end. */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

struct pl_metrics;
struct pl_metric;
struct pl_series;

enum pl_metric_type { PL_METRIC_COUNTER, PL_METRIC_GAUGE, PL_METRIC_HISTOGRAM };

#define PL_METRIC_LABELS 8
#define PL_METRIC_BOUNDS 16
#define PL_METRIC_SERIES 1000

struct pl_metric_spec {
    const char *name, *help; /* borrowed for life: literals */
    enum pl_metric_type type;
    const char *labels[PL_METRIC_LABELS]; /* names, literals; ended by the first NULL */
    const double *bounds; /* of a histogram: in ascending order, literals; "+Inf" is added */
    size_t bound_count;   /* at most PL_METRIC_BOUNDS */
    size_t max_series;    /* 0: PL_METRIC_SERIES */
};

/* The caller owns the registry and destroys it. */
struct pl_metrics *pl_metrics_create(void);
/* Frees all metrics and series. Accepts NULL. */
void pl_metrics_destroy(struct pl_metrics *metrics);
/* Returns the metric with this name, which is made if there is none. It belongs to the registry and
 * lives as long. Any thread. */
struct pl_metric *pl_metrics_add(struct pl_metrics *metrics, const struct pl_metric_spec *spec);
/* Registers a function that each pl_metrics_write calls first, on its thread, to update gauges. */
void pl_metrics_collect(struct pl_metrics *metrics, void (*collect)(void *arg), void *arg);
/* Removes the function. */
void pl_metrics_uncollect(struct pl_metrics *metrics, void (*collect)(void *arg), void *arg);
/* Appends the text format: families in the order of pl_metrics_add, series in the order of their
 * creation. */
void pl_metrics_write(struct pl_metrics *metrics, struct pl_buf *out);

/* The series with these label values, as many as the metric has labels (NULL means ""). It takes a
 * lock, so look the series up once. Valid until the registry is destroyed. Any thread. */
struct pl_series *pl_metric_series(struct pl_metric *metric, const char *const *values);
/* The same for a series with a limited life (of controllers, sources). It leaves the page when all
 * its holders have released it, unless pl_metric_series has returned it too. Any thread. */
struct pl_series *pl_metric_hold(struct pl_metric *metric, const char *const *values);
void pl_series_release(struct pl_series *series); /* accepts NULL */

/* Lock-free, any thread. */
void pl_series_add(struct pl_series *series, double value);     /* counters (value >= 0), gauges */
void pl_series_set(struct pl_series *series, double value);     /* gauges */
void pl_series_observe(struct pl_series *series, double value); /* histograms */
/* A counter's or gauge's value, a histogram's count. */
double pl_series_value(const struct pl_series *series);
