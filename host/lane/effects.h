/* Where what a run does goes: to the cluster and whoever else is meant, or, in a candidate that is
 * tried beside what runs (a shadow), to the run's capture alone. Nobody else asks which of the two
 * it is. Any thread. */
#pragma once

#include "lane/lane.h"

/* Nothing but reads leaves the host: what these lanes' runs do is kept, not done. */
bool pl_lanes_hold(const struct pl_lanes *lanes);

/* What the run sees in front of the caches and the server, as what it does is kept; NULL: nothing.
 * Borrowed, as what follows. exec NULL: no run. */
struct pl_capture *pl_exec_view(const struct pl_exec *exec);
/* Where it is kept what the run has found, for one that follows it, while what it does is done;
 * NULL: nobody follows. */
struct pl_capture *pl_exec_watcher(const struct pl_exec *exec);
