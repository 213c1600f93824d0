/* Later actions of actors in a world, at a time of its clock. One thread. */
#pragma once

#include "base/list.h"
#include "base/timer.h"

struct pl_alarms {
    struct pl_list all;
    struct pl_timers *timers; /* borrowed for life */
};

void pl_alarms_init(struct pl_alarms *alarms, struct pl_timers *timers);
/* Pending alarms are dropped. */
void pl_alarms_deinit(struct pl_alarms *alarms);
/* Calls fire once, at its time. */
void pl_alarms_add(struct pl_alarms *alarms, int64_t delay_ns, void (*fire)(void *arg, int id),
                   void *arg, int id);
/* The time of the next one; INT64_MAX: none. */
int64_t pl_alarms_next(const struct pl_alarms *alarms);
