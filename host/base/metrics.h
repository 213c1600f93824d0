/* Counters, gauges and histograms in Prometheus' text format.
 *
 * Metrics are added while the program starts; a series is looked up once and then
 * updated without a lock from any thread. A metric has a limited number of series:
 * label values beyond it share one series whose labels all read "other", so that no
 * script and no cluster can grow the page without end. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

struct pl_metrics;
struct pl_metric;
struct pl_series;

enum pl_metric_type { PL_METRIC_COUNTER, PL_METRIC_GAUGE, PL_METRIC_HISTOGRAM };

#define PL_METRIC_LABELS   8
#define PL_METRIC_BOUNDS   16
#define PL_METRIC_SERIES   1000
#define PL_METRIC_DECLARED 200 /* metrics that pl_metrics_declare takes */
#define PL_METRIC_HELP     1000

struct pl_metric_spec {
    const char *name, *help; /* borrowed for life: literals */
    enum pl_metric_type type;
    const char *labels[PL_METRIC_LABELS]; /* names, literals; the first NULL ends them */
    const double *bounds;                 /* of a histogram: rising, literals; "+Inf" is added */
    size_t bound_count;                   /* at most PL_METRIC_BOUNDS */
    size_t max_series;                    /* 0: PL_METRIC_SERIES */
};

struct pl_metrics *pl_metrics_create(void);
/* Frees all metrics and series. Accepts NULL. */
void pl_metrics_destroy(struct pl_metrics *metrics);
/* A name that is there already gives the metric that has it. Any thread. */
struct pl_metric *pl_metrics_add(struct pl_metrics *metrics, const struct pl_metric_spec *spec);
/* The same for a metric whose texts come from outside: they are copied and checked. NULL and
 * EINVAL or ELIMIT when Prometheus would not take them, when the name is there with another
 * type, other labels or bounds (another help is fine, the first one stays), or when there are
 * PL_METRIC_DECLARED of them. Any thread. */
struct pl_metric *pl_metrics_declare(struct pl_metrics *metrics, const struct pl_metric_spec *spec,
                                     struct pl_err *err);
/* Called before each pl_metrics_write, on its thread, to bring gauges up to date. */
void pl_metrics_collect(struct pl_metrics *metrics, void (*collect)(void *arg), void *arg);
/* Undoes it. */
void pl_metrics_uncollect(struct pl_metrics *metrics, void (*collect)(void *arg), void *arg);
/* Appends the text format: families in the order of pl_metrics_add, series in that of their making.
 */
void pl_metrics_write(struct pl_metrics *metrics, struct pl_buf *out);

/* The series with these label values, as many as the metric has labels (NULL reads as ""). Takes
 * a lock: look it up once. Valid until the registry is destroyed. Any thread. */
struct pl_series *pl_metric_series(struct pl_metric *metric, const char *const *values);
/* The same for what comes and goes (controllers, sources): it leaves the page when everybody who
 * holds it has released it, unless pl_metric_series gave it out too. Any thread. */
struct pl_series *pl_metric_hold(struct pl_metric *metric, const char *const *values);
void pl_series_release(struct pl_series *series); /* accepts NULL */

/* ---- of metrics that scripts declare: their series come and go ---- */

/* How a value is put in: that of the metric's type. */
enum pl_metric_put { PL_METRIC_ADD, PL_METRIC_SET, PL_METRIC_OBSERVE };

/* Finds or makes the series and changes it in one step, so that it may be removed from any thread.
 * owner: whose end is the series' end, too (pl_metrics_disown), a text; NULL: nobody's, and one
 * that it had stays. What goes to "other" has no owner. */
void pl_metric_put(struct pl_metric *metric, const char *const *values, const char *owner,
                   enum pl_metric_put how, double value);
/* False when there is no such series. */
bool pl_metric_remove(struct pl_metric *metric, const char *const *values);
/* Removes every series of the owner. */
void pl_metrics_disown(struct pl_metrics *metrics, struct pl_slice owner);
/* The same for all owners whose text begins so. */
void pl_metrics_disown_all(struct pl_metrics *metrics, struct pl_slice beginning);
/* How many owners there are; any thread, without a lock. */
size_t pl_metrics_owners(const struct pl_metrics *metrics);
/* The label's place among the metric's labels; -1: it has none of that name. */
int pl_metric_label(const struct pl_metric *metric, const char *name);

/* Lock-free, any thread. */
void pl_series_add(struct pl_series *series, double value);     /* counters (value >= 0), gauges */
void pl_series_set(struct pl_series *series, double value);     /* gauges */
void pl_series_observe(struct pl_series *series, double value); /* histograms */
/* A counter's or gauge's value, a histogram's count. */
double pl_series_value(const struct pl_series *series);
