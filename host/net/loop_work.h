/* Only for net/loop and net/blocking_work: counts the work on other threads that a loop waits for.
 */
#pragma once

#include "net/loop.h"

void pl_loop_add_work(struct pl_loop *loop, int count);
/* A loop is destroyed although its work has not ended. */
void pl_blocking_work_leave(void);
