/* Wishes for an index: lists by label that look at many objects for few tell the cache's informer
 * (sync/label_index.h). Nobody waits for them. Private to host/lane. */
#pragma once

#include "lane/lane.h"
#include "object/selector.h"

/* On the lane's thread. A list with this selector looked at so many objects of the cache and found
 * so many: wishes for its labels, each once a cache, if that is worth an index. */
void pl_wish_consider(struct pl_lane *lane, struct pl_cache *cache,
                      const struct pl_selector *labels, size_t seen, size_t found);
