/* Something to do a little later on the same thread, "after the current callback". Embedded in
 * its owner; whoever runs tasks (the event loop, a test) links it until then. */
#pragma once

#include "base/list.h"

struct pl_task {
    struct pl_link link;
    void (*run)(struct pl_task *task);
};
