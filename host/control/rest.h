/* What a controller has still to do: for `--once`, and for whoever steps a host by hand. I/O
 * thread. */
#pragma once

#include "control/controller.h"

/* What goes on by itself now; NULL: nothing does. Keys that wait for their time, and the run of a
 * task that does not end by itself, are none of it. */
const char *pl_controller_busy_with(struct pl_controller *controller);
/* Visits the keys that wait for their time; fails: they are tried again. The queue must not change
 * meanwhile. */
void pl_controller_each_due(struct pl_controller *controller,
                            void (*visit)(void *arg, struct pl_slice key, int64_t due_ns,
                                          bool fails),
                            void *arg);
