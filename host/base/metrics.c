/* Metrics and the page that shows them. A series is found under the registry's lock and then
 * updated without it by atomic operations, from any thread.
 *
 * No outsider may make the page grow without end. A metric has a limited number of series; label
 * values beyond the limit share one series with the labels "other". Label values are escaped and
 * made valid UTF-8, since Prometheus refuses a whole page for one wrong byte.
 *
 * Collectors run on the thread that writes the page, without the lock. They set values that are
 * computed only on demand. */
#include "base/metrics_impl.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

struct collector {
    struct pl_link link;
    void (*collect)(void *arg);
    void *arg;
};

const char *const pl_metric_type_names[] = {"counter", "gauge", "histogram"};

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

void pl_series_free(struct pl_series *series)
{
    pl_free(series->labels);
    pl_free(series->tally);
    pl_free(series);
}

static void free_texts(struct pl_metric_spec *spec)
{
    pl_free((char *)spec->name);
    pl_free((char *)spec->help);
    for (size_t i = 0; i < PL_METRIC_LABELS; i++)
        pl_free((char *)spec->labels[i]);
    pl_free((double *)spec->bounds);
}

static void destroy_metric(struct pl_metric *metric)
{
    struct pl_link *link;
    while ((link = pl_list_pop(&metric->series)) != NULL)
        pl_series_free(PL_CONTAINER_OF(link, struct pl_series, link));
    pl_map_deinit(&metric->by_labels);
    if (metric->declared)
        free_texts(&metric->spec);
    pl_free(metric);
}

static void free_owners(struct pl_map *owners)
{
    size_t at = 0;
    struct pl_slice key;
    void *value;
    while (pl_map_next(owners, &at, &key, &value))
        pl_free(value);
    pl_map_deinit(owners);
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
    free_owners(&metrics->owners);
    pthread_mutex_destroy(&metrics->lock);
    pl_free(metrics);
}

struct pl_metric *pl_metrics_find(struct pl_metrics *metrics, const char *name)
{
    PL_LIST_FOR (link, &metrics->metrics) {
        struct pl_metric *metric = PL_CONTAINER_OF(link, struct pl_metric, link);
        if (strcmp(metric->spec.name, name) == 0)
            return metric;
    }
    return NULL;
}

size_t pl_metric_count_labels(const struct pl_metric_spec *spec)
{
    size_t count = 0;
    while (count < PL_METRIC_LABELS && spec->labels[count] != NULL)
        count++;
    return count;
}

struct pl_metric *pl_metrics_make(struct pl_metrics *metrics, const struct pl_metric_spec *spec)
{
    struct pl_metric *metric = PL_NEW(struct pl_metric);
    metric->registry = metrics;
    metric->spec = *spec;
    if (metric->spec.max_series == 0)
        metric->spec.max_series = PL_METRIC_SERIES;
    metric->label_count = pl_metric_count_labels(spec);
    pl_list_init(&metric->series);
    pl_list_push(&metrics->metrics, &metric->link);
    return metric;
}

struct pl_metric *pl_metrics_add(struct pl_metrics *metrics, const struct pl_metric_spec *spec)
{
    PL_REQUIRE(spec->bound_count <= PL_METRIC_BOUNDS);
    pthread_mutex_lock(&metrics->lock);
    struct pl_metric *metric = pl_metrics_find(metrics, spec->name);
    if (metric == NULL)
        metric = pl_metrics_make(metrics, spec);
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

/* The length of the character at text, 0 when it is not valid UTF-8: Prometheus refuses a whole
 * page for one wrong byte. */
static size_t character(const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t len = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    if (p[0] > 0xf4 || (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
        (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
        return 0;
    for (size_t i = 1; i < len; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    return len;
}

static void add_escaped(struct pl_buf *out, const char *text, bool quotes)
{
    size_t len;
    for (; *text != '\0'; text += len > 0 ? len : 1) {
        len = character(text);
        if (*text == '\n')
            pl_buf_add_z(out, "\\n");
        else if (*text == '\\' || (quotes && *text == '"'))
            pl_buf_add_f(out, "\\%c", *text);
        else if (len == 0)
            pl_buf_add_z(out, "\xef\xbf\xbd");
        else
            pl_buf_add(out, text, len);
    }
}

char *pl_metric_label_text(const struct pl_metric *metric, const char *const *values)
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

struct pl_series *pl_metric_find_or_make_series(struct pl_metric *metric, char *labels)
{
    struct pl_series *series = pl_map_get(&metric->by_labels, pl_slice_z(labels));
    if (series == NULL && metric->by_labels.count >= metric->spec.max_series) {
        pl_free(labels);
        labels = pl_metric_label_text(metric, NULL);
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

static struct pl_series *take_series(struct pl_metric *metric, const char *const *values, bool keep)
{
    char *labels = pl_metric_label_text(metric, metric->label_count ? values : NULL);
    pthread_mutex_lock(&metric->registry->lock);
    struct pl_series *series = pl_metric_find_or_make_series(metric, labels);
    series->holds += !keep;
    series->kept |= keep;
    pthread_mutex_unlock(&metric->registry->lock);
    return series;
}

struct pl_series *pl_metric_series(struct pl_metric *metric, const char *const *values)
{
    return take_series(metric, values, true);
}

struct pl_series *pl_metric_hold(struct pl_metric *metric, const char *const *values)
{
    return take_series(metric, values, false);
}

void pl_series_release(struct pl_series *series)
{
    if (series == NULL)
        return;
    struct pl_metric *metric = series->of;
    pthread_mutex_lock(&metric->registry->lock);
    PL_REQUIRE(series->holds > 0);
    bool last = --series->holds == 0 && !series->kept;
    if (last) {
        pl_link_unlink(&series->link);
        pl_map_remove(&metric->by_labels, pl_slice_z(series->labels));
    }
    pthread_mutex_unlock(&metric->registry->lock);
    if (last)
        pl_series_free(series);
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
    char text[32];
    if (!isfinite(value)) {
        pl_buf_add_z(out, isnan(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf");
    } else if (floor(value) == value && fabs(value) < 1e15) {
        pl_buf_add_f(out, "%.0f", value);
    } else {
        pl_text_of_double(value, text);
        pl_buf_add_z(out, text);
    }
}

static void metrics_add_line(struct pl_buf *out, const struct pl_series *series, const char *suffix,
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
    metrics_add_line(out, series, "_sum",
                     from_bits(atomic_load_explicit(&series->bits, memory_order_relaxed)));
    metrics_add_line(out, series, "_count", (double)count);
}

static void add_family(struct pl_buf *out, struct pl_metric *metric)
{
    pl_buf_add_f(out, "# HELP %s ", metric->spec.name);
    add_escaped(out, metric->spec.help, false);
    pl_buf_add_f(out, "\n# TYPE %s %s\n", metric->spec.name,
                 pl_metric_type_names[metric->spec.type]);
    PL_LIST_FOR (link, &metric->series) {
        const struct pl_series *series = PL_CONTAINER_OF(link, struct pl_series, link);
        if (series->tally != NULL)
            add_histogram(out, series);
        else
            metrics_add_line(out, series, "", pl_series_value(series));
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
