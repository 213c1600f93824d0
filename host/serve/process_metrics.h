/* process_* as every exporter has it, read from /proc when the page is written. */
#pragma once

#include "base/metrics.h"

struct pl_process_metrics;

/* Registers the metrics. The caller owns the result. */
struct pl_process_metrics *pl_process_metrics_add(struct pl_metrics *metrics);
/* Call it before the registry is destroyed. Accepts NULL. */
void pl_process_metrics_remove(struct pl_process_metrics *process);
