/* Signals of the process as events of a loop, one handle of libuv for each. libuv's own handler
 * only writes to a pipe, so on_signal may do anything. The last handle that closes frees the
 * memory. */
#include "net/signals.h"

#include "base/alloc.h"
#include "base/check.h"

#include <uv.h>

struct pl_signals {
    pl_signal_fn on_signal; /* NULL: not watched any more */
    void *arg;
    size_t open; /* handles that are not closed yet */
    uv_signal_t handles[];
};

static void on_signal_cb(uv_signal_t *handle, int signum)
{
    struct pl_signals *signals = handle->data;
    if (signals->on_signal != NULL)
        signals->on_signal(signals->arg, signum);
}

static void on_signal_closed_cb(uv_handle_t *handle)
{
    struct pl_signals *signals = handle->data;
    if (--signals->open == 0)
        pl_free(signals);
}

struct pl_signals *pl_signals_watch(struct pl_loop *loop, const int *signums, size_t count,
                                    pl_signal_fn on_signal, void *arg)
{
    PL_REQUIRE(count > 0);
    struct pl_signals *signals =
        pl_calloc(1, sizeof(struct pl_signals) + count * sizeof(uv_signal_t));
    signals->on_signal = on_signal;
    signals->arg = arg;
    int failed = 0;
    for (size_t i = 0; i < count; i++) {
        uv_signal_t *handle = &signals->handles[i];
        PL_REQUIRE(uv_signal_init(pl_loop_uv(loop), handle) == 0);
        handle->data = signals;
        signals->open++;
        failed = failed || uv_signal_start(handle, on_signal_cb, signums[i]) != 0;
    }
    if (!failed)
        return signals;
    pl_signals_unwatch(signals);
    return NULL;
}

void pl_signals_unwatch(struct pl_signals *signals)
{
    if (signals == NULL)
        return;
    signals->on_signal = NULL;
    for (size_t i = 0, count = signals->open; i < count; i++)
        uv_close((uv_handle_t *)&signals->handles[i], on_signal_closed_cb);
}
