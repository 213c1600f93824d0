#include "base/metrics.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/list.h"
#include "base/map.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* Doubles are kept as bits in 64-bit atomics: C11's atomic double needs no library
 * call for load and store, but its addition would be written the same way. */
struct pl_series {
    struct pl_link link;     /* in the metric's series */
    struct pl_metric *of;    /* back-pointer */
    char *labels;            /* owned: {a="b",c="d"} without the braces, "" for none */
    _Atomic uint64_t bits;   /* the value; a histogram's sum */
    _Atomic uint64_t *tally; /* owned: of a histogram, by bound, the last is +Inf; not cumulative */
};

struct pl_metric {
    struct pl_link link; /* in the registry */
    struct pl_metrics *registry;
    struct pl_metric_spec spec;
    size_t label_count;
    struct pl_list series;   /* in the order of their making */
    struct pl_map by_labels; /* label text -> series */
};

struct collector {
    struct pl_link link;
    void (*collect)(void *arg);
    void *arg;
};

struct pl_metrics {
    pthread_mutex_t lock; /* of the lists; a leaf */
    struct pl_list metrics;
    struct pl_list collectors; /* the writing thread's alone */
};

static double from_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static uint64_t to_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

struct pl_metrics *pl_metrics_create(void)
{
    struct pl_metrics *metrics = PL_NEW(struct pl_metrics);
    pthread_mutex_init(&metrics->lock, NULL);
    pl_list_init(&metrics->metrics);
    pl_list_init(&metrics->collectors);
    return metrics;
}

static void destroy_metric(struct pl_metric *metric)
{
    struct pl_link *link;
    while ((link = pl_list_pop(&metric->series)) != NULL) {
        struct pl_series *series = PL_CONTAINER_OF(link, struct pl_series, link);
        pl_free(series->labels);
        pl_free(series->tally);
        pl_free(series);
    }
    pl_map_deinit(&metric->by_labels);
    pl_free(metric);
}

void pl_metrics_destroy(struct pl_metrics *metrics)
{
    if (metrics == NULL)
        return;
    struct pl_link *link;
    while ((link = pl_list_pop(&metrics->metrics)) != NULL)
        destroy_metric(PL_CONTAINER_OF(link, struct pl_metric, link));
    while ((link = pl_list_pop(&metrics->collectors)) != NULL)
        pl_free(PL_CONTAINER_OF(link, struct collector, link));
    pthread_mutex_destroy(&metrics->lock);
    pl_free(metrics);
}

static struct pl_metric *find_metric(struct pl_metrics *metrics, const char *name)
{
    PL_LIST_FOR (link, &metrics->metrics) {
        struct pl_metric *metric = PL_CONTAINER_OF(link, struct pl_metric, link);
        if (strcmp(metric->spec.name, name) == 0)
            return metric;
    }
    return NULL;
}

struct pl_metric *pl_metrics_add(struct pl_metrics *metrics, const struct pl_metric_spec *spec)
{
    PL_REQUIRE(spec->bound_count <= PL_METRIC_BOUNDS);
    pthread_mutex_lock(&metrics->lock);
    struct pl_metric *metric = find_metric(metrics, spec->name);
    if (metric == NULL) {
        metric = PL_NEW(struct pl_metric);
        metric->registry = metrics;
        metric->spec = *spec;
        if (metric->spec.max_series == 0)
            metric->spec.max_series = PL_METRIC_SERIES;
        while (metric->label_count < PL_METRIC_LABELS && spec->labels[metric->label_count] != NULL)
            metric->label_count++;
        pl_list_init(&metric->series);
        pl_list_push(&metrics->metrics, &metric->link);
    }
    pthread_mutex_unlock(&metrics->lock);
    return metric;
}

void pl_metrics_collect(struct pl_metrics *metrics, void (*collect)(void *arg), void *arg)
{
    struct collector *collector = PL_NEW(struct collector);
    *collector = (struct collector){.collect = collect, .arg = arg};
    pl_list_push(&metrics->collectors, &collector->link);
}

void pl_metrics_uncollect(struct pl_metrics *metrics, void (*collect)(void *arg), void *arg)
{
    PL_LIST_FOR (link, &metrics->collectors) {
        struct collector *collector = PL_CONTAINER_OF(link, struct collector, link);
        if (collector->collect == collect && collector->arg == arg) {
            pl_link_unlink(link);
            pl_free(collector);
            return;
        }
    }
}

static void add_escaped(struct pl_buf *out, const char *text, bool quotes)
{
    for (; *text != '\0'; text++) {
        if (*text == '\n')
            pl_buf_add_z(out, "\\n");
        else if (*text == '\\' || (quotes && *text == '"'))
            pl_buf_add_f(out, "\\%c", *text);
        else
            pl_buf_add_char(out, *text);
    }
}

/* values NULL: "other" for each. */
static char *label_text(const struct pl_metric *metric, const char *const *values)
{
    struct pl_buf text = PL_BUF_INIT;
    for (size_t i = 0; i < metric->label_count; i++) {
        const char *value = values == NULL ? "other" : values[i];
        pl_buf_add_f(&text, "%s%s=\"", i ? "," : "", metric->spec.labels[i]);
        add_escaped(&text, value ? value : "", true);
        pl_buf_add_char(&text, '"');
    }
    return pl_buf_take(&text);
}

static struct pl_series *find_or_make_series(struct pl_metric *metric, char *labels)
{
    struct pl_series *series = pl_map_get(&metric->by_labels, pl_slice_z(labels));
    if (series == NULL && metric->by_labels.count >= metric->spec.max_series) {
        pl_free(labels);
        labels = label_text(metric, NULL);
        series = pl_map_get(&metric->by_labels, pl_slice_z(labels));
    }
    if (series != NULL) {
        pl_free(labels);
        return series;
    }
    series = PL_NEW(struct pl_series);
    series->of = metric;
    series->labels = labels;
    if (metric->spec.type == PL_METRIC_HISTOGRAM)
        series->tally = pl_calloc(metric->spec.bound_count + 1, sizeof(*series->tally));
    pl_list_push(&metric->series, &series->link);
    pl_map_put(&metric->by_labels, pl_slice_z(labels), series);
    return series;
}

struct pl_series *pl_metric_series(struct pl_metric *metric, const char *const *values)
{
    char *labels = label_text(metric, metric->label_count ? values : NULL);
    pthread_mutex_lock(&metric->registry->lock);
    struct pl_series *series = find_or_make_series(metric, labels);
    pthread_mutex_unlock(&metric->registry->lock);
    return series;
}

void pl_series_add(struct pl_series *series, double value)
{
    uint64_t have = atomic_load_explicit(&series->bits, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&series->bits, &have,
                                                  to_bits(from_bits(have) + value),
                                                  memory_order_relaxed, memory_order_relaxed)) {
    }
}

void pl_series_set(struct pl_series *series, double value)
{
    atomic_store_explicit(&series->bits, to_bits(value), memory_order_relaxed);
}

void pl_series_observe(struct pl_series *series, double value)
{
    const struct pl_metric_spec *spec = &series->of->spec;
    size_t i = 0;
    while (i < spec->bound_count && value > spec->bounds[i])
        i++;
    atomic_fetch_add_explicit(&series->tally[i], 1, memory_order_relaxed);
    pl_series_add(series, value);
}

double pl_series_value(const struct pl_series *series)
{
    if (series->tally == NULL)
        return from_bits(atomic_load_explicit(&series->bits, memory_order_relaxed));
    uint64_t count = 0;
    for (size_t i = 0; i <= series->of->spec.bound_count; i++)
        count += atomic_load_explicit(&series->tally[i], memory_order_relaxed);
    return (double)count;
}

/* "NaN", "+Inf", whole numbers without an exponent, else what reads back the same. */
static void add_number(struct pl_buf *out, double value)
{
    if (!isfinite(value))
        pl_buf_add_z(out, isnan(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf");
    else if (floor(value) == value && fabs(value) < 1e15)
        pl_buf_add_f(out, "%.0f", value);
    else
        pl_buf_add_f(out, "%.*g", fabs(value) < 1e-4 || fabs(value) >= 1e15 ? 17 : 12, value);
}

static void add_line(struct pl_buf *out, const struct pl_series *series, const char *suffix,
                     double value)
{
    bool bare = series->labels[0] == '\0';
    pl_buf_add_f(out, "%s%s%s%s%s ", series->of->spec.name, suffix, bare ? "" : "{", series->labels,
                 bare ? "" : "}");
    add_number(out, value);
    pl_buf_add_char(out, '\n');
}

static void add_histogram(struct pl_buf *out, const struct pl_series *series)
{
    const struct pl_metric_spec *spec = &series->of->spec;
    uint64_t count = 0;
    for (size_t i = 0; i <= spec->bound_count; i++) {
        count += atomic_load_explicit(&series->tally[i], memory_order_relaxed);
        pl_buf_add_f(out, "%s_bucket{%s%sle=\"", spec->name, series->labels,
                     series->labels[0] ? "," : "");
        add_number(out, i < spec->bound_count ? spec->bounds[i] : HUGE_VAL);
        pl_buf_add_f(out, "\"} %" PRIu64 "\n", count);
    }
    add_line(out, series, "_sum",
             from_bits(atomic_load_explicit(&series->bits, memory_order_relaxed)));
    add_line(out, series, "_count", (double)count);
}

static void add_family(struct pl_buf *out, struct pl_metric *metric)
{
    static const char *const types[] = {"counter", "gauge", "histogram"};
    pl_buf_add_f(out, "# HELP %s ", metric->spec.name);
    add_escaped(out, metric->spec.help, false);
    pl_buf_add_f(out, "\n# TYPE %s %s\n", metric->spec.name, types[metric->spec.type]);
    PL_LIST_FOR (link, &metric->series) {
        const struct pl_series *series = PL_CONTAINER_OF(link, struct pl_series, link);
        if (series->tally != NULL)
            add_histogram(out, series);
        else
            add_line(out, series, "", pl_series_value(series));
    }
}

void pl_metrics_write(struct pl_metrics *metrics, struct pl_buf *out)
{
    PL_LIST_FOR (link, &metrics->collectors) {
        struct collector *collector = PL_CONTAINER_OF(link, struct collector, link);
        collector->collect(collector->arg);
    }
    pthread_mutex_lock(&metrics->lock);
    PL_LIST_FOR (link, &metrics->metrics) {
        struct pl_metric *metric = PL_CONTAINER_OF(link, struct pl_metric, link);
        if (!pl_list_empty(&metric->series))
            add_family(out, metric);
    }
    pthread_mutex_unlock(&metrics->lock);
}
