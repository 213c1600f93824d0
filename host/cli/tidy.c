#include "cli/tidy.h"

#include <malloc.h>

#define INTERVAL   (10 * PL_SECOND)
#define WORTH_IT   ((size_t)1 << 20) /* bytes that are free, ... */
#define WORTH_PART 8                 /* ... and at least one in so many of those in use */

static void on_timer(struct pl_timer *timer)
{
    struct pl_tidy *tidy = PL_CONTAINER_OF(timer, struct pl_tidy, timer);
    struct mallinfo2 heap = mallinfo2();
    if (heap.fordblks > WORTH_IT && heap.fordblks > heap.uordblks / WORTH_PART)
        malloc_trim(0);
    pl_timer_start(tidy->timers, timer, INTERVAL, on_timer);
}

void pl_tidy_start(struct pl_tidy *tidy, struct pl_loop *loop)
{
    tidy->timers = pl_loop_timers(loop);
    pl_timer_start(tidy->timers, &tidy->timer, INTERVAL, on_timer);
}

void pl_tidy_stop(struct pl_tidy *tidy)
{
    if (tidy->timers != NULL)
        pl_timer_stop(tidy->timers, &tidy->timer);
}
