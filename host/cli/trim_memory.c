#include "cli/trim_memory.h"

#include "cli/unmap_code.h"

#include <malloc.h>

#define DELAY      (2 * PL_SECOND)
#define WORK       16  /* turns: fewer are a probe, a bookmark, or our own timer */
#define BUSY       200 /* turns within DELAY: then other work would wait for the walk */
#define LATER_MOST 14  /* times */
#define WORTH_IT   ((size_t)64 << 10) /* this many bytes must be free */
#define WORTH_PART 8                  /* one free byte for so many bytes in use */

static void on_trim_timer(struct pl_timer *timer)
{
    struct pl_trim *trim = PL_CONTAINER_OF(timer, struct pl_trim, timer);
    bool busy = trim->turns >= BUSY, rests = trim->turns < WORK;
    trim->turns = 0;
    if (busy && trim->later < LATER_MOST) {
        trim->later++;
        pl_timer_start(trim->timers, timer, DELAY, on_trim_timer);
        return;
    }
    trim->later = 0;
    struct mallinfo2 heap = mallinfo2();
    if (heap.fordblks > WORTH_IT && heap.fordblks > heap.uordblks / WORTH_PART)
        malloc_trim(0);
    pl_pool_rest(trim->pool);
    if (rests)
        pl_unmap_code();
}

static void on_trim_turn(struct pl_idle *idle)
{
    struct pl_trim *trim = PL_CONTAINER_OF(idle, struct pl_trim, each_turn);
    if (++trim->turns < WORK || pl_timer_is_active(&trim->timer))
        return;
    trim->turns = 0;
    pl_timer_start(trim->timers, &trim->timer, DELAY, on_trim_timer);
}

void pl_trim_start(struct pl_trim *trim, struct pl_loop *loop, struct pl_pool *pool)
{
    trim->pool = pool;
    trim->timers = pl_loop_timers(loop);
    trim->turns = WORK; /* a host that starts has worked, too */
    pl_loop_each_turn(loop, &trim->each_turn, on_trim_turn);
}

void pl_trim_stop(struct pl_trim *trim)
{
    if (trim->timers == NULL)
        return;
    pl_loop_each_turn_stop(&trim->each_turn);
    pl_timer_stop(trim->timers, &trim->timer);
}
