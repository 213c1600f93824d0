/* Membership: one replica among those that share the shards of one name, and the shards that it
 * holds. A state machine over Leases: `ops` carries its requests to the server, and a watcher of
 * the Leases reports their state. It decides only by its own clock, the one that counts suspended
 * time.
 *
 * - A member renews its Lease each retry period. From the renew deadline after the last successful
 * renewal was sent, it holds nothing any more, and this is final: it was lost, and must join anew.
 * - A shard's Lease names its holder, which holds the shard while it is a member. The holder
 * changes by compare-and-swap, and only the holder gives the shard away, unless it has vanished.
 * - A holder has vanished when its member's Lease was not seen to change for its whole duration,
 * and is then found unchanged on the server.
 *
 * I/O thread. Callbacks and requests come from timers or from pl_membership_*; a callback may call
 * any function here except destroy. */
#pragma once

#include "base/err.h"
#include "base/rand.h"
#include "base/timer.h"
#include "shard/shards.h"

#define PL_MEMBER_ID 320 /* a host's name, "-", a UUID, and room */

enum pl_shard_lease_kind {
    PL_LEASE_OF_MEMBER, /* NAME-member-ID */
    PL_LEASE_OF_SHARD,  /* NAME-shard-i */
    PL_LEASE_OF_NAME,   /* NAME: the leader election Lease of a deployment without shards */
};

/* A Lease on the server, or to be written. Slices are borrowed for the call. */
struct pl_shard_lease {
    enum pl_shard_lease_kind kind;
    unsigned index;         /* of a shard, < PL_SHARDS_MAX */
    struct pl_slice id;     /* of a member, from its Lease's name */
    struct pl_slice holder; /* empty: none */
    int64_t duration_s;     /* 0: missing */
    unsigned count;         /* its writer's number of shards; 0: missing */
    enum pl_shard_by by;    /* its writer's way to place keys; missing: by namespace */
    bool leaving;           /* of a member: it gives its shards away */
    bool unlabelled;        /* others do not see it in their watches; not written from here */
    int64_t stamp;          /* different at each renewal; not written from here */
    uint64_t version;       /* greater than all before; not written from here */
};

enum pl_shard_verb { PL_SHARD_GET, PL_SHARD_CREATE, PL_SHARD_UPDATE, PL_SHARD_DELETE };

/* err NULL: success, and lease is the server's current one; NULL after a delete. EAPI with 404 and
 * 409 have their usual meaning. */
typedef void (*pl_shard_answer_fn)(void *arg, const struct pl_err *err,
                                   const struct pl_shard_lease *lease);

struct pl_membership;

/* A living member that divides the keys in another way. */
struct pl_membership_refusal {
    unsigned count;
    enum pl_shard_by by;
    const char *who; /* its id; borrowed for the call */
};

struct pl_membership_ops {
    /* One request for each Lease at a time; its answer comes exactly once, later. UPDATE and DELETE
     * apply to the last known version, and fail with 409 when the server has another. A request has
     * a time limit that is shorter than the renew deadline. */
    void (*start)(void *self, enum pl_shard_verb verb, const struct pl_shard_lease *lease,
                  pl_shard_answer_fn on_answer, void *arg);
    /* The member's Lease has expired; `why` is for people. All shards are elsewhere already. */
    void (*on_lost)(void *self, const char *why);
    /* A living member has another number of shards, or places keys in another way: this one must
     * not join. */
    void (*on_refused)(void *self, const struct pl_membership_refusal *refusal);
    /* New shards have not settled within the time limit. */
    void (*on_late)(void *self);
};

struct pl_membership_options {
    const struct pl_membership_ops *ops; /* borrowed for life */
    void *self;
    struct pl_shards *shards;     /* borrowed for life; the membership sets its states */
    struct pl_timers *timers;     /* borrowed for life */
    const struct pl_clock *clock; /* borrowed for life */
    struct pl_rand *rand;         /* borrowed for life */
    int64_t lease_duration_ns, renew_deadline_ns, retry_period_ns;
    int64_t settle_ns; /* time limit for new shards to settle; 0: none */
};

/* The caller owns the membership. The options are copied; their pointers are borrowed for life. */
struct pl_membership *pl_membership_create(const struct pl_membership_options *options);
/* No request may be under way. Accepts NULL. */
void pl_membership_destroy(struct pl_membership *m);

/* Joins under this new, unique id (copied): at the beginning, and again after a loss, when no work
 * of the earlier membership is left. */
void pl_membership_join(struct pl_membership *m, const char *id);
/* Not counted as a member any more: its shards are given away as they drain, and it stays until the
 * last one has gone. Does nothing when it has not joined. */
void pl_membership_leave(struct pl_membership *m);
/* No work in any shard is left: remaining shards are given away at once, then on_left is called,
 * later; after the renew deadline in any case. Leaves if it had not. release false: no more
 * requests. */
void pl_membership_end(struct pl_membership *m, bool release, void (*on_left)(void *arg),
                       void *arg);

/* ---- reports about the server ---- */

/* A Lease from a list or a watch. States older than the known one are ignored. When our own Lease
 * arrives, everything that was written before it is known. */
void pl_membership_see(struct pl_membership *m, const struct pl_shard_lease *lease);
/* The Lease of this kind and index or id does not exist. */
void pl_membership_gone(struct pl_membership *m, const struct pl_shard_lease *lease);
/* Versions went back: the server was restored to an earlier state. The next reports are true,
 * whatever their versions: of the Lease NAME (of_name), or of all others. All Leases that exist
 * must be reported, and all that do not; then all are synced. Others may still act by Leases that
 * were lost, so no shard that is not held is begun for a lease duration. */
void pl_membership_restored(struct pl_membership *m, bool of_name);
/* All existing Leases have been reported. */
void pl_membership_synced(struct pl_membership *m);

/* ---- questions ---- */

/* Reads the clock afresh: true when it is a member before its deadline. */
bool pl_membership_may_write(const struct pl_membership *m);
bool pl_membership_is_member(const struct pl_membership *m);
/* It has joined for the first time, and is not yet a member. */
bool pl_membership_is_newcomer(const struct pl_membership *m);
/* It is a member, and all shards that it is to have for now have come: no other is free, leaves or
 * may be that of a dead member. */
bool pl_membership_has_share(const struct pl_membership *m);
/* Its id; "" when it has not joined. Borrowed until the membership changes. */
const char *pl_membership_id(const struct pl_membership *m);
/* The holder that the Lease of shard i names, in this member's view; "": none. for_ns: time since
 * that was first seen. Borrowed until Leases are reported again. */
const char *pl_membership_holder(const struct pl_membership *m, unsigned i, int64_t *for_ns);
/* A deployment without shards that holds the name; NULL: none. Borrowed until the Lease is reported
 * again. */
const char *pl_membership_stranger(const struct pl_membership *m);

struct pl_member_look {
    const char *id;
    unsigned held;
    bool leaving, dead;
    int64_t age_ns; /* time since its Lease was last seen to change */
};
/* Members by id, at from *at on; false at the end. */
bool pl_membership_next(const struct pl_membership *m, size_t *at, struct pl_member_look *out);
