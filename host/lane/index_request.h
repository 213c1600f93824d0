/* Requests for an index: lists by label that look at many objects for few results tell the cache's
 * informer (sync/label_index.h). No list waits for an index. Private to host/lane. */
#pragma once

#include "lane/lane.h"
#include "object/selector.h"

/* On the lane's thread. A list with this selector looked at `seen` objects of the cache and found
 * `found`: requests indices for its labels, each once for a cache, if they are worthwhile. */
void pl_index_request_consider(struct pl_lane *lane, struct pl_cache *cache,
                               const struct pl_selector *labels, size_t seen, size_t found);
