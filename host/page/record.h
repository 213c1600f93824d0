/* The past that the page can show: the log, the reloads, and the findings of the last shadow.
 * Created with the page: a host without a page records nothing. I/O thread; log lines come on any
 * thread. */
#pragma once

#include "page/ring.h"
#include "reload/shadow.h"

struct pl_record {
    struct pl_ring *log, *reloads, *shadow; /* owned */
    struct pl_reload *reload_of;            /* borrowed, like the following fields */
    struct pl_shadow *shadow_of;
};

/* Listens from now on. No one else may listen to these. */
void pl_record_begin(struct pl_record *record, struct pl_reload *reload, struct pl_shadow *shadow);
/* Call it before either is destroyed. */
void pl_record_end(struct pl_record *record);
