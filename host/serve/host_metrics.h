/* perilune_* metrics that belong to no controller and no lane: the build, the registry of waits,
 * the memory of documents, the turns of the loop. */
#pragma once

#include "base/metrics.h"
#include "base/wait.h"
#include "net/loop.h"
#include "value/pool.h"

struct pl_host_metrics;

/* All are borrowed until the removal. */
struct pl_host_metrics *pl_host_metrics_add(struct pl_metrics *metrics, struct pl_waits *waits,
                                            struct pl_pool *pool, struct pl_loop *loop);
/* Call it before the registry is destroyed. Accepts NULL. */
void pl_host_metrics_remove(struct pl_host_metrics *host);
