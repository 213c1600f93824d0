/* Numbers of a running controller that an operator sets for a limited time: workers, and the delays
 * of failed keys. They override the script's declaration, survive reloads, and expire by
 * themselves. I/O thread. */
#pragma once

#include "base/err.h"
#include "control/controller.h"

#define PL_TUNE_WORKERS_MAX 1000
#define PL_TUNE_QPS_MAX     1000000
#define PL_TUNE_DELAY_MAX   (24 * 60 * 60 * PL_SECOND)
#define PL_TUNE_FOR_MAX     (24 * 60 * 60 * PL_SECOND)

struct pl_tuning {
    int workers;             /* 0: as declared */
    int64_t base_ns, max_ns; /* the delay of failed keys; 0: as declared */
    double qps;              /* requeues a second over all keys; 0: as declared */
    int burst;               /* with qps; 0: as many as in one second */
};

/* Applies for for_ns from now and replaces the current tuning. EINVAL for invalid numbers. */
PL_MUST_USE int pl_controller_tune(struct pl_controller *controller, const struct pl_tuning *tuning,
                                   int64_t for_ns, struct pl_err *err);
/* Returns to the declaration. Does nothing when there is no tuning. */
void pl_controller_untune(struct pl_controller *controller);
/* The current tuning and its remaining time; false: there is none. */
bool pl_controller_tuned(const struct pl_controller *controller, struct pl_tuning *tuning,
                         int64_t *left_ns);
