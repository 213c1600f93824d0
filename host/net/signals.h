/* Signals of the process, delivered on the thread of a loop. */
#pragma once

#include "net/loop.h"

struct pl_signals;

typedef void (*pl_signal_fn)(void *arg, int signum);

/* Calls on_signal for each delivery, until pl_signals_unwatch. NULL: one of the signals cannot be
 * watched, and none is. The caller owns the result and ends it before the loop. */
struct pl_signals *pl_signals_watch(struct pl_loop *loop, const int *signums, size_t count,
                                    pl_signal_fn on_signal, void *arg);
/* on_signal is not called any more. Accepts NULL. The memory is freed in a later turn of the loop,
 * or when the loop is destroyed. */
void pl_signals_unwatch(struct pl_signals *signals);
