/* What being the leader means for this process: which controllers run, what the write gate lets
 * out, when it campaigns, and what a lost lead leads to (rules 120, 124, 125). I/O thread.
 *
 * The manager calls what is below "for the manager". */
#pragma once

#include "base/buf.h"
#include "lead/election.h"
#include "net/fence.h"

struct pl_cluster;
struct pl_leadership;
struct pl_shard_leases;
struct pl_sharer;

enum pl_lead_change {
    PL_LEAD_GAINED,
    PL_LEAD_LOST,     /* text: why */
    PL_LEAD_RELEASED, /* the process is stopping and has given it up */
};

/* The Event on the Lease that tells of a change is worded as client-go words it, so that what looks
 * for those finds ours; `why` follows when it is not "". For the caller to free. */
#define PL_LEAD_REASON "LeaderElection"
char *pl_lead_note(enum pl_lead_change change, const char *identity, const char *why);

struct pl_leadership_options {
    struct pl_cluster *cluster;          /* borrowed for life; its gate gets the fence */
    struct pl_election_options election; /* as there, without ops and arg */
    const char *name;                    /* of the Lease, for metrics; copied */
    bool standby_on_loss;                /* --on-lost-lease standby */
    /* All replicas act, each on its shards (control/sharer.h): instead of the election's lock.
     * Borrowed for life; NULL: one leads. */
    struct pl_shard_leases *leases;
    const char *hostname; /* with leases: the beginning of members' ids; copied */
    int64_t settle_ns;    /* with leases: how long shards that came may take */
    /* For Events; may be NULL. */
    void (*changed)(void *arg, enum pl_lead_change change, const char *text);
    void *arg;
};

/* Rule 112 (pl_election_check) for these. */
PL_MUST_USE int pl_leadership_check_times(int64_t lease_duration_ns, int64_t renew_deadline_ns,
                                          int64_t retry_period_ns, struct pl_err *err);

/* The election's options must pass pl_election_check, but for ops and arg. */
struct pl_leadership *pl_leadership_create(const struct pl_leadership_options *options);
/* Once the manager has stopped. The fence stands for as long as connections behind it live: the
 * HTTP client is destroyed first. Accepts NULL. */
void pl_leadership_destroy(struct pl_leadership *leadership);

/* ---- questions: health, status ---- */

/* NULL: one leads. */
const struct pl_sharer *pl_leadership_sharer(const struct pl_leadership *leadership);

bool pl_leadership_is_leading(const struct pl_leadership *leadership);
/* Rule 121: a leader that has not renewed for too long is ill; a standby never is. */
bool pl_leadership_is_healthy(const struct pl_leadership *leadership);
/* "leader of lease NS/NAME as ID for 12.3 s", "standby because X holds lease NS/NAME for 4 s, as
 * far as was seen". */
void pl_leadership_describe(const struct pl_leadership *leadership, struct pl_buf *out);

/* ---- for the manager ---- */

/* Who runs what only a leader may run. Called on the I/O thread. */
struct pl_led_ops {
    /* A leader-only controller could start, and none of an earlier lead is still running. */
    bool (*may_campaign)(void *arg);
    /* Leader-only controllers run from now on, or their runs are cancelled. */
    void (*set_leading)(void *arg, bool leading);
    /* The lead was lost, and nothing may outlive it: no grace (rule 124). */
    void (*lose)(void *arg);
    /* With shards: it must not be a member, or cannot do its part; a stop with that exit code. */
    void (*fail)(void *arg, int exit_code);
};

/* Once, before anything else; ops and arg are borrowed for life. */
void pl_leadership_bind(struct pl_leadership *leadership, const struct pl_led_ops *ops, void *arg);
/* Something has changed that may_campaign depends on: when it says yes, campaigning begins. */
void pl_leadership_check(struct pl_leadership *leadership);
/* No more work is begun: a standby is kept from becoming leader (rule 125, F35). A leader keeps its
 * Lease until the end. */
void pl_leadership_stopping(struct pl_leadership *leadership);
/* All work has ended, or its grace period has: the Lease is given up (`release`), or only let go.
 * `ended` is called once, later. */
void pl_leadership_end(struct pl_leadership *leadership, bool release, void (*ended)(void *arg),
                       void *arg);
