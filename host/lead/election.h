/* Leader election over a lock (rules 112-121, 123, 125): campaigning, renewing, losing, releasing.
 * Only the monotonic clock that counts suspended time decides. I/O thread.
 *
 * Two different instants end a lead:
 * - From renew deadline after the last successful renewal was *sent*, no write is allowed:
 * `closed`. A later successful renewal opens it again.
 * - A round of renewals that failed for renew deadline (rule 114), or another holder seen: `lost`.
 * After that the election is idle until it is told to campaign again.
 *
 * A standby watches the lock if possible: it tries at once when the lock is released, and otherwise
 * when the record's duration has passed since its last seen change. If it cannot watch, it polls
 * (rule 113). */
#pragma once

#include "base/rand.h"
#include "base/timer.h"
#include "base/wait.h"
#include "lead/lease_lock.h"

struct pl_election;

/* Callbacks may call any function here except destroy. */
struct pl_election_ops {
    /* The lead was gained, and pl_election_may_write returns true. */
    void (*on_started)(void *arg);
    /* Writes are not allowed any more, though the lead is not lost yet. May be NULL. */
    void (*on_closed)(void *arg);
    /* After on_closed: a renewal has succeeded. May be NULL. */
    void (*on_reopened)(void *arg);
    /* The lead is lost; why is a text for people; on_closed may have come before. Not called for a
     * lead that pl_election_stop ends. */
    void (*on_lost)(void *arg, const char *why);
    /* A new holder was seen, possibly ourselves; "": none. May be NULL. */
    void (*on_leader)(void *arg, const char *identity);
};

struct pl_election_options {
    struct pl_lease_lock lock;    /* borrowed for life */
    struct pl_timers *timers;     /* borrowed for life */
    const struct pl_clock *clock; /* borrowed for life: boot_ns, and wall_ns for the record */
    struct pl_rand *rand;         /* borrowed for life */
    struct pl_waits *waits;       /* borrowed for life; NULL: none */
    const char *owner;            /* "namespace/name" of the lock, for logs and waits; copied */
    const char *identity;         /* copied */
    int64_t lease_duration_ns, renew_deadline_ns, retry_period_ns;
    bool release_on_exit;
    int64_t health_tolerance_ns; /* rule 121 */
    const struct pl_election_ops *ops;
    void *arg;
};

#define PL_ELECTION_TOLERANCE (20 * PL_SECOND)

/* Rule 112; EINVAL names the invalid option. In addition, the duration in whole seconds (rule 123),
 * as others will read it, must not be less than the renew deadline. */
PL_MUST_USE int pl_election_check(const struct pl_election_options *options, struct pl_err *err);
/* "HOSTNAME_UUID" */
void pl_election_identity(struct pl_rand *rand, const char *hostname, char out[PL_LEASE_HOLDER]);

/* The options must have passed pl_election_check. The caller owns the election. */
struct pl_election *pl_election_create(const struct pl_election_options *options);
/* Before the first campaign, or after on_stopped. Accepts NULL. */
void pl_election_destroy(struct pl_election *e);

/* Tries to get the lead, and then to keep it. Call it at the beginning, again after on_lost (also
 * inside it), and again after a stop; it does nothing at other times. */
void pl_election_campaign(struct pl_election *e);

/* Ends campaigning and leading: inside this call may_write and is_leading already become false.
 * `release`: the work that needed the lead has ended, so the lock may be released (rules 119, 125);
 * this includes a lock that was just lost or may have been gained unnoticed, if the record names
 * us. It applies only with release_on_exit. on_stopped comes once, later, soon after the renew
 * deadline at the latest, and may destroy the election or campaign again. A second stop while the
 * first is under way replaces the callback. */
void pl_election_stop(struct pl_election *e, bool release, void (*on_stopped)(void *arg),
                      void *arg);

bool pl_election_is_leading(const struct pl_election *e); /* also while closed */
/* Reads the clock afresh. True when leading, and before renew deadline after the last successful
 * renewal was sent. Cheap; ask it right before bytes leave the process. */
bool pl_election_may_write(const struct pl_election *e);
/* The last observed holder; "" for unknown or none. Borrowed until the next record is seen. */
const char *pl_election_holder(const struct pl_election *e);
/* The identity of the options; lives as long as the election. */
const char *pl_election_identity_of(const struct pl_election *e);
/* Rule 121: false when we lead and have not renewed for the lease duration plus the tolerance. */
bool pl_election_is_healthy(const struct pl_election *e);
