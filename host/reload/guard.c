#include "reload/guard.h"

void pl_guard_begin(struct pl_guard *guard, int64_t now_ns)
{
    *guard = (struct pl_guard){.on = true, .until_ns = now_ns + PL_GUARD_NS};
}

enum pl_guard_verdict pl_guard_look(struct pl_guard *guard, int64_t now_ns)
{
    if (guard->on && (now_ns >= guard->until_ns || guard->runs >= PL_GUARD_RUNS))
        guard->on = false;
    return guard->on ? PL_GUARD_WATCHING : PL_GUARD_PASSED;
}

/* Runs that could not be interrupted weigh more: these are added to the runs and the failures. */
static int guard_more(const struct pl_guard *guard)
{
    return guard->lost * (PL_GUARD_FAILURES - 1);
}

static bool most_failed(const struct pl_guard *guard)
{
    int more = guard_more(guard);
    return (guard->failures + more) * 2 > guard->runs + more;
}

bool pl_guard_is_good(const struct pl_guard *guard)
{
    return guard->clean > 0 && !most_failed(guard);
}

enum pl_guard_verdict pl_guard_ran(struct pl_guard *guard, enum pl_guard_run run, int64_t now_ns)
{
    if (pl_guard_look(guard, now_ns) != PL_GUARD_WATCHING)
        return PL_GUARD_PASSED;
    guard->runs++;
    guard->clean += run == PL_GUARD_CLEAN;
    guard->failures += run == PL_GUARD_WORSE;
    if (guard->failures + guard_more(guard) >= PL_GUARD_FAILURES && most_failed(guard)) {
        guard->on = false;
        return PL_GUARD_FAILED;
    }
    return pl_guard_look(guard, now_ns);
}

enum pl_guard_verdict pl_guard_lost(struct pl_guard *guard, int64_t now_ns)
{
    guard->lost++;
    return pl_guard_ran(guard, PL_GUARD_WORSE, now_ns);
}
