/* Says in the log what takes the memory when its limit is near: which script, by the runs that are
 * under way or by the caches that it asked for. I/O thread. */
#pragma once

#include "control/manager.h"

#include <stdint.h>

/* Bytes. scripts: of the Lua heaps. manager: NULL before there is one. */
void pl_memory_say(struct pl_manager *manager, uint64_t used, uint64_t limit, uint64_t scripts);
