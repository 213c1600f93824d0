/* The internals of a registry of metrics, only for metrics.c and metrics_declare.c. All functions
 * except pl_metric_label_text are called under the registry's lock. */
#pragma once

#include "base/list.h"
#include "base/map.h"
#include "base/metrics.h"

#include <pthread.h>
#include <stdatomic.h>

/* Doubles are kept as bits in 64-bit atomics: loading and storing need no library call, and C11's
 * atomic double has no cheaper addition. */
struct pl_series {
    struct pl_link link;           /* in the metric's series */
    struct pl_metric *of;          /* back-pointer */
    char *labels;                  /* owned: {a="b",c="d"} without the braces, "" for none */
    struct pl_link owned;          /* in the owner's series */
    struct pl_series_owner *owner; /* back-pointer; NULL: none */
    size_t holds;                  /* number of pl_metric_hold calls that are not released */
    bool kept;                     /* pl_metric_series has returned it: it stays */
    _Atomic uint64_t bits;         /* the value; a histogram's sum */
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
struct pl_series_owner {
    struct pl_list series;
    char text[];
};

struct pl_metrics {
    pthread_mutex_t lock; /* protects the lists; a leaf */
    struct pl_list metrics;
    size_t declared;      /* number of metrics of pl_metrics_declare */
    struct pl_map owners; /* text -> struct pl_series_owner, owned */
    _Atomic size_t owner_count;
    struct pl_list collectors; /* used by the writing thread only */
};

extern const char *const pl_metric_type_names[]; /* by enum pl_metric_type */

size_t pl_metric_count_labels(const struct pl_metric_spec *spec);
/* NULL: there is none. */
struct pl_metric *pl_metrics_find(struct pl_metrics *metrics, const char *name);
/* Adds a metric, which the registry owns; the spec's texts are borrowed. */
struct pl_metric *pl_metrics_make(struct pl_metrics *metrics, const struct pl_metric_spec *spec);
/* The labels as they stand on the page; the caller owns the text. values NULL: "other" for each.
 * Any thread. */
char *pl_metric_label_text(const struct pl_metric *metric, const char *const *values);
/* The series with these labels, or the one named "other" if there is no room for it. The text
 * becomes the registry's; the series is the metric's. */
struct pl_series *pl_metric_find_or_make_series(struct pl_metric *metric, char *labels);
/* Frees a series that is in no list and no map any more. */
void pl_series_free(struct pl_series *series);
