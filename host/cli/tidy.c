#include "cli/tidy.h"

#include <malloc.h>

#define DELAY      (2 * PL_SECOND)
#define WORK       16  /* turns: fewer are a probe, a bookmark, or our own timer */
#define BUSY       200 /* turns within DELAY: then other work would wait for the walk */
#define LATER_MOST 14  /* times */
#define WORTH_IT   ((size_t)1 << 20) /* bytes that are free, ... */
#define WORTH_PART 8                 /* ... and at least one in so many of those in use */

static void on_tidy_timer(struct pl_timer *timer)
{
    struct pl_tidy *tidy = PL_CONTAINER_OF(timer, struct pl_tidy, timer);
    bool busy = tidy->turns >= BUSY;
    tidy->turns = 0;
    if (busy && tidy->later < LATER_MOST) {
        tidy->later++;
        pl_timer_start(tidy->timers, timer, DELAY, on_tidy_timer);
        return;
    }
    tidy->later = 0;
    struct mallinfo2 heap = mallinfo2();
    if (heap.fordblks > WORTH_IT && heap.fordblks > heap.uordblks / WORTH_PART)
        malloc_trim(0);
    pl_pool_rest(tidy->pool);
}

static void on_tidy_turn(struct pl_idle *idle)
{
    struct pl_tidy *tidy = PL_CONTAINER_OF(idle, struct pl_tidy, each_turn);
    if (++tidy->turns >= WORK && !pl_timer_is_active(&tidy->timer))
        pl_timer_start(tidy->timers, &tidy->timer, DELAY, on_tidy_timer);
}

void pl_tidy_start(struct pl_tidy *tidy, struct pl_loop *loop, struct pl_pool *pool)
{
    tidy->pool = pool;
    tidy->timers = pl_loop_timers(loop);
    pl_loop_each_turn(loop, &tidy->each_turn, on_tidy_turn);
}

void pl_tidy_stop(struct pl_tidy *tidy)
{
    if (tidy->timers == NULL)
        return;
    pl_loop_each_turn_stop(&tidy->each_turn);
    pl_timer_stop(tidy->timers, &tidy->timer);
}
