#include "net/awake.h"

#include <sched.h>

static int count_processors(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
}

void pl_awake_init(struct pl_awake *awake, const struct pl_clock *clock)
{
    *awake = (struct pl_awake){.clock = clock, .processors = count_processors()};
    awake->last_ns = PL_AWAKE_NS + 1;
}

void pl_awake_expect(struct pl_awake *awake)
{
    awake->expects = true;
}

void pl_awake_begin(struct pl_awake *awake, bool (*is_there)(void *arg), void *arg)
{
    awake->began_ns = pl_clock_mono(awake->clock);
    bool soon = awake->last_ns <= PL_AWAKE_NS || awake->expects;
    awake->expects = false;
    if (!soon || awake->processors < 2)
        return;
    while (!is_there(arg) && pl_clock_mono(awake->clock) - awake->began_ns < PL_AWAKE_NS)
        sched_yield(); /* another runnable thread may be the one that we wait for */
}

void pl_awake_end(struct pl_awake *awake)
{
    awake->last_ns = pl_clock_mono(awake->clock) - awake->began_ns;
}
