/* A heap ordered by time, then by the order of starting. If a callback starts a timer while the set
 * runs, that timer fires in a later run, so that a timer without delay cannot occupy the thread. */
#include "base/timer.h"

#include "base/base.h"

static const struct pl_timer *timer_of(const struct pl_heap_node *node)
{
    return PL_CONTAINER_OF(node, struct pl_timer, node);
}

static bool fires_before(const struct pl_heap_node *a, const struct pl_heap_node *b)
{
    const struct pl_timer *x = timer_of(a), *y = timer_of(b);
    return x->due_ns != y->due_ns ? x->due_ns < y->due_ns : x->order < y->order;
}

void pl_timers_init(struct pl_timers *timers, const struct pl_clock *clock)
{
    *timers = (struct pl_timers){.clock = clock};
    pl_heap_init(&timers->heap, fires_before);
}

void pl_timers_deinit(struct pl_timers *timers)
{
    pl_heap_deinit(&timers->heap);
}

void pl_timer_start(struct pl_timers *timers, struct pl_timer *timer, int64_t delay_ns,
                    pl_timer_fn fire)
{
    pl_timers_require(timers);
    pl_heap_remove(&timers->heap, &timer->node);
    int64_t now = pl_clock_mono(timers->clock);
    if (delay_ns < 0)
        delay_ns = 0;
    timer->due_ns = delay_ns > INT64_MAX - now ? INT64_MAX : now + delay_ns;
    timer->order = timers->next_order++;
    timer->fire = fire;
    pl_heap_push(&timers->heap, &timer->node);
}

void pl_timer_stop(struct pl_timers *timers, struct pl_timer *timer)
{
    pl_timers_require(timers);
    if (pl_timer_is_active(timer))
        pl_heap_remove(&timers->heap, &timer->node);
}

bool pl_timers_next(const struct pl_timers *timers, int64_t *due_ns)
{
    struct pl_heap_node *node = pl_heap_peek(&timers->heap);
    if (node == NULL)
        return false;
    *due_ns = timer_of(node)->due_ns;
    return true;
}

void pl_timers_run(struct pl_timers *timers)
{
    int64_t now = pl_clock_mono(timers->clock);
    uint64_t limit = timers->next_order; /* timers that callbacks start fire in a later run */
    for (;;) {
        struct pl_heap_node *node = pl_heap_peek(&timers->heap);
        if (node == NULL)
            return;
        struct pl_timer *timer = PL_CONTAINER_OF(node, struct pl_timer, node);
        if (timer->due_ns > now || timer->order >= limit)
            return;
        pl_heap_pop(&timers->heap);
        timer->fire(timer);
    }
}

bool pl_timers_run_one(struct pl_timers *timers)
{
    struct pl_heap_node *node = pl_heap_peek(&timers->heap);
    if (node == NULL || timer_of(node)->due_ns > pl_clock_mono(timers->clock))
        return false;
    struct pl_timer *timer = PL_CONTAINER_OF(node, struct pl_timer, node);
    pl_heap_pop(&timers->heap);
    timer->fire(timer);
    return true;
}
