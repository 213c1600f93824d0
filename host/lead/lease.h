/* The lock on a coordination.k8s.io/v1 Lease. I/O thread. */
#pragma once

#include "lead/lease_lock.h"
#include "kube/client.h"

/* Requests for the Lease share connections only with each other (pl_http_request.lane): saturated
 * bulk connections must not cost it. Its watch, of which no safety depends, is a watch as others.
 */
#define PL_LEASE_LANE 1

struct pl_lease;

struct pl_lease_options {
    struct pl_client *client; /* borrowed for life */
    const char *ns, *name;    /* copied */
    /* An object of strings that every write puts on the Lease beside the labels of others;
     * NULL: none. A reference is taken. */
    struct pl_doc *labels;
    /* Of one request; pl_lease_request_timeout. */
    int64_t request_timeout_ns;
    /* A watch without a byte for so long is dead: the lease duration, as a leader writes oftener.
     */
    int64_t silence_ns;
};

/* A quarter of the renew deadline: a try whose first request hangs on a dead connection has time
 * for three more on fresh ones. */
int64_t pl_lease_request_timeout(int64_t renew_deadline_ns);

struct pl_lease *pl_lease_create(const struct pl_lease_options *options);
/* Nothing may be under way. Accepts NULL. */
void pl_lease_destroy(struct pl_lease *lease);
/* What pl_election_options.lock takes; valid while the lease lives. */
struct pl_lease_lock pl_lease_lock(struct pl_lease *lease);

/* ---- documents ---- */

/* What the Lease says, tolerantly: what is missing or makes no sense is not said. ESYNTAX for
 * what is no stored Lease of that name: nothing may be decided by it. */
PL_MUST_USE int pl_lease_read(struct pl_node object, struct pl_slice name,
                              struct pl_lease_record *record, struct pl_err *err);
