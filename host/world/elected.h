/* A host's part in the election of a leader, as in `perilune run --leader-elect` with its default
 * times: the Lease, and the consequences for the manager. A host that loses the lead becomes a
 * standby. (A process would end and be started again.) One thread. */
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
