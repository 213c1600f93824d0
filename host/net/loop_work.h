/* Only for net/loop and net/blocking_work: the work on other threads that a loop waits for. */
#pragma once

#include "net/loop.h"

struct pl_list *pl_loop_works(struct pl_loop *loop);
/* A loop is destroyed although this work has not ended. */
void pl_blocking_work_leave(struct pl_list *works);
