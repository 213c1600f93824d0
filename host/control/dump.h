/* Writes the state of controllers, sources and waits to the log, one record a line, for SIGUSR1. At
 * most PL_DUMP_LINES of each sort are written. I/O thread. */
#pragma once

#include "base/wait.h"
#include "control/manager.h"

#define PL_DUMP_LINES 500

/* Each returns the number of records that were left out. */
size_t pl_dump_controllers(struct pl_manager *manager); /* "state: controller", "state: run" */
size_t pl_dump_sources(struct pl_cluster *cluster);     /* "state: source" */
size_t pl_dump_waits(const struct pl_waits *waits);     /* "state: wait", the longest first */
