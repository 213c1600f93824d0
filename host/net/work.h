/* Work that may block, above all on a file system that does not answer: it is done by a thread of
 * libuv's pool (four, of the process). Start one at a time for one purpose, so that what hangs
 * takes one thread and no more. Loop's thread, but for `run`. */
#pragma once

#include "net/loop.h"

struct pl_work_options {
    void (*run)(void *arg);  /* on the other thread; alone with arg until it returns */
    void (*done)(void *arg); /* on the loop's thread, later, unless it was abandoned */
    void (*drop)(void *arg); /* on the loop's thread, in place of done: it was abandoned */
    void *arg;
};

struct pl_work;

/* The work belongs to the loop; it may be named until done is called. */
struct pl_work *pl_work_start(struct pl_loop *loop, const struct pl_work_options *options);
/* drop is called once run has returned. If that is not within the time that pl_loop_destroy waits,
 * it is never called, and whatever arg owns stays. */
void pl_work_abandon(struct pl_work *work);

/* Some work has outlived its loop. exit() would wait for it: flush and _exit() instead. */
bool pl_work_is_left(void);
