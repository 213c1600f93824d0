/* The consequences of leading for this process: which controllers run, which writes the gate lets
 * through, when to campaign, and what a lost lead leads to (rules 120, 124, 125). I/O thread.
 *
 * The manager calls the functions below "for the manager". */
#pragma once

#include "base/buf.h"
#include "lead/election.h"
#include "net/fence.h"

struct pl_cluster;
struct pl_leadership;
struct pl_shard_leases;
struct pl_shard_member;

enum pl_lead_change {
    PL_LEAD_GAINED,
    PL_LEAD_LOST,     /* text: the reason */
    PL_LEAD_RELEASED, /* the process is stopping and has released it */
};

/* The note of the Event on the Lease has client-go's wording, so that tools which search for it
 * find ours; `why` follows when it is not "". The caller frees it. */
#define PL_LEAD_REASON "LeaderElection"
char *pl_lead_note(enum pl_lead_change change, const char *identity, const char *why);

struct pl_leadership_options {
    struct pl_cluster *cluster;          /* borrowed for life; its gate gets the fence */
    struct pl_election_options election; /* without ops and arg */
    const char *name;                    /* of the Lease, for metrics; copied */
    bool standby_on_loss;                /* --on-lost-lease standby */
    /* All replicas act, each on its shards (control/shard_member.h); used instead of the election's
     * lock. Borrowed for life; NULL: one replica leads. */
    struct pl_shard_leases *leases;
    const char *hostname; /* with leases: prefix of members' ids; copied */
    int64_t settle_ns;    /* with leases: time limit for shards to settle */
    /* For Events; may be NULL. */
    void (*changed)(void *arg, enum pl_lead_change change, const char *text);
    void *arg;
};

/* Checks rule 112 (pl_election_check) for these times. */
PL_MUST_USE int pl_leadership_check_times(int64_t lease_duration_ns, int64_t renew_deadline_ns,
                                          int64_t retry_period_ns, struct pl_err *err);

/* The election's options must pass pl_election_check, except ops and arg. The caller owns the
 * result. */
struct pl_leadership *pl_leadership_create(const struct pl_leadership_options *options);
/* After the manager has stopped. The fence must exist while connections behind it do: the HTTP
 * client is destroyed first. Accepts NULL. */
void pl_leadership_destroy(struct pl_leadership *leadership);

/* ---- questions: health, status ---- */

/* NULL: one replica leads. Lives as long as the leadership. */
const struct pl_shard_member *pl_leadership_member(const struct pl_leadership *leadership);

bool pl_leadership_is_leading(const struct pl_leadership *leadership);
/* Rule 121: a leader that has not renewed for too long is unhealthy; a standby never is. */
bool pl_leadership_is_healthy(const struct pl_leadership *leadership);
/* "leader of lease NS/NAME as ID for 12.3 s", "standby because X holds lease NS/NAME for 4 s, as
 * far as was seen". */
void pl_leadership_describe(const struct pl_leadership *leadership, struct pl_buf *out);

/* ---- for the manager ---- */

/* The owner of leader-only work. Called on the I/O thread. */
struct pl_led_ops {
    /* True when a leader-only controller could start, and no run of an earlier lead is left. */
    bool (*may_campaign)(void *arg);
    /* Lets leader-only controllers run from now on, or cancels their runs. */
    void (*set_leading)(void *arg, bool leading);
    /* The lead was lost, and no work may outlive it: there is no grace period (rule 124). */
    void (*lose)(void *arg);
    /* With shards: this replica must not be a member, or cannot work; stop with that exit code. */
    void (*fail)(void *arg, int exit_code);
};

/* Called once, before any other function; ops and arg are borrowed for life. */
void pl_leadership_bind(struct pl_leadership *leadership, const struct pl_led_ops *ops, void *arg);
/* A condition of may_campaign has changed: campaigning begins when it returns true. */
void pl_leadership_check(struct pl_leadership *leadership);
/* No new work begins: a standby is kept from becoming leader (rule 125, F35). A leader keeps its
 * Lease until the end. */
void pl_leadership_stopping(struct pl_leadership *leadership);
/* All work has ended, or its grace period has: the Lease is released (`release`), or only not
 * renewed any more. `ended` is called once, later. */
void pl_leadership_end(struct pl_leadership *leadership, bool release, void (*ended)(void *arg),
                       void *arg);
