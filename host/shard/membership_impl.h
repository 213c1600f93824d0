/* The inside of a membership, shared by membership.c, roster.c, hands.c and title.c alone. */
#pragma once

#include "base/map.h"
#include "shard/membership.h"

/* A member as it is seen: by its Lease, or because a shard's Lease names it. Never freed while a
 * hand or the title names it. */
struct pl_member {
    char *id;           /* owned */
    int64_t changed_ns; /* boot: when it was last seen to change; gone: when it was last there */
    int64_t duration_ns;
    int64_t stamp;
    uint64_t version;
    unsigned count;
    unsigned held;  /* of the shards that are divided: worked out in each step */
    unsigned names; /* hands that name it, worked out in each step */
    size_t order;   /* among those that count; PL_PLAN_NOBODY: it does not */
    bool there;     /* its Lease */
    bool leaving;
    bool moved;     /* it was seen to change after it was first seen */
    bool confirmed; /* found unchanged on the server after its time was over */
    bool dead;      /* its time is over; worked out in each step */
    bool asked;     /* a request for its Lease is under way */
    bool is_ours;   /* this membership, or an earlier one of this process */
};

/* A shard's Lease as it is seen, and what is being done to it. */
struct pl_hand {
    bool there;
    struct pl_member *holder; /* NULL: nobody */
    uint64_t version;
    unsigned count;
    int64_t since_ns;     /* boot: when the holder was first seen to hold it, */
    int64_t free_ns;      /* since when nobody who lives does; 0: somebody does, */
    int64_t over_ns;      /* and when it may be taken over the share */
    int64_t came_ns;      /* of one that is coming: since when */
    bool out;             /* held, and on its way to another: nothing is done for it any more */
    bool busy;            /* a request is under way, */
    struct pl_member *to; /* which gives it to that one; NULL: none does */
    bool taking;          /* which takes it */
    bool doubtful;        /* what the server has is not known: to be asked */
    bool unsure; /* a request that gives it may still be carried out, unless another is first */
    int64_t again_ns; /* not to be tried before */
};

struct pl_title {
    bool there, mine, busy, doubtful;
    char holder[PL_MEMBER_ID]; /* "": nobody */
    int64_t changed_ns, duration_ns, stamp, again_ns;
    uint64_t version;
};

enum pl_membership_state {
    PL_MEMBER_OUT,
    PL_MEMBER_JOINING, /* its Lease is not there yet */
    PL_MEMBER_IN,
    PL_MEMBER_LEAVING,
};

struct pl_membership {
    struct pl_membership_options o;
    unsigned count;
    enum pl_membership_state state;
    struct pl_member *me; /* NULL before the first join */
    struct pl_map by_id;
    struct pl_member **members; /* owned array of owned, by id */
    size_t member_count, member_cap;
    struct pl_hand hands[PL_SHARDS_MAX];
    struct pl_title title;
    bool synced;
    unsigned *held;           /* of those that count, by id; room for all */
    struct pl_member **those; /* the same ones */
    size_t those_count;

    int64_t sent_ns, deadline_ns; /* boot; of the last renewal that succeeded */
    int64_t tried_ns;             /* boot */
    bool renewing, renew_now, written, deleting;
    unsigned epoch; /* answers of an earlier membership are told apart */
    size_t asks;
    int64_t step_ns; /* boot: when something happens by itself */
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

/* The next step comes soon. */
void pl_membership_poke(struct pl_membership *m);
/* ... at that time at the latest. */
void pl_membership_at(struct pl_membership *m, int64_t boot_ns);
/* on_answer gets `what` back, unless the membership is another one by then. */
void pl_membership_ask(
    struct pl_membership *m, enum pl_shard_verb verb, const struct pl_shard_lease *lease,
    void (*on_answer)(struct pl_membership *m, void *what, const struct pl_err *err), void *what);
static inline bool pl_shard_err_is(const struct pl_err *err, int status)
{
    return err != NULL && err->code == PL_EAPI && err->status == status;
}

/* ---- roster.c: who is there, and who has what ---- */

struct pl_member *pl_roster_member(struct pl_membership *m, struct pl_slice id);
/* Who is dead, who counts, how many shards each has. */
void pl_roster_work_out(struct pl_membership *m);
bool pl_roster_is_free(const struct pl_membership *m, const struct pl_hand *hand);
/* Somebody else lives, whatever it divides into. */
bool pl_roster_has_others(const struct pl_membership *m);
/* Forgets who is not named and not there; removes Leases of who has vanished, if `remove`. */
void pl_roster_tidy(struct pl_membership *m, bool remove);
void pl_roster_deinit(struct pl_membership *m);

/* ---- hands.c: shards that come, go and are taken ---- */

/* What our shards' states have to be by what is seen; settles, gives, takes. */
void pl_hands_step(struct pl_membership *m);
/* Everything is elsewhere, now. */
void pl_hands_drop(struct pl_membership *m);
/* No shard names us, and no request of a shard is under way. */
bool pl_hands_are_empty(const struct pl_membership *m);

/* ---- title.c: the Lease NAME ---- */

const char *pl_title_stranger(const struct pl_membership *m);
/* Ours, or being claimed now: shard 0 is not taken before. */
bool pl_title_claim(struct pl_membership *m);
/* With each renewal of the member's. */
void pl_title_renew(struct pl_membership *m);
void pl_title_step(struct pl_membership *m);
/* The last member leaves: true once there is nothing to be given up any more. */
bool pl_title_give_up(struct pl_membership *m);
void pl_title_see(struct pl_membership *m, const struct pl_shard_lease *lease);
void pl_title_gone(struct pl_membership *m);
