/* Timers over an injected clock. The event loop drives one such set with real
 * time; tests drive another with a virtual clock. One thread. */
#pragma once

#include "base/clock.h"
#include "base/heap.h"

#include <stdbool.h>

struct pl_timer;
typedef void (*pl_timer_fn)(struct pl_timer *timer);

struct pl_timer {
    struct pl_heap_node node; /* private */
    int64_t due_ns;           /* read-only: monotonic instant, valid while active */
    uint64_t order;           /* private: keeps timers of one instant in start order */
    pl_timer_fn fire;
};

struct pl_timers {
    struct pl_heap heap;
    const struct pl_clock *clock; /* borrowed for life */
    uint64_t next_order;
    /* Ends the process when it is called on a thread other than that of the timers. It is called
     * whenever a timer is started or stopped, so it guards every object that has timers. NULL: no
     * check. */
    void (*require)(const struct pl_timers *timers);
};

/* For functions that belong to the thread of the timers and start none. */
static inline void pl_timers_require(const struct pl_timers *timers)
{
    if (timers->require != NULL)
        timers->require(timers);
}

void pl_timers_init(struct pl_timers *timers, const struct pl_clock *clock);
/* Active timers are forgotten, not fired. */
void pl_timers_deinit(struct pl_timers *timers);

/* (Re)starts a timer; a delay of zero or less fires at the next run, never at once. */
void pl_timer_start(struct pl_timers *timers, struct pl_timer *timer, int64_t delay_ns,
                    pl_timer_fn fire);
/* Does nothing when the timer is not active. Afterwards its callback will not be called. */
void pl_timer_stop(struct pl_timers *timers, struct pl_timer *timer);

static inline bool pl_timer_is_active(const struct pl_timer *timer)
{
    return pl_heap_holds(&timer->node);
}

/* Returns the earliest due instant; false when there is no active timer. */
bool pl_timers_next(const struct pl_timers *timers, int64_t *due_ns);
/* Fires the timers that are due now, in order. Callbacks may start, stop and free timers (also
 * their own). A timer that a callback starts is not fired in the same run. */
void pl_timers_run(struct pl_timers *timers);
/* Fires the first timer that is due now; returns false if none is. */
bool pl_timers_run_one(struct pl_timers *timers);
