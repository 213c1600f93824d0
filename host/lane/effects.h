/* Decides where the effects of a run go: to the cluster and other servers or, for a candidate
 * beside the running scripts (a shadow), only to the run's capture. No other code makes this
 * decision. Any thread. */
#pragma once

#include "lane/lane.h"

/* True when only reads leave the host: effects of these lanes' runs are only recorded. */
bool pl_lanes_hold(const struct pl_lanes *lanes);

/* The objects that the run sees before the caches and the server, if its effects are only recorded;
 * NULL: none. Borrowed, like the next result. exec NULL: no run. */
struct pl_capture *pl_exec_view(const struct pl_exec *exec);
/* The capture that records what the run finds, for a shadow that follows it; NULL: none follows.
 * The run holds the reference. */
struct pl_capture *pl_exec_watcher(const struct pl_exec *exec);
