#include "base/clock.h"

#include "base/base.h"

#include <time.h>

static int64_t read_clock(clockid_t id)
{
    struct timespec now;
    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * PL_SECOND + now.tv_nsec;
}

static int64_t system_mono(void *arg)
{
    PL_UNUSED(arg);
    return read_clock(CLOCK_MONOTONIC);
}

static int64_t system_boot(void *arg)
{
    PL_UNUSED(arg);
    return read_clock(CLOCK_BOOTTIME);
}

static int64_t system_wall(void *arg)
{
    PL_UNUSED(arg);
    return read_clock(CLOCK_REALTIME);
}

const struct pl_clock *pl_clock_system(void)
{
    static const struct pl_clock system_clock = {system_mono, system_boot, system_wall, NULL};
    return &system_clock;
}
