/* perilune.memo in a run: what is remembered of its key, a table that is filled from the store and
 * kept when the run ends; and the end of what goes with the For object, its memo and the series of
 * its metrics. */
#pragma once

struct pl_lane;
struct pl_exec;
struct pl_lanes;
struct pl_cache;
struct pl_doc;

/* Lane: the run has ended, well or not. What can't be kept fails it. */
void pl_memo_keep(struct pl_lane *lane, struct pl_exec *exec);
/* The key's text as the owner of metrics' series; to be freed. NULL: no For, so no end. */
char *pl_exec_metrics_owner(const struct pl_exec *exec);
/* Its For object is gone: its memo and series are, too. */
void pl_lanes_forget_key(struct pl_lanes *lanes, const char *controller, const char *key);
/* All of its keys. */
void pl_lanes_forget_keys(struct pl_lanes *lanes, const char *controller);

/* The cache of the For source; NULL when the controller has none. Borrowed. */
struct pl_cache *pl_exec_for_cache(const struct pl_exec *exec);
/* What is remembered of the key, for a shadow as it was before the run that it follows; and for
 * whoever follows this one. A reference, or NULL. */
struct pl_doc *pl_exec_remembered(struct pl_exec *exec);
