/* Metrics that scripts declare. Their texts come from outside, so they are checked and copied.
 *
 * Prometheus must accept the page whatever a script declares: names are its names, no two metrics
 * have series of the same name, and a second declaration must equal the first. The number of
 * declarations is limited.
 *
 * Series of these metrics come and go, also with an owner, for example the object that they
 * describe. Any thread may remove them, so they are found and changed under one lock. */
#include "base/metrics_declare.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/metrics_impl.h"
#include "base/text.h"

#include <string.h>

static bool metrics_is_name(const char *text, bool colons)
{
    for (size_t i = 0; text[i] != '\0'; i++) {
        char c = text[i];
        bool letter = pl_is_letter(c) || c == '_';
        if (!letter && !(colons && c == ':') && !(i > 0 && pl_is_digit(c)))
            return false;
    }
    return text[0] != '\0' && strlen(text) <= 200;
}

static int check_label(const struct pl_metric_spec *spec, size_t i, struct pl_err *err)
{
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
    return 0;
}

static int check_spec(const struct pl_metric_spec *spec, struct pl_err *err)
{
    if (!metrics_is_name(spec->name, true))
        return pl_err_set(err, PL_EINVAL,
                          "\"%.200s\" is not a metric name: letters, digits, \"_\" and \":\", at "
                          "most 200, not beginning with a digit",
                          spec->name);
    if (strlen(spec->help) > PL_METRIC_HELP)
        return pl_err_set(err, PL_EINVAL, "the help of %s is longer than %d bytes", spec->name,
                          PL_METRIC_HELP);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < pl_metric_count_labels(spec); i++)
        rc = check_label(spec, i, err);
    return rc;
}

static bool is_same(const struct pl_metric_spec *a, const struct pl_metric_spec *b)
{
    bool same = a->type == b->type && a->bound_count == b->bound_count &&
                pl_metric_count_labels(a) == pl_metric_count_labels(b);
    for (size_t i = 0; same && i < pl_metric_count_labels(a); i++)
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
    for (size_t i = 0; i < pl_metric_count_labels(have); i++)
        pl_buf_add_f(&labels, "%s%s", i ? ", " : "", have->labels[i]);
    int rc = pl_err_set(err, PL_EINVAL, "%s is a %s with the labels {%s} already", have->name,
                        pl_metric_type_names[have->type], pl_buf_z(&labels));
    pl_buf_deinit(&labels);
    return rc;
}

static struct pl_metric *copy_metric(struct pl_metrics *metrics, const struct pl_metric_spec *spec)
{
    struct pl_metric_spec copy = *spec;
    copy.name = pl_strdup(spec->name);
    copy.help = pl_strdup(spec->help);
    memset(copy.labels, 0, sizeof(copy.labels));
    for (size_t i = 0; i < pl_metric_count_labels(spec); i++)
        copy.labels[i] = pl_strdup(spec->labels[i]);
    double *bounds = pl_calloc(spec->bound_count + 1, sizeof(double));
    for (size_t i = 0; i < spec->bound_count; i++)
        bounds[i] = spec->bounds[i];
    copy.bounds = bounds;
    struct pl_metric *metric = pl_metrics_make(metrics, &copy);
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
    struct pl_metric *metric = pl_metrics_find(metrics, spec->name);
    if (metric != NULL && !is_same(&metric->spec, spec)) {
        metrics_differs(&metric->spec, err);
        metric = NULL;
    } else if (metric == NULL && check_against(metrics, spec, err) == 0) {
        metric = copy_metric(metrics, spec);
    }
    pthread_mutex_unlock(&metrics->lock);
    return metric;
}

/* ---- series that come and go; all functions run under the lock ---- */

static void leave_owner(struct pl_series *series)
{
    struct pl_series_owner *owner = series->owner;
    if (owner == NULL)
        return;
    struct pl_metrics *metrics = series->of->registry;
    pl_link_unlink(&series->owned);
    series->owner = NULL;
    if (!pl_list_empty(&owner->series))
        return;
    pl_map_remove(&metrics->owners, pl_slice_z(owner->text));
    atomic_store_explicit(&metrics->owner_count, metrics->owners.count, memory_order_relaxed);
    pl_free(owner);
}

static void join_owner(struct pl_series *series, const char *text)
{
    struct pl_metrics *metrics = series->of->registry;
    if (series->owner != NULL && strcmp(series->owner->text, text) == 0)
        return;
    leave_owner(series);
    struct pl_series_owner *owner = pl_map_get(&metrics->owners, pl_slice_z(text));
    if (owner == NULL) {
        owner = pl_calloc(1, sizeof(*owner) + strlen(text) + 1);
        strcpy(owner->text, text);
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
    pl_series_free(series);
}

void pl_metric_put(struct pl_metric *metric, const char *const *values, const char *owner,
                   enum pl_metric_put how, double value)
{
    PL_REQUIRE(metric->declared);
    char *labels = pl_metric_label_text(metric, metric->label_count ? values : NULL);
    pthread_mutex_lock(&metric->registry->lock);
    bool fits = pl_map_has(&metric->by_labels, pl_slice_z(labels)) ||
                metric->by_labels.count < metric->spec.max_series;
    struct pl_series *series = pl_metric_find_or_make_series(metric, labels);
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
    char *labels = pl_metric_label_text(metric, metric->label_count ? values : NULL);
    pthread_mutex_lock(&metric->registry->lock);
    struct pl_series *series = pl_map_get(&metric->by_labels, pl_slice_z(labels));
    if (series != NULL)
        drop_series(series);
    pthread_mutex_unlock(&metric->registry->lock);
    pl_free(labels);
    return series != NULL;
}

/* The last series frees its owner. */
static void drop_owner(struct pl_series_owner *owner)
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
    struct pl_series_owner *owner = pl_map_get(&metrics->owners, text);
    if (owner != NULL)
        drop_owner(owner);
    pthread_mutex_unlock(&metrics->lock);
}

static struct pl_series_owner *find_owner(const struct pl_map *owners, struct pl_slice beginning)
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
    struct pl_series_owner *owner;
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
