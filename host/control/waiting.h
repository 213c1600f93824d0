/* Keys whose script waits for something outside (perilune.waiting): the last run is not done, and
 * an event wakes the key. Each is a wait in the registry, with the script's reason, from the first
 * run that said so until one that says something else. Runs that fail or are cancelled say nothing.
 * I/O thread. */
#pragma once

#include "control/reconciler.h"

/* A run of key has ended so: the key begins to wait, waits on, or waits no more. */
void pl_controller_note_waiting(struct pl_controller *controller, struct pl_slice key,
                                const struct pl_outcome_of_run *outcome);
/* Harmless when it does not wait. */
void pl_controller_waits_no_more(struct pl_controller *controller, struct pl_slice key);
/* The reason, borrowed until the controller does something, and since when it waits (monotonic);
 * NULL when it does not. */
const char *pl_controller_waits_for(const struct pl_controller *controller, struct pl_slice key,
                                    int64_t *since_ns);
void pl_controller_free_waiting(struct pl_controller *controller);
