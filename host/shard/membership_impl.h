/* The internals of a membership, only for membership.c, roster.c, handover.c and main_lease.c. */
#pragma once

#include "base/map.h"
#include "shard/membership.h"

/* A known member: by its Lease, or because a shard's Lease names it. Never freed while a hand or
 * the main Lease names it. */
struct pl_member {
    char *id;           /* owned */
    int64_t changed_ns; /* boot: when it was last seen to change; if gone: when it last existed */
    int64_t duration_ns;
    int64_t tried_ns; /* boot: when its Lease was last asked to be deleted */
    int64_t stamp;
    uint64_t version;
    unsigned count;
    enum pl_shard_by by;
    unsigned held;  /* number of its shards: computed in each step */
    unsigned names; /* number of hands that name it, computed in each step */
    size_t order;   /* position among the counting members; PL_PLAN_NOBODY: it does not count */
    bool there;     /* its Lease exists */
    bool leaving;
    bool moved;     /* it was seen to change after it was first seen */
    bool fresh;     /* it was seen to appear or change after our own Lease had come */
    bool confirmed; /* found unchanged on the server after it had expired */
    bool dead;      /* it has expired; computed in each step */
    bool asked;     /* a request for its Lease is under way */
    bool is_ours;   /* this membership, or an earlier one of this process */
};

/* The known state of a shard's Lease, and the work on it. */
struct pl_hand {
    bool there;
    bool unlabelled;          /* others do not see its Lease in their watches */
    struct pl_member *holder; /* NULL: none */
    uint64_t version;
    unsigned count;
    int64_t since_ns;     /* boot: when the holder was first seen to hold it */
    int64_t free_ns;      /* boot: since when it has no living holder; 0: it has one */
    int64_t over_ns;      /* boot: when it may be taken beyond the fair share */
    int64_t came_ns;      /* of one that is coming: since when */
    bool out;             /* held, but on its way to another: no work is done for it any more */
    bool busy;            /* a request is under way */
    struct pl_member *to; /* the request gives the shard to this member; NULL: it does not */
    bool taking;          /* the request takes the shard */
    bool doubtful;        /* the server's state is unknown and has to be read */
    bool unsure;      /* a request that gives it away may still be carried out, unless another comes
                         first */
    int64_t again_ns; /* earliest time of the next attempt */
    int64_t conflict_ns; /* boot: of the last conflict; 0: none */
};

struct pl_main_lease {
    bool there, mine, busy, doubtful;
    char holder[PL_MEMBER_ID]; /* "": nobody */
    int64_t changed_ns, duration_ns, stamp, again_ns;
    uint64_t version;
};

enum pl_membership_state {
    PL_MEMBER_OUT,
    PL_MEMBER_JOINING, /* its Lease does not exist yet */
    PL_MEMBER_IN,
    PL_MEMBER_LEAVING,
};

struct pl_membership {
    struct pl_membership_options o;
    unsigned count;
    enum pl_shard_by by;
    enum pl_membership_state state;
    struct pl_member *me; /* NULL before the first join */
    struct pl_map by_id;
    struct pl_member **members; /* owned array of owned, by id */
    size_t member_count, member_cap;
    struct pl_hand hands[PL_SHARDS_MAX];
    struct pl_main_lease main_lease;
    bool synced;
    bool restoring;            /* Leases of a restored server are being reported */
    int64_t restored_until_ns; /* boot: until then no shard is begun: the server was restored */
    bool echoed;    /* its own Lease has come by the watch, and with it everything that was written
                       before. Until then it takes nothing, since a member with another number of
                       shards may exist */
    unsigned *held; /* of those that count, by id; room for all */
    struct pl_member **those; /* the same ones */
    size_t those_count;

    int64_t sent_ns, deadline_ns; /* boot; of the last renewal that succeeded */
    int64_t tried_ns;             /* boot */
    bool renewing, renew_now, written, deleting;
    bool marks, marked; /* the last renewal says that it leaves; such a one has succeeded */
    int64_t marked_ns;  /* boot: when it did; else when it began to leave */
    bool was_in;        /* it has been a member */
    bool hurried;       /* a second attempt to renew was made at once: the next one waits */
    unsigned epoch;     /* distinguishes answers of an earlier membership */
    size_t asks;
    int64_t step_ns; /* boot: time of the next step */
    struct pl_timer step, limit;
    bool forced, told_left;
    void (*on_left)(void *arg);
    void *left_arg;
};

static inline int64_t pl_membership_now(const struct pl_membership *m)
{
    return pl_clock_boot(m->o.clock);
}

/* ---- membership.c ---- */

/* Schedules the next step soon. */
void pl_membership_poke(struct pl_membership *m);
/* Schedules the next step at that time at the latest. */
void pl_membership_at(struct pl_membership *m, int64_t boot_ns);
/* on_answer gets `what` back, unless there is another membership by then. */
void pl_membership_ask(
    struct pl_membership *m, enum pl_shard_verb verb, const struct pl_shard_lease *lease,
    void (*on_answer)(struct pl_membership *m, void *what, const struct pl_err *err), void *what);
/* The pause after a request that failed: a retry period when it was refused, else a part of it. */
int64_t pl_membership_pause(const struct pl_membership *m, const struct pl_err *err);
static inline bool pl_shard_err_is(const struct pl_err *err, int status)
{
    return err != NULL && err->code == PL_EAPI && err->status == status;
}

/* ---- roster.c: members, and their shards ---- */

/* The member with this id, which is added if it is new. It belongs to the membership. When too many
 * are known, one that nothing names makes room, so that who has a shard is always known. NULL: the
 * id is empty. */
struct pl_member *pl_roster_member(struct pl_membership *m, struct pl_slice id);
/* Takes the state of a Lease from an answer. */
void pl_roster_see(struct pl_membership *m, const struct pl_shard_lease *lease);
/* Computes which members are dead, which count, and their numbers of shards. */
void pl_roster_work_out(struct pl_membership *m);
/* True when a shard may be given to it: we have seen it live since we joined, and it may still be a
 * member. A Lease that was there before may have been left by one that died. */
bool pl_roster_may_get(const struct pl_membership *m, const struct pl_member *member);
bool pl_roster_is_free(const struct pl_membership *m, const struct pl_hand *hand);
/* The member divides the keys into the same shards as we do. */
static inline bool pl_roster_divides_alike(const struct pl_membership *m,
                                           const struct pl_member *member)
{
    return member->count == m->count && member->by == m->by;
}
/* True when another member lives, whatever its number of shards. */
bool pl_roster_has_others(const struct pl_membership *m);
/* Forgets members without a Lease and without a shard; deletes Leases of our earlier memberships,
 * and those of vanished members, if `remove`. */
void pl_roster_tidy(struct pl_membership *m, bool remove);
void pl_roster_deinit(struct pl_membership *m);

/* ---- handover.c: shards that come, go and are taken ---- */

/* Sets our shards' states by what is seen; settles, gives, takes. */
void pl_handover_step(struct pl_membership *m);
/* Shards whose Leases do not name us are elsewhere. */
void pl_handover_heed(struct pl_membership *m);
/* All shards are elsewhere, from now on. */
void pl_handover_drop(struct pl_membership *m);
/* True when no shard names us, and no request about a shard is under way. */
bool pl_handover_are_empty(const struct pl_membership *m);

/* ---- main_lease.c: the Lease NAME ---- */

/* See pl_membership_stranger. */
const char *pl_main_lease_stranger(const struct pl_membership *m);
/* True when it is ours, or is being claimed: shard 0 is not taken before. */
bool pl_main_lease_claim(struct pl_membership *m);
/* Called with each renewal of the member's Lease. */
void pl_main_lease_renew(struct pl_membership *m);
void pl_main_lease_step(struct pl_membership *m);
/* The last member leaves: true when there is nothing to release any more. */
bool pl_main_lease_give_up(struct pl_membership *m);
void pl_main_lease_see(struct pl_membership *m, const struct pl_shard_lease *lease);
void pl_main_lease_gone(struct pl_membership *m);
