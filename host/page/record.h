/* What the page can show of the past: the log, the reloads, and what the last shadow found. Made
 * with the page: a host without one remembers nothing of it. I/O thread; the log is told on any. */
#pragma once

#include "page/ring.h"
#include "reload/shadow.h"

struct pl_record {
    struct pl_ring *log, *reloads, *shadow; /* owned */
    struct pl_reload *reload_of;            /* borrowed, as is what follows */
    struct pl_shadow *shadow_of;
};

/* Listens from now on. Nobody else may listen to these. */
void pl_record_begin(struct pl_record *record, struct pl_reload *reload, struct pl_shadow *shadow);
/* Before either is destroyed. */
void pl_record_end(struct pl_record *record);
