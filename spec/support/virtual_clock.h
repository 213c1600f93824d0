/* A clock that only the test moves. */
#pragma once

#include "base/clock.h"

struct virtual_clock {
    struct pl_clock clock; /* give this to what is tested */
    int64_t now_ns;        /* all three readings */
};

static inline int64_t virtual_clock_read(void *arg)
{
    return ((struct virtual_clock *)arg)->now_ns;
}

static inline void virtual_clock_init(struct virtual_clock *virtual, int64_t now_ns)
{
    virtual->clock = (struct pl_clock){virtual_clock_read, virtual_clock_read, virtual_clock_read,
                                       virtual};
    virtual->now_ns = now_ns;
}
