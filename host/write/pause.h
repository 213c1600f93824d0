/* Paused objects. A For object with the annotation perilune.dev/paused, whatever its value but
 * "false", is not reconciled: when its key's turn comes it is parked, with a wait in the registry,
 * until an event brings the object without the annotation, being deleted, or gone. What happens
 * meanwhile is cached, and remembered as causes of the next run. I/O thread. */
#pragma once

#include "write/gate.h"

#define PL_PAUSED_ANNOTATION "perilune.dev/paused"

/* Says so, and is not being deleted. */
bool pl_object_is_paused(struct pl_node object);

/* What `perilune pause` and `resume` do: one patch of the annotation through the gate, from any
 * replica. ENOTFOUND or the server's answer where there is no such kind or object. */
struct pl_pause {
    struct pl_kind kind;
    struct pl_slice ns, name;
    bool paused;         /* false: resume */
    int64_t deadline_ns; /* monotonic; 0: none */
};
struct pl_gate_op *pl_pause_object(struct pl_gate *gate, const struct pl_pause *pause,
                                   pl_written_fn on_written, void *arg);
