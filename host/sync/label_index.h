/* Indices by labels, which nobody declares. A list by label that looks at many objects and finds
 * few requests one; when it is built, such lists look only at objects with the label. I/O thread.
 */
#pragma once

#include "base/slice.h"

struct pl_store;
struct pl_timers;
struct pl_label_indexes;

/* In the store an index by a label is named PL_INDEX_LABEL and the label's key. */
#define PL_INDEX_LABEL "label:"

/* A list requests an index if it looked at this many objects, and at more than this many for each
 * that it found. */
#define PL_LABEL_INDEX_SEEN  1000
#define PL_LABEL_INDEX_SHARE 8

/* All borrowed for life. name: of the cache, in the log. */
struct pl_label_indexes *pl_label_indexes_create(struct pl_store *store, struct pl_timers *timers,
                                                 const char *name);
/* Stops building; finished indices stay in the store. Accepts NULL. */
void pl_label_indexes_destroy(struct pl_label_indexes *indexes);
/* A list has asked for objects with this label. The request is ignored when more than one object in
 * PL_LABEL_INDEX_SHARE has it, or when the cache has eight indices already. */
void pl_label_indexes_want(struct pl_label_indexes *indexes, struct pl_slice key,
                           struct pl_slice value);
