/* Numbers of a running controller that an operator sets for a while: workers, and how long failed
 * keys wait. They come over what the script declares, survive reloads, and go by themselves. I/O
 * thread. */
#pragma once

#include "base/err.h"
#include "control/controller.h"

#define PL_TUNE_WORKERS_MAX 1000
#define PL_TUNE_FOR_MAX     (24 * 60 * 60 * PL_SECOND)

struct pl_tuning {
    int workers;             /* 0: as declared */
    int64_t base_ns, max_ns; /* the delay of failed keys; 0: as declared */
    double qps;              /* of requeues, all keys together; 0: as declared */
    int burst;               /* with qps; 0: as much as a second has */
};

/* Until for_ns from now; it replaces the one before. EINVAL for numbers that make no sense. */
PL_MUST_USE int pl_controller_tune(struct pl_controller *controller, const struct pl_tuning *tuning,
                                   int64_t for_ns, struct pl_err *err);
/* As declared again. Harmless when nothing is tuned. */
void pl_controller_untune(struct pl_controller *controller);
/* What is tuned and for how much longer; false: nothing is. */
bool pl_controller_tuned(const struct pl_controller *controller, struct pl_tuning *tuning,
                         int64_t *left_ns);
