/* Work that may block, above all on a file system that does not answer: a thread of its own does
 * it. Run one at a time for one purpose, so that hanging work occupies only one thread. Loop's
 * thread, except for `run`. */
#pragma once

#include "net/loop.h"

struct pl_blocking_work_options {
    void (*run)(void *arg);  /* on the other thread; only it uses arg until it returns. If the
                              * system has no thread left, on the loop's, before start returns */
    void (*done)(void *arg); /* on the loop's thread, later, unless it was abandoned */
    void (*drop)(void *arg); /* on the loop's thread, instead of done: it was abandoned */
    void *arg;
};

struct pl_blocking_work;

/* The work belongs to the loop; the pointer is valid until done is called. */
struct pl_blocking_work *pl_blocking_work_start(struct pl_loop *loop,
                                                const struct pl_blocking_work_options *options);
/* drop is called after run has returned. If that takes longer than pl_loop_destroy waits, drop is
 * never called, and arg is never freed. */
void pl_blocking_work_abandon(struct pl_blocking_work *work);

/* True when some work has outlived its loop. exit() would wait for it: flush and _exit() instead.
 */
bool pl_blocking_work_is_left(void);
