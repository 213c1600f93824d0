/* The remaining work of a controller: for `--once`, and for stepped hosts. I/O thread. */
#pragma once

#include "control/controller.h"

/* The work that continues by itself now; NULL: none. Delayed keys, and runs of endless tasks, do
 * not count. A literal. */
const char *pl_controller_busy_with(struct pl_controller *controller);
/* Visits the delayed keys; fails: the delay is a retry. The queue must not change meanwhile. */
void pl_controller_each_due(struct pl_controller *controller,
                            void (*visit)(void *arg, struct pl_slice key, int64_t due_ns,
                                          bool fails),
                            void *arg);
