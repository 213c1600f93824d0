/* Passes the reconciler's reports about a run to its owner; neither knows the other. Also the
 * names of outcomes. */
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

const char *pl_outcome_name(enum pl_outcome outcome)
{
    static const char names[][16] = {
        [PL_OUTCOME_DONE] = "done",         [PL_OUTCOME_REQUEUE_AFTER] = "requeue_after",
        [PL_OUTCOME_REQUEUE] = "requeue",   [PL_OUTCOME_ERROR] = "error",
        [PL_OUTCOME_TERMINAL] = "terminal", [PL_OUTCOME_CONFLICT] = "conflict",
        [PL_OUTCOME_TIMEOUT] = "timeout",   [PL_OUTCOME_CANCELED] = "canceled",
        [PL_OUTCOME_WAITING] = "waiting",
    };
    return names[outcome];
}

bool pl_outcome_is_error(enum pl_outcome outcome)
{
    return outcome == PL_OUTCOME_ERROR || outcome == PL_OUTCOME_TIMEOUT ||
           outcome == PL_OUTCOME_TERMINAL;
}

bool pl_outcome_backs_off(enum pl_outcome outcome)
{
    return outcome == PL_OUTCOME_REQUEUE || outcome == PL_OUTCOME_ERROR ||
           outcome == PL_OUTCOME_TIMEOUT || outcome == PL_OUTCOME_CONFLICT;
}
