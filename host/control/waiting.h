/* Keys whose script waits for something external (perilune.waiting): the last run is not done, and
 * an event will queue the key. Each is a wait in the registry, with the script's reason, from the
 * first run with that result until a run with another result. Failed and cancelled runs do not
 * count. I/O thread. */
#pragma once

#include "control/reconciler.h"

/* A run of key has ended with this outcome: the key begins, continues or stops waiting. */
void pl_controller_note_waiting(struct pl_controller *controller, struct pl_slice key,
                                const struct pl_outcome_of_run *outcome);
/* Does nothing when it does not wait. */
void pl_controller_waits_no_more(struct pl_controller *controller, struct pl_slice key);
/* The reason, borrowed until the controller does something, and the start of the wait (monotonic);
 * NULL when it does not wait. */
const char *pl_controller_waits_for(const struct pl_controller *controller, struct pl_slice key,
                                    int64_t *since_ns);
void pl_controller_free_waiting(struct pl_controller *controller);
