#include "world/alarms.h"

#include "base/alloc.h"

struct alarm {
    struct pl_link link;
    struct pl_timer timer;
    void (*fire)(void *arg, int id);
    void *arg;
    int id;
};

void pl_alarms_init(struct pl_alarms *alarms, struct pl_timers *timers)
{
    pl_list_init(&alarms->all);
    alarms->timers = timers;
}

void pl_alarms_deinit(struct pl_alarms *alarms)
{
    struct pl_link *link;
    while ((link = pl_list_pop(&alarms->all)) != NULL) {
        struct alarm *alarm = PL_CONTAINER_OF(link, struct alarm, link);
        pl_timer_stop(alarms->timers, &alarm->timer);
        pl_free(alarm);
    }
}

static void on_alarm(struct pl_timer *timer)
{
    struct alarm *alarm = PL_CONTAINER_OF(timer, struct alarm, timer);
    pl_link_unlink(&alarm->link);
    alarm->fire(alarm->arg, alarm->id);
    pl_free(alarm);
}

void pl_alarms_add(struct pl_alarms *alarms, int64_t delay_ns, void (*fire)(void *arg, int id),
                   void *arg, int id)
{
    struct alarm *alarm = PL_NEW(struct alarm);
    alarm->fire = fire;
    alarm->arg = arg;
    alarm->id = id;
    pl_list_push(&alarms->all, &alarm->link);
    pl_timer_start(alarms->timers, &alarm->timer, delay_ns, on_alarm);
}

int64_t pl_alarms_next(const struct pl_alarms *alarms)
{
    int64_t next = INT64_MAX;
    PL_LIST_FOR (link, &alarms->all) {
        const struct alarm *alarm = PL_CONTAINER_OF(link, struct alarm, link);
        next = alarm->timer.due_ns < next ? alarm->timer.due_ns : next;
    }
    return next;
}
