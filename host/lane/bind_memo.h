/* perilune.memo in a run: a table that is filled from the store and kept when the run ends; and the
 * end of what goes with the For object, its memo and the series of its metrics. */
#pragma once

struct pl_lane;
struct pl_exec;
struct pl_lanes;

/* Lane: the run has ended, well or not. What can't be kept fails it. */
void pl_memo_keep(struct pl_lane *lane, struct pl_exec *exec);
/* The key's text as the owner of metrics' series; to be freed. NULL: no For, so no end. */
char *pl_exec_metrics_owner(const struct pl_exec *exec);
/* Its For object is gone: its memo and series are, too. */
void pl_lanes_forget_key(struct pl_lanes *lanes, const char *controller, const char *key);
/* All of its keys. */
void pl_lanes_forget_keys(struct pl_lanes *lanes, const char *controller);
