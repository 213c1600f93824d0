/* Work that runs a little later on the same thread, "after the current callback". It is embedded in
 * its owner and linked by the event loop (or a test) until it runs. */
#pragma once

#include "base/list.h"

struct pl_task {
    struct pl_link link;
    void (*run)(struct pl_task *task);
};
