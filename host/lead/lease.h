/* The lock on a coordination.k8s.io/v1 Lease. I/O thread. */
#pragma once

#include "lead/lease_lock.h"
#include "kube/client.h"

/* Requests for the Lease have their own connections (pl_http_request.lane): saturated connections
 * of other requests must not delay them. The Lease's watch uses ordinary connections, since safety
 * does not depend on it. */
#define PL_LEASE_LANE 1

struct pl_lease;

struct pl_lease_options {
    struct pl_client *client; /* borrowed for life */
    const char *ns, *name;    /* copied */
    /* An object of strings that every write adds to the Lease's labels; NULL: none. A reference is
     * taken. */
    struct pl_doc *labels;
    /* Time-out of one request; see pl_lease_request_timeout. */
    int64_t request_timeout_ns;
    /* A watch without a byte for this time is dead: the lease duration, since a leader writes more
     * often. */
    int64_t silence_ns;
};

/* A quarter of the renew deadline: if the first request hangs on a dead connection, there is time
 * for three more on fresh ones. */
int64_t pl_lease_request_timeout(int64_t renew_deadline_ns);

/* The caller owns the lease. */
struct pl_lease *pl_lease_create(const struct pl_lease_options *options);
/* No request may be under way. Accepts NULL. */
void pl_lease_destroy(struct pl_lease *lease);
/* For pl_election_options.lock; valid while the lease lives. */
struct pl_lease_lock pl_lease_lock(struct pl_lease *lease);

/* ---- documents ---- */

/* Reads the Lease tolerantly: missing and invalid members are left out. ESYNTAX if it is not a
 * stored Lease of that name; then no decision may use it. */
PL_MUST_USE int pl_lease_read(struct pl_node object, struct pl_slice name,
                              struct pl_lease_record *record, struct pl_err *err);
