/* Each piece of work has a thread of its own, which ends with it: work that hangs takes no thread
 * from other work, and a process without such work has no such thread.
 *
 * A thread that is still at work needs its loop: it writes to the loop when `run` returns. So the
 * memory of a loop that is destroyed meanwhile is not freed (net/loop). */
#include "net/blocking_work.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/list.h"
#include "net/loop_work.h"

#include <pthread.h>
#include <stdatomic.h>
#include <uv.h>

struct pl_blocking_work {
    struct pl_link link; /* in the loop's list */
    pthread_t thread;
    bool has_thread;  /* false: the system had none left, so the loop's thread did the work */
    uv_async_t ended; /* sent once run has returned */
    struct pl_blocking_work_options o;
    bool abandoned;
};

static atomic_int left; /* for the process: main asks for it */

static void *blocking_work_run(void *arg)
{
    struct pl_blocking_work *work = arg;
    work->o.run(work->o.arg);
    uv_async_send(&work->ended);
    return NULL;
}

static void on_closed_cb(uv_handle_t *ended)
{
    struct pl_blocking_work *work = ended->data;
    struct pl_blocking_work_options o = work->o;
    bool abandoned = work->abandoned;
    pl_link_unlink(&work->link);
    pl_free(work);
    if (abandoned)
        o.drop(o.arg);
    else
        o.done(o.arg);
}

/* The thread has only to return; until then it may use the handle. */
static void on_ended_cb(uv_async_t *ended)
{
    struct pl_blocking_work *work = ended->data;
    if (work->has_thread)
        pthread_join(work->thread, NULL);
    uv_close((uv_handle_t *)ended, on_closed_cb);
}

struct pl_blocking_work *pl_blocking_work_start(struct pl_loop *loop,
                                                const struct pl_blocking_work_options *options)
{
    struct pl_blocking_work *work = PL_NEW(struct pl_blocking_work);
    work->o = *options;
    work->ended.data = work;
    pl_list_push(pl_loop_works(loop), &work->link);
    PL_REQUIRE(uv_async_init(pl_loop_uv(loop), &work->ended, on_ended_cb) == 0);
    work->has_thread = pthread_create(&work->thread, NULL, blocking_work_run, work) == 0;
    if (!work->has_thread)
        blocking_work_run(work);
    return work;
}

void pl_blocking_work_abandon(struct pl_blocking_work *work)
{
    work->abandoned = true;
}

/* Nobody joins these threads any more. */
void pl_blocking_work_leave(struct pl_list *works)
{
    PL_LIST_FOR (link, works) {
        const struct pl_blocking_work *work = PL_CONTAINER_OF(link, struct pl_blocking_work, link);
        if (work->has_thread)
            pthread_detach(work->thread);
    }
    atomic_fetch_add(&left, 1);
}

bool pl_blocking_work_is_left(void)
{
    return atomic_load(&left) > 0;
}
