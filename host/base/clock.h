/* Time, injected. Everything below net takes a clock or an instant, so that
 * every state machine can be tested on a virtual clock. */
#pragma once

#include <stdint.h>

struct pl_clock {
    /* Nanoseconds that never run backwards and do not count suspended time. */
    int64_t (*mono_ns)(void *arg);
    /* The same, but it also counts the time while the machine or process was suspended. Leases are
     * measured with it. */
    int64_t (*boot_ns)(void *arg);
    /* Nanoseconds since 1970, for people and for the API server. */
    int64_t (*wall_ns)(void *arg);
    void *arg;
};

/* The system's clocks. Any thread. */
const struct pl_clock *pl_clock_system(void);

static inline int64_t pl_clock_mono(const struct pl_clock *clock)
{
    return clock->mono_ns(clock->arg);
}

static inline int64_t pl_clock_boot(const struct pl_clock *clock)
{
    return clock->boot_ns(clock->arg);
}

static inline int64_t pl_clock_wall(const struct pl_clock *clock)
{
    return clock->wall_ns(clock->arg);
}
