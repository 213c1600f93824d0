/* Passes the reconciler's reports about a run to its owner; neither knows the other. */
#include "control/reconciler.h"

void pl_run_waits(struct pl_run *run)
{
    if (run->owner->waits != NULL)
        run->owner->waits(run);
}

void pl_run_called(struct pl_run *run, struct pl_slice what, struct pl_slice result,
                   int64_t took_ns)
{
    if (run->owner->called != NULL)
        run->owner->called(run, what, result, took_ns);
}

void pl_run_wrote(struct pl_run *run, struct pl_node object)
{
    if (run->owner->wrote != NULL)
        run->owner->wrote(run, object);
}

void pl_run_finish(struct pl_run *run, const struct pl_outcome_of_run *outcome)
{
    run->owner->finish(run, outcome);
}
