/* What somebody in a world does later, at a time of its clock. One thread. */
#pragma once

#include "base/list.h"
#include "base/timer.h"

struct pl_alarms {
    struct pl_list all;
    struct pl_timers *timers; /* borrowed for life */
};

void pl_alarms_init(struct pl_alarms *alarms, struct pl_timers *timers);
/* Those that are still to come are forgotten. */
void pl_alarms_deinit(struct pl_alarms *alarms);
/* Calls fire once, at its time. */
void pl_alarms_add(struct pl_alarms *alarms, int64_t delay_ns, void (*fire)(void *arg, int id),
                   void *arg, int id);
/* When the next one is due; INT64_MAX: none is. */
int64_t pl_alarms_next(const struct pl_alarms *alarms);
