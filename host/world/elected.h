/* A host's part in the election of a leader, as `perilune run --leader-elect` takes it, with its
 * default times: the Lease, and what leading means for the manager. A lead that is lost makes the
 * host stand by; a process would end, and be started again. One thread. */
#pragma once

#include "control/leadership.h"

struct pl_elected;

/* controller: the Lease is named after it. The cluster is borrowed for life. */
struct pl_elected *pl_elected_create(struct pl_cluster *cluster, const char *host,
                                     const char *controller);
/* After the manager and the client. Accepts NULL. */
void pl_elected_destroy(struct pl_elected *elected);
/* For the manager's options; NULL: there is no election. Lives as long as `elected`. */
struct pl_leadership *pl_elected_leadership(const struct pl_elected *elected);
