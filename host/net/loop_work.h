/* Between net/loop and net/work alone: how much work on other threads a loop waits for. */
#pragma once

#include "net/loop.h"

void pl_loop_add_work(struct pl_loop *loop, int count);
/* A loop is destroyed, and the work has not ended. */
void pl_work_leave(void);
