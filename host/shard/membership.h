/* Membership: one replica among those that share the shards of one name, and what it holds. A state
 * machine over Leases: `ops` carries its requests to the server, and whoever watches the Leases
 * tells it what is there. It decides by the own clock alone, the one that counts suspended time.
 *
 * - A member renews its Lease each retry period. From the renew deadline after the last renewal
 * that succeeded was sent, it holds nothing any more, and stays so: it was lost, and must join
 * anew.
 * - A shard's Lease names its holder. Whoever is named holds it for as long as it is a member. It
 *   changes hands by compare-and-swap, and only its holder gives it, unless that one has vanished.
 * - A holder has vanished when its member's Lease was not seen to change for as long as it says,
 *   and is then found unchanged on the server.
 *
 * I/O thread. Callbacks and requests come from timers or from pl_membership_*; a callback may call
 * anything here but destroy. */
#pragma once

#include "base/err.h"
#include "base/rand.h"
#include "base/timer.h"
#include "shard/shards.h"

#define PL_MEMBER_ID 320 /* a host's name, "-", a UUID, and room */

enum pl_shard_lease_kind {
    PL_LEASE_OF_MEMBER, /* NAME-member-ID */
    PL_LEASE_OF_SHARD,  /* NAME-shard-i */
    PL_LEASE_OF_NAME,   /* NAME: what a deployment without shards elects its leader with */
};

/* A Lease as it is on the server, or is to be. Slices are borrowed for the call. */
struct pl_shard_lease {
    enum pl_shard_lease_kind kind;
    unsigned index;         /* of a shard, < PL_SHARDS_MAX */
    struct pl_slice id;     /* of a member, from its Lease's name */
    struct pl_slice holder; /* empty: nobody */
    int64_t duration_s;     /* 0: it does not say */
    unsigned count;         /* how many shards its writer divides into; 0: it does not say */
    bool leaving;           /* of a member: it gives its shards away */
    int64_t stamp;          /* of who wrote it: another at each renewal; not written from here */
    uint64_t version;       /* greater than all before; not written from here */
};

enum pl_shard_verb { PL_SHARD_GET, PL_SHARD_CREATE, PL_SHARD_UPDATE, PL_SHARD_DELETE };

/* err NULL: success, and lease is what the server has now; NULL after a delete. EAPI with 404 and
 * 409 have their usual meaning. */
typedef void (*pl_shard_answer_fn)(void *arg, const struct pl_err *err,
                                   const struct pl_shard_lease *lease);

struct pl_membership;

struct pl_membership_ops {
    /* One request for each Lease at a time; its answer comes exactly once, later. UPDATE and DELETE
     * are for the version that was told or answered last, and fail with 409 when the server has
     * another. A request has a limit that is shorter than the renew deadline. */
    void (*start)(void *self, enum pl_shard_verb verb, const struct pl_shard_lease *lease,
                  pl_shard_answer_fn on_answer, void *arg);
    /* The member's Lease ran out, `why` is for people. All shards are elsewhere already. */
    void (*on_lost)(void *self, const char *why);
    /* A member that divides into another number lives: this one must not join. */
    void (*on_refused)(void *self, unsigned other, const char *who);
    /* Shards that came have not settled within the time for it. */
    void (*on_late)(void *self);
};

struct pl_membership_options {
    const struct pl_membership_ops *ops; /* borrowed for life */
    void *self;
    struct pl_shards *shards;     /* borrowed for life; its states are set from here */
    struct pl_timers *timers;     /* borrowed for life */
    const struct pl_clock *clock; /* borrowed for life */
    struct pl_rand *rand;         /* borrowed for life */
    int64_t lease_duration_ns, renew_deadline_ns, retry_period_ns;
    int64_t settle_ns; /* how long shards that came may take; 0: for ever */
};

struct pl_membership *pl_membership_create(const struct pl_membership_options *options);
/* Nothing may be under way. Accepts NULL. */
void pl_membership_destroy(struct pl_membership *m);

/* Joins under this id (copied), which nobody has had: at the beginning, and again once lost, when
 * nothing of the earlier membership is under way any more. */
void pl_membership_join(struct pl_membership *m, const char *id);
/* No longer counted as a member: its shards are given away as they drain, and it stays until the
 * last one has gone. Harmless when it has not joined. */
void pl_membership_leave(struct pl_membership *m);
/* Nothing of any shard is under way any more: what is left is given away at once, then on_left is
 * called, later; after the renew deadline in any case. Leaves if it had not. release false: no more
 * requests. */
void pl_membership_end(struct pl_membership *m, bool release, void (*on_left)(void *arg),
                       void *arg);

/* ---- what is seen on the server ---- */

/* A Lease as a list or a watch has it. What is older than what is known is passed over. */
void pl_membership_see(struct pl_membership *m, const struct pl_shard_lease *lease);
/* The Lease of this kind and index or id is not there. */
void pl_membership_gone(struct pl_membership *m, const struct pl_shard_lease *lease);
/* All that is there has been told once. */
void pl_membership_synced(struct pl_membership *m);

/* ---- questions ---- */

/* Reads the clock afresh: it is a member, before its deadline. */
bool pl_membership_may_write(const struct pl_membership *m);
bool pl_membership_is_member(const struct pl_membership *m); /* joined and not lost; or leaving */
const char *pl_membership_id(const struct pl_membership *m);
/* Who has shard i in the eyes of this member; "": nobody. for_ns: since that was first seen. */
const char *pl_membership_holder(const struct pl_membership *m, unsigned i, int64_t *for_ns);
/* A deployment without shards that holds the name; NULL: none does. */
const char *pl_membership_stranger(const struct pl_membership *m);

struct pl_member_look {
    const char *id;
    unsigned held;
    bool leaving, dead;
    int64_t age_ns; /* since its Lease was last seen to change */
};
/* Members by id, at from *at on; false at the end. */
bool pl_membership_next(const struct pl_membership *m, size_t *at, struct pl_member_look *out);
