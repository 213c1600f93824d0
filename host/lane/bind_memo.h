/* perilune.memo in a run: a table that is filled from the store and kept when the run ends. */
#pragma once

struct pl_lane;
struct pl_exec;

/* Lane: the run has ended, well or not. What can't be kept fails it. */
void pl_memo_keep(struct pl_lane *lane, struct pl_exec *exec);
