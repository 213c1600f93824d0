/* perilune.memo in a run: the data of its key, as a table that is filled from the store and saved
 * when the run ends. When the For object goes, its memo and the series of its metrics are removed.
 * The lane's thread. */
#pragma once

struct pl_lane;
struct pl_exec;
struct pl_lanes;
struct pl_cache;
struct pl_doc;

/* Lane: the run has ended, successfully or not. If the memo cannot be saved, the run fails. */
void pl_memo_keep(struct pl_lane *lane, struct pl_exec *exec);
/* The key's text as the owner of metric series; the caller frees it. NULL: no For, so the series
 * never end. */
char *pl_exec_metrics_owner(const struct pl_exec *exec);
/* Its For object is gone: removes its memo and series. */
void pl_lanes_forget_key(struct pl_lanes *lanes, const char *controller, const char *key);
/* The same for all of its keys. */
void pl_lanes_forget_keys(struct pl_lanes *lanes, const char *controller);

/* The cache of the For source; NULL when the controller has none. Borrowed. */
struct pl_cache *pl_exec_for_cache(const struct pl_exec *exec);
/* The memo of the key; for a shadow, as it was before the run that it follows. A capture that
 * follows this run gets it, too. A reference, or NULL. */
struct pl_doc *pl_exec_remembered(struct pl_exec *exec);
