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

enum pl_guard_verdict pl_guard_ran(struct pl_guard *guard, bool failed, int64_t now_ns)
{
    if (pl_guard_look(guard, now_ns) != PL_GUARD_WATCHING)
        return PL_GUARD_PASSED;
    guard->runs++;
    guard->failures += failed;
    int more = guard->lost * (PL_GUARD_FAILURES - 1), failures = guard->failures + more;
    if (failures >= PL_GUARD_FAILURES && failures * 2 > guard->runs + more) {
        guard->on = false;
        return PL_GUARD_FAILED;
    }
    return pl_guard_look(guard, now_ns);
}

enum pl_guard_verdict pl_guard_lost(struct pl_guard *guard, int64_t now_ns)
{
    guard->lost++;
    return pl_guard_ran(guard, true, now_ns);
}
