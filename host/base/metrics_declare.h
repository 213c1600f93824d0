/* Metrics that scripts declare: their texts come from outside, and their series have a limited
 * life. On the page they stand with the others (base/metrics.h). */
#pragma once

#include "base/err.h"
#include "base/metrics.h"
#include "base/slice.h"

#define PL_METRIC_DECLARED 200 /* limit of metrics that pl_metrics_declare adds */
#define PL_METRIC_HELP     1000

/* Like pl_metrics_add, for a metric whose texts come from outside: they are copied and checked.
 * Returns NULL with EINVAL or ELIMIT if Prometheus would refuse them, if a metric with this name
 * has another type, other labels or other bounds (another help text is allowed; the first one
 * stays), or if there are PL_METRIC_DECLARED metrics already. Any thread. */
struct pl_metric *pl_metrics_declare(struct pl_metrics *metrics, const struct pl_metric_spec *spec,
                                     struct pl_err *err);

/* The operation on a series; it must fit the metric's type. */
enum pl_metric_put { PL_METRIC_ADD, PL_METRIC_SET, PL_METRIC_OBSERVE };

/* Finds or creates the series and changes it under one lock, since any thread may remove it. owner:
 * a text; the series ends when its owner ends (pl_metrics_disown). NULL: the series keeps the owner
 * that it has, if any. The series "other" has no owner. */
void pl_metric_put(struct pl_metric *metric, const char *const *values, const char *owner,
                   enum pl_metric_put how, double value);
/* Returns false if there is no such series. */
bool pl_metric_remove(struct pl_metric *metric, const char *const *values);
/* Removes every series of the owner. */
void pl_metrics_disown(struct pl_metrics *metrics, struct pl_slice owner);
/* The same for all owners whose text begins with `beginning`. */
void pl_metrics_disown_all(struct pl_metrics *metrics, struct pl_slice beginning);
/* The number of owners. Any thread, without a lock. */
size_t pl_metrics_owners(const struct pl_metrics *metrics);
/* The label's index among the metric's labels; -1 if the metric has no such label. */
int pl_metric_label(const struct pl_metric *metric, const char *name);
