/* A request that is under way needs its loop: libuv's thread writes to the loop when `run` returns.
 * So the memory of a loop that is destroyed meanwhile is not freed (net/loop). */
#include "net/blocking_work.h"

#include "base/alloc.h"
#include "base/check.h"
#include "net/loop_work.h"

#include <stdatomic.h>
#include <uv.h>

struct pl_blocking_work {
    uv_work_t request;
    struct pl_loop *loop; /* borrowed */
    struct pl_blocking_work_options o;
    bool abandoned;
};

static atomic_int left; /* for the process, as is libuv's pool */

static void on_run_cb(uv_work_t *request)
{
    struct pl_blocking_work *work = request->data;
    work->o.run(work->o.arg);
}

static void on_done_cb(uv_work_t *request, int status)
{
    struct pl_blocking_work *work = request->data;
    struct pl_blocking_work_options o = work->o;
    bool abandoned = work->abandoned || status != 0;
    pl_loop_add_work(work->loop, -1);
    pl_free(work);
    if (abandoned)
        o.drop(o.arg);
    else
        o.done(o.arg);
}

struct pl_blocking_work *pl_blocking_work_start(struct pl_loop *loop,
                                                const struct pl_blocking_work_options *options)
{
    struct pl_blocking_work *work = PL_NEW(struct pl_blocking_work);
    work->loop = loop;
    work->o = *options;
    work->request.data = work;
    pl_loop_add_work(loop, 1);
    PL_REQUIRE(uv_queue_work(pl_loop_uv(loop), &work->request, on_run_cb, on_done_cb) == 0);
    return work;
}

void pl_blocking_work_abandon(struct pl_blocking_work *work)
{
    work->abandoned = true;
    uv_cancel((uv_req_t *)&work->request); /* work that has not begun is cancelled */
}

void pl_blocking_work_leave(void)
{
    atomic_fetch_add(&left, 1);
}

bool pl_blocking_work_is_left(void)
{
    return atomic_load(&left) > 0;
}
