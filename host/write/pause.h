/* Paused objects. A For object with the annotation perilune.dev/paused, with any value except
 * "false", is not reconciled: at its turn the key is parked, with a wait in the registry, until an
 * event brings the object without the annotation, being deleted, or gone. Events meanwhile are
 * cached, and kept as causes of the next run. I/O thread. */
#pragma once

#include "write/gate.h"

#define PL_PAUSED_ANNOTATION "perilune.dev/paused"

/* True when it has the annotation and is not being deleted. */
bool pl_object_is_paused(struct pl_node object);

/* `perilune pause` and `resume`: one patch of the annotation through the gate, from any replica.
 * ENOTFOUND or the server's answer when there is no such kind or object. */
struct pl_pause {
    struct pl_kind kind;
    struct pl_slice ns, name;
    bool paused;         /* false: resume */
    int64_t deadline_ns; /* monotonic; 0: none */
};
/* As pl_gate_write, also who owns the result. */
struct pl_gate_op *pl_pause_object(struct pl_gate *gate, const struct pl_pause *pause,
                                   pl_written_fn on_written, void *arg);
