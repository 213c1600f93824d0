/* Metrics and the page that shows them. A series is found under the registry's lock and then
 * updated without it by atomic operations, from any thread.
 *
 * No outsider may make the page grow without end. A metric has a limited number of series; label
 * values beyond the limit share one series with the labels "other". Scripts may declare a limited
 * number of metrics. Label values are escaped and made valid UTF-8, since Prometheus refuses a
 * whole page for one wrong byte.
 *
 * Collectors run on the thread that writes the page, without the lock. They set values that are
 * computed only on demand. */
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

/* Doubles are kept as bits in 64-bit atomics: loading and storing need no library call, and C11's
 * atomic double has no cheaper addition. */
struct pl_series {
    struct pl_link link;   /* in the metric's series */
    struct pl_metric *of;  /* back-pointer */
    char *labels;          /* owned: {a="b",c="d"} without the braces, "" for none */
    struct pl_link owned;  /* in the owner's series */
    struct owner *owner;   /* back-pointer; NULL: none */
    size_t holds;          /* number of pl_metric_hold calls that are not released */
    bool kept;             /* pl_metric_series has returned it: it stays */
    _Atomic uint64_t bits; /* the value; a histogram's sum */
    _Atomic uint64_t
        *tally; /* owned: counts of a histogram by bound, the last is +Inf; not cumulative */
};

struct pl_metric {
    struct pl_link link; /* in the registry */
    struct pl_metrics *registry;
    struct pl_metric_spec spec;
    bool declared; /* declared by a script: its texts and bounds are owned */
    size_t label_count;
    struct pl_list series;   /* in the order of their creation */
    struct pl_map by_labels; /* label text -> series */
};

/* Series that end together. */
struct owner {
    struct pl_list series;
    char *text; /* owned */
};

struct collector {
    struct pl_link link;
    void (*collect)(void *arg);
    void *arg;
};

struct pl_metrics {
    pthread_mutex_t lock; /* protects the lists; a leaf */
    struct pl_list metrics;
    size_t declared;      /* number of metrics of pl_metrics_declare */
    struct pl_map owners; /* text -> struct owner, owned */
    _Atomic size_t owner_count;
    struct pl_list collectors; /* used by the writing thread only */
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

static void free_series(struct pl_series *series)
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
        free_series(PL_CONTAINER_OF(link, struct pl_series, link));
    pl_map_deinit(&metric->by_labels);
    if (metric->declared)
        free_texts(&metric->spec);
    pl_free(metric);
}

static void free_owner(struct owner *owner)
{
    pl_free(owner->text);
    pl_free(owner);
}

static void free_owners(struct pl_map *owners)
{
    size_t at = 0;
    struct pl_slice key;
    void *value;
    while (pl_map_next(owners, &at, &key, &value))
        free_owner(value);
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

static struct pl_metric *find_metric(struct pl_metrics *metrics, const char *name)
{
    PL_LIST_FOR (link, &metrics->metrics) {
        struct pl_metric *metric = PL_CONTAINER_OF(link, struct pl_metric, link);
        if (strcmp(metric->spec.name, name) == 0)
            return metric;
    }
    return NULL;
}

static size_t count_labels(const struct pl_metric_spec *spec)
{
    size_t count = 0;
    while (count < PL_METRIC_LABELS && spec->labels[count] != NULL)
        count++;
    return count;
}

static struct pl_metric *make_metric(struct pl_metrics *metrics, const struct pl_metric_spec *spec)
{
    struct pl_metric *metric = PL_NEW(struct pl_metric);
    metric->registry = metrics;
    metric->spec = *spec;
    if (metric->spec.max_series == 0)
        metric->spec.max_series = PL_METRIC_SERIES;
    metric->label_count = count_labels(spec);
    pl_list_init(&metric->series);
    pl_list_push(&metrics->metrics, &metric->link);
    return metric;
}

struct pl_metric *pl_metrics_add(struct pl_metrics *metrics, const struct pl_metric_spec *spec)
{
    PL_REQUIRE(spec->bound_count <= PL_METRIC_BOUNDS);
    pthread_mutex_lock(&metrics->lock);
    struct pl_metric *metric = find_metric(metrics, spec->name);
    if (metric == NULL)
        metric = make_metric(metrics, spec);
    pthread_mutex_unlock(&metrics->lock);
    return metric;
}

/* ---- metrics that scripts declare ---- */

static bool metrics_is_name(const char *text, bool colons)
{
    for (size_t i = 0; text[i] != '\0'; i++) {
        char c = text[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && !(colons && c == ':') && !(i > 0 && c >= '0' && c <= '9'))
            return false;
    }
    return text[0] != '\0' && strlen(text) <= 200;
}

static int check_spec(const struct pl_metric_spec *spec, struct pl_err *err)
{
    size_t count = count_labels(spec);
    if (!metrics_is_name(spec->name, true))
        return pl_err_set(err, PL_EINVAL,
                          "\"%.200s\" is not a metric name: letters, digits, \"_\" and \":\", at "
                          "most 200, not beginning with a digit",
                          spec->name);
    if (strlen(spec->help) > PL_METRIC_HELP)
        return pl_err_set(err, PL_EINVAL, "the help of %s is longer than %d bytes", spec->name,
                          PL_METRIC_HELP);
    for (size_t i = 0; i < count; i++) {
        const char *label = spec->labels[i];
        if (!metrics_is_name(label, false) || strncmp(label, "__", 2) == 0)
            return pl_err_set(err, PL_EINVAL,
                              "\"%.200s\" is not a label name: letters, digits and \"_\", not "
                              "beginning with a digit or \"__\"",
                              label);
        if (spec->type == PL_METRIC_HISTOGRAM && strcmp(label, "le") == 0)
            return pl_err_set(err, PL_EINVAL, "a histogram has the label \"le\" already");
        for (size_t k = 0; k < i; k++)
            if (strcmp(label, spec->labels[k]) == 0)
                return pl_err_set(err, PL_EINVAL, "the label \"%s\" is given twice", label);
    }
    return 0;
}

static const char *const type_names[] = {"counter", "gauge", "histogram"};

static bool is_same(const struct pl_metric_spec *a, const struct pl_metric_spec *b)
{
    bool same = a->type == b->type && a->bound_count == b->bound_count &&
                count_labels(a) == count_labels(b);
    for (size_t i = 0; same && i < count_labels(a); i++)
        same = strcmp(a->labels[i], b->labels[i]) == 0;
    for (size_t i = 0; same && i < a->bound_count; i++)
        same = a->bounds[i] == b->bounds[i];
    return same;
}

/* The page shows a histogram as series with suffixes, and these names must not belong to another
 * metric. */
static bool is_suffixed(const struct pl_metric_spec *histogram, const char *name)
{
    size_t len = strlen(histogram->name);
    return histogram->type == PL_METRIC_HISTOGRAM && strncmp(name, histogram->name, len) == 0 &&
           (strcmp(name + len, "_bucket") == 0 || strcmp(name + len, "_sum") == 0 ||
            strcmp(name + len, "_count") == 0);
}

static int check_against(struct pl_metrics *metrics, const struct pl_metric_spec *spec,
                         struct pl_err *err)
{
    PL_LIST_FOR (link, &metrics->metrics) {
        const struct pl_metric_spec *other = &PL_CONTAINER_OF(link, struct pl_metric, link)->spec;
        if (is_suffixed(other, spec->name) || is_suffixed(spec, other->name))
            return pl_err_set(err, PL_EINVAL, "%s and %s would have series of the same name",
                              spec->name, other->name);
    }
    if (metrics->declared >= PL_METRIC_DECLARED)
        return pl_err_set(err, PL_ELIMIT, "%s: there are %d metrics of scripts already", spec->name,
                          PL_METRIC_DECLARED);
    return 0;
}

static int metrics_differs(const struct pl_metric_spec *have, struct pl_err *err)
{
    struct pl_buf labels = PL_BUF_INIT;
    for (size_t i = 0; i < count_labels(have); i++)
        pl_buf_add_f(&labels, "%s%s", i ? ", " : "", have->labels[i]);
    int rc = pl_err_set(err, PL_EINVAL, "%s is a %s with the labels {%s} already", have->name,
                        type_names[have->type], pl_buf_z(&labels));
    pl_buf_deinit(&labels);
    return rc;
}

static struct pl_metric *copy_metric(struct pl_metrics *metrics, const struct pl_metric_spec *spec)
{
    struct pl_metric_spec copy = *spec;
    copy.name = pl_strdup(spec->name);
    copy.help = pl_strdup(spec->help);
    memset(copy.labels, 0, sizeof(copy.labels));
    for (size_t i = 0; i < count_labels(spec); i++)
        copy.labels[i] = pl_strdup(spec->labels[i]);
    double *bounds = pl_calloc(spec->bound_count + 1, sizeof(double));
    for (size_t i = 0; i < spec->bound_count; i++)
        bounds[i] = spec->bounds[i];
    copy.bounds = bounds;
    struct pl_metric *metric = make_metric(metrics, &copy);
    metric->declared = true;
    metrics->declared++;
    return metric;
}

struct pl_metric *pl_metrics_declare(struct pl_metrics *metrics, const struct pl_metric_spec *spec,
                                     struct pl_err *err)
{
    PL_REQUIRE(spec->bound_count <= PL_METRIC_BOUNDS);
    if (check_spec(spec, err) != 0)
        return NULL;
    pthread_mutex_lock(&metrics->lock);
    struct pl_metric *metric = find_metric(metrics, spec->name);
    if (metric != NULL && !is_same(&metric->spec, spec)) {
        metrics_differs(&metric->spec, err);
        metric = NULL;
    } else if (metric == NULL && check_against(metrics, spec, err) == 0) {
        metric = copy_metric(metrics, spec);
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

static struct pl_series *take_series(struct pl_metric *metric, const char *const *values, bool keep)
{
    char *labels = label_text(metric, metric->label_count ? values : NULL);
    pthread_mutex_lock(&metric->registry->lock);
    struct pl_series *series = find_or_make_series(metric, labels);
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
        free_series(series);
}

/* ---- series that come and go; all functions run under the lock ---- */

static void leave_owner(struct pl_series *series)
{
    struct owner *owner = series->owner;
    if (owner == NULL)
        return;
    struct pl_metrics *metrics = series->of->registry;
    pl_link_unlink(&series->owned);
    series->owner = NULL;
    if (!pl_list_empty(&owner->series))
        return;
    pl_map_remove(&metrics->owners, pl_slice_z(owner->text));
    atomic_store_explicit(&metrics->owner_count, metrics->owners.count, memory_order_relaxed);
    free_owner(owner);
}

static void join_owner(struct pl_series *series, const char *text)
{
    struct pl_metrics *metrics = series->of->registry;
    if (series->owner != NULL && strcmp(series->owner->text, text) == 0)
        return;
    leave_owner(series);
    struct owner *owner = pl_map_get(&metrics->owners, pl_slice_z(text));
    if (owner == NULL) {
        owner = PL_NEW(struct owner);
        owner->text = pl_strdup(text);
        pl_list_init(&owner->series);
        pl_map_put(&metrics->owners, pl_slice_z(text), owner);
        atomic_store_explicit(&metrics->owner_count, metrics->owners.count, memory_order_relaxed);
    }
    series->owner = owner;
    pl_list_push(&owner->series, &series->owned);
}

static void drop_series(struct pl_series *series)
{
    leave_owner(series);
    pl_link_unlink(&series->link);
    pl_map_remove(&series->of->by_labels, pl_slice_z(series->labels));
    free_series(series);
}

void pl_metric_put(struct pl_metric *metric, const char *const *values, const char *owner,
                   enum pl_metric_put how, double value)
{
    PL_REQUIRE(metric->declared);
    char *labels = label_text(metric, metric->label_count ? values : NULL);
    pthread_mutex_lock(&metric->registry->lock);
    bool fits = pl_map_has(&metric->by_labels, pl_slice_z(labels)) ||
                metric->by_labels.count < metric->spec.max_series;
    struct pl_series *series = find_or_make_series(metric, labels);
    if (how == PL_METRIC_OBSERVE)
        pl_series_observe(series, value);
    else if (how == PL_METRIC_SET)
        pl_series_set(series, value);
    else
        pl_series_add(series, value);
    if (owner != NULL && fits)
        join_owner(series, owner);
    pthread_mutex_unlock(&metric->registry->lock);
}

bool pl_metric_remove(struct pl_metric *metric, const char *const *values)
{
    PL_REQUIRE(metric->declared);
    char *labels = label_text(metric, metric->label_count ? values : NULL);
    pthread_mutex_lock(&metric->registry->lock);
    struct pl_series *series = pl_map_get(&metric->by_labels, pl_slice_z(labels));
    if (series != NULL)
        drop_series(series);
    pthread_mutex_unlock(&metric->registry->lock);
    pl_free(labels);
    return series != NULL;
}

/* The last series frees its owner. */
static void drop_owner(struct owner *owner)
{
    bool more = true;
    while (more) {
        struct pl_link *link = pl_list_first(&owner->series);
        more = link->next != &owner->series.head;
        drop_series(PL_CONTAINER_OF(link, struct pl_series, owned));
    }
}

void pl_metrics_disown(struct pl_metrics *metrics, struct pl_slice text)
{
    pthread_mutex_lock(&metrics->lock);
    struct owner *owner = pl_map_get(&metrics->owners, text);
    if (owner != NULL)
        drop_owner(owner);
    pthread_mutex_unlock(&metrics->lock);
}

static struct owner *find_owner(const struct pl_map *owners, struct pl_slice beginning)
{
    size_t at = 0;
    struct pl_slice key;
    void *value;
    while (pl_map_next(owners, &at, &key, &value))
        if (key.len >= beginning.len && memcmp(key.ptr, beginning.ptr, beginning.len) == 0)
            return value;
    return NULL;
}

void pl_metrics_disown_all(struct pl_metrics *metrics, struct pl_slice beginning)
{
    struct owner *owner;
    pthread_mutex_lock(&metrics->lock);
    while ((owner = find_owner(&metrics->owners, beginning)) != NULL)
        drop_owner(owner);
    pthread_mutex_unlock(&metrics->lock);
}

size_t pl_metrics_owners(const struct pl_metrics *metrics)
{
    return atomic_load_explicit(&((struct pl_metrics *)metrics)->owner_count, memory_order_relaxed);
}

int pl_metric_label(const struct pl_metric *metric, const char *name)
{
    for (size_t i = 0; i < metric->label_count; i++)
        if (strcmp(metric->spec.labels[i], name) == 0)
            return (int)i;
    return -1;
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
    pl_buf_add_f(out, "\n# TYPE %s %s\n", metric->spec.name, type_names[metric->spec.type]);
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
