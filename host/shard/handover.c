/* Shards that come, go and are taken. The order in which a shard leaves is essential: no new runs
 * begin, running ones end, the rest of this process lets go, and only then the request names
 * another member in its Lease. The effect of a request is known only from its answer or from a
 * read; until then the shard is neither ours nor free. */
#include "shard/membership_impl.h"

#include "base/log.h"
#include "shard/plan.h"

#include <string.h>

#define AT_ONCE_MAX 16 /* limit of concurrent requests for shards */

static struct pl_shard_set one(unsigned i)
{
    struct pl_shard_set set = {{0}};
    pl_shard_set_add(&set, i);
    return set;
}

static void set_one(struct pl_membership *m, unsigned i, enum pl_shard_state state)
{
    struct pl_shard_set set = one(i);
    pl_shards_set(m->o.shards, &set, state);
}

static enum pl_shard_state state_of(const struct pl_membership *m, unsigned i)
{
    return pl_shards_state(m->o.shards, i);
}

void pl_handover_drop(struct pl_membership *m)
{
    struct pl_shard_set held = pl_shards_held(m->o.shards);
    pl_shards_set(m->o.shards, &held, PL_SHARD_ELSEWHERE);
}

bool pl_handover_are_empty(const struct pl_membership *m)
{
    for (unsigned i = 0; i < m->count; i++)
        if (m->hands[i].busy || m->hands[i].doubtful || m->hands[i].holder == m->me)
            return false;
    return true;
}

/* ---- the share ---- */

/* It is ours and runs, or another's who has shown that it lives. */
static bool is_placed(const struct pl_membership *m, unsigned i)
{
    const struct pl_hand *hand = &m->hands[i];
    if (pl_roster_is_free(m, hand) || hand->taking || hand->doubtful)
        return false;
    if (hand->holder == m->me)
        return hand->out || state_of(m, i) == PL_SHARD_OURS || state_of(m, i) == PL_SHARD_GOING;
    return hand->holder->fresh && !hand->holder->leaving;
}

bool pl_membership_has_share(const struct pl_membership *m)
{
    unsigned held = 0;
    if (m->state != PL_MEMBER_IN || !m->echoed || m->those_count == 0 ||
        pl_main_lease_stranger(m) != NULL)
        return false;
    for (unsigned i = 0; i < m->count; i++) {
        if (!is_placed(m, i))
            return false;
        held += m->hands[i].holder == m->me && !m->hands[i].out;
    }
    return held >= m->count / m->those_count;
}

/* ---- from what is seen to what is held ---- */

void pl_handover_heed(struct pl_membership *m)
{
    struct pl_shard_set gone = pl_shards_held(m->o.shards);
    for (unsigned i = 0; i < m->count; i++)
        if (m->hands[i].holder == m->me)
            pl_shard_set_remove(&gone, i);
    pl_shards_set(m->o.shards, &gone, PL_SHARD_ELSEWHERE);
}

/* After a restore of the server, others may still act by what was lost. */
static bool may_begin_shards(struct pl_membership *m)
{
    bool may = pl_membership_now(m) >= m->restored_until_ns;
    if (!may)
        pl_membership_at(m, m->restored_until_ns);
    return may;
}

static void follow_leases(struct pl_membership *m)
{
    struct pl_shard_set come = {{0}}, gone = {{0}};
    bool may_begin = may_begin_shards(m);
    bool stranger = pl_main_lease_stranger(m) != NULL;
    for (unsigned i = 0; i < m->count; i++) {
        struct pl_hand *hand = &m->hands[i];
        bool ours = hand->holder == m->me;
        if (ours &&
            (stranger || (m->state == PL_MEMBER_LEAVING && state_of(m, i) == PL_SHARD_ELSEWHERE)))
            hand->out = true;
        if (state_of(m, i) != PL_SHARD_ELSEWHERE && (!ours || hand->out))
            pl_shard_set_add(&gone, i);
        else if (state_of(m, i) == PL_SHARD_ELSEWHERE && ours && !hand->out && !hand->busy &&
                 may_begin)
            pl_shard_set_add(&come, i);
    }
    pl_shards_set(m->o.shards, &gone, PL_SHARD_ELSEWHERE);
    for (unsigned i = 0; i < m->count; i++)
        if (pl_shard_set_has(&come, i))
            m->hands[i].came_ns = pl_membership_now(m);
    pl_shards_set(m->o.shards, &come, PL_SHARD_COMING);
}

static void handover_settle(struct pl_membership *m)
{
    struct pl_shard_set settled = {{0}};
    bool late = false;
    for (unsigned i = 0; i < m->count; i++) {
        if (state_of(m, i) != PL_SHARD_COMING)
            continue;
        int64_t due_ns = m->hands[i].came_ns + m->o.settle_ns;
        if (pl_shards_is_settled(m->o.shards, i))
            pl_shard_set_add(&settled, i);
        else if (m->o.settle_ns > 0 && pl_membership_now(m) >= due_ns)
            late = true;
        else if (m->o.settle_ns > 0)
            pl_membership_at(m, due_ns);
    }
    pl_shards_set(m->o.shards, &settled, PL_SHARD_OURS);
    if (late)
        m->o.ops->on_late(m->o.self);
}

/* ---- requests ---- */

/* A Lease that another client has written is read at once, unless conflicts follow one another. */
static int64_t handover_pause(const struct pl_membership *m, struct pl_hand *hand,
                              const struct pl_err *err)
{
    int64_t now = pl_membership_now(m);
    bool again = hand->conflict_ns != 0 && now < hand->conflict_ns + 2 * m->o.retry_period_ns;
    if (!pl_shard_err_is(err, 409))
        return pl_membership_pause(m, err);
    hand->conflict_ns = now;
    return again ? m->o.retry_period_ns : 0;
}

static void on_hands_answer(struct pl_membership *m, void *what, const struct pl_err *err)
{
    struct pl_hand *hand = what;
    hand->busy = hand->taking = false;
    hand->to = NULL;
    if (err != NULL) {
        /* Refused, late or lost: the server's state is read before anything else. */
        bool refused = err->code == PL_EAPI && err->status < 500;
        hand->unsure = hand->unsure || (hand->out && !refused);
        hand->doubtful = !pl_shard_err_is(err, 404);
        hand->again_ns = pl_membership_now(m) + handover_pause(m, hand, err);
    } else if (hand->doubtful) {
        hand->again_ns =
            pl_membership_now(m) + m->o.retry_period_ns / 4; /* an old state was read */
    }
    pl_membership_poke(m);
}

static unsigned under_way(const struct pl_membership *m)
{
    unsigned n = 0;
    for (unsigned i = 0; i < m->count; i++)
        n += m->hands[i].busy;
    return n;
}

static void handover_ask(struct pl_membership *m, unsigned i, enum pl_shard_verb verb,
                         const struct pl_member *holder)
{
    struct pl_shard_lease lease = {.kind = PL_LEASE_OF_SHARD,
                                   .index = i,
                                   .holder = pl_slice_z(holder != NULL ? holder->id : NULL),
                                   .duration_s = m->o.lease_duration_ns / PL_SECOND,
                                   .count = m->count,
                                   .by = m->by};
    m->hands[i].busy = true;
    pl_membership_ask(m, verb, &lease, on_hands_answer, &m->hands[i]);
}

/* True when no request is under way and the server's state is known; else it is read. */
static bool handover_is_ready(struct pl_membership *m, unsigned i)
{
    struct pl_hand *hand = &m->hands[i];
    if (hand->busy)
        return false;
    if (pl_membership_now(m) < hand->again_ns) {
        pl_membership_at(m, hand->again_ns);
        return false;
    }
    if (under_way(m) >= AT_ONCE_MAX)
        return false; /* the next answer calls this again */
    if (hand->doubtful)
        handover_ask(m, i, PL_SHARD_GET, NULL);
    return !hand->doubtful;
}

/* ---- giving ---- */

static unsigned count_free(const struct pl_membership *m)
{
    unsigned n = 0;
    for (unsigned i = 0; i < m->count; i++)
        n += m->hands[i].free_ns != 0 && !m->hands[i].taking;
    return n;
}

/* The number of shards of leaving members, which go to others before any is moved for fairness; if
 * we leave, only of members before us by id. */
static unsigned count_leaving(const struct pl_membership *m)
{
    unsigned n = 0;
    for (size_t i = 0; i < m->member_count; i++) {
        const struct pl_member *member = m->members[i];
        if (member == m->me && m->state == PL_MEMBER_LEAVING)
            break;
        if (member != m->me && member->there && member->leaving && !member->dead)
            n += member->held;
    }
    return n;
}

/* Of a member that leaves: the one with the fewest that may get one. NULL: none may. */
static struct pl_member *receiver_of_leaving(const struct pl_membership *m, unsigned rank)
{
    bool any = false;
    unsigned level;
    for (size_t i = 0; i < m->those_count && !any; i++)
        any = pl_roster_may_get(m, m->those[i]);
    while (any) {
        struct pl_member *to = m->those[pl_plan_receiver(m->held, m->those_count, rank++, &level)];
        if (pl_roster_may_get(m, to))
            return to;
    }
    return NULL;
}

/* NULL: no one should get it, or the one that should may be dead. That one counts all the same: if
 * it lives, it gets its share as soon as that is seen, and nobody has got it instead. */
static struct pl_member *receiver(struct pl_membership *m, unsigned nth)
{
    unsigned before = count_free(m) + count_leaving(m) + nth;
    if (m->state == PL_MEMBER_LEAVING)
        return receiver_of_leaving(m, before);
    if (m->state != PL_MEMBER_IN)
        return NULL;
    size_t at = pl_plan_give(m->held, m->those_count, m->me->order, before);
    return at != PL_PLAN_NOBODY && pl_roster_may_get(m, m->those[at]) ? m->those[at] : NULL;
}

/* It is ours again, when no earlier request can name another member in its Lease any more. */
static void handover_take_back(struct pl_membership *m, unsigned i)
{
    struct pl_hand *hand = &m->hands[i];
    hand->out = hand->unsure;
    if (hand->unsure)
        handover_ask(m, i, PL_SHARD_UPDATE, m->me);
    pl_membership_poke(m);
}

/* Gives each leaving shard to the member that should get it; frees it when there is none. */
static void handover_give(struct pl_membership *m)
{
    unsigned nth = 0;
    for (unsigned i = 0; i < m->count; i++) {
        struct pl_hand *hand = &m->hands[i];
        if (hand->holder != m->me || !hand->out || !handover_is_ready(m, i))
            continue;
        struct pl_member *to = pl_main_lease_stranger(m) == NULL ? receiver(m, nth++) : NULL;
        if (to == NULL && m->state == PL_MEMBER_IN && pl_main_lease_stranger(m) == NULL) {
            handover_take_back(m, i); /* its receiver has gone */
            continue;
        }
        handover_ask(m, i, PL_SHARD_UPDATE, to);
        hand->to = to;
        if (to != NULL && m->state == PL_MEMBER_IN)
            m->held[m->me->order]--;
        if (to != NULL)
            m->held[to->order]++, nth--;
    }
}

/* No work is done for it any more in this process. */
static void handover_let_go(struct pl_membership *m, unsigned i)
{
    m->hands[i].out = true;
    set_one(m, i, PL_SHARD_ELSEWHERE);
}

static bool has_neighbour(const struct pl_membership *m, unsigned i, const struct pl_member *who)
{
    return (i > 0 && m->hands[i - 1].holder == who) ||
           (i + 1 < m->count && m->hands[i + 1].holder == who);
}

/* One that has not begun, else one beside the receiver's, else the last. */
static unsigned handover_choose(const struct pl_membership *m, const struct pl_member *to)
{
    unsigned best = m->count;
    int worth = -1;
    for (unsigned i = 0; i < m->count; i++) {
        enum pl_shard_state state = state_of(m, i);
        int points = state == PL_SHARD_COMING ? 2 : has_neighbour(m, i, to) ? 1 : 0;
        if (m->hands[i].holder != m->me || m->hands[i].busy ||
            (state != PL_SHARD_COMING && state != PL_SHARD_OURS) || points < worth)
            continue;
        best = i;
        worth = points;
    }
    return best;
}

/* One at a time; its receiver may have gone meanwhile, or have got another. */
static void keep_fair(struct pl_membership *m)
{
    unsigned going = m->count;
    for (unsigned i = 0; i < m->count; i++) {
        if (m->hands[i].holder == m->me && (m->hands[i].out || m->hands[i].to != NULL))
            return;
        if (state_of(m, i) == PL_SHARD_GOING)
            going = i;
    }
    const struct pl_member *to = receiver(m, 0);
    if (going < m->count && to == NULL) {
        set_one(m, going, PL_SHARD_OURS);
    } else if (going == m->count && to != NULL) {
        unsigned i = handover_choose(m, to);
        if (i == m->count)
            return;
        if (state_of(m, i) == PL_SHARD_COMING)
            handover_let_go(m, i);
        else
            set_one(m, i, PL_SHARD_GOING);
    }
}

static void drain_all(struct pl_membership *m)
{
    struct pl_shard_set all = pl_shards_in(m->o.shards, PL_SHARD_OURS);
    struct pl_shard_set coming = pl_shards_in(m->o.shards, PL_SHARD_COMING);
    for (unsigned i = 0; i < m->count; i++)
        if (pl_shard_set_has(&coming, i))
            handover_let_go(m, i);
    pl_shards_set(m->o.shards, &all, PL_SHARD_GOING);
}

static void let_drained_go(struct pl_membership *m)
{
    for (unsigned i = 0; i < m->count; i++)
        if (state_of(m, i) == PL_SHARD_GOING && (m->forced || pl_shards_is_settled(m->o.shards, i)))
            handover_let_go(m, i);
}

/* The label that others watch it by has been taken off. */
static void label_again(struct pl_membership *m)
{
    for (unsigned i = 0; i < m->count; i++)
        if (m->hands[i].unlabelled && m->hands[i].holder == m->me && !m->hands[i].out &&
            handover_is_ready(m, i))
            handover_ask(m, i, PL_SHARD_UPDATE, m->me);
}

/* ---- taking ---- */

static void on_confirmed(struct pl_membership *m, void *what, const struct pl_err *err)
{
    struct pl_member *member = what;
    member->asked = false;
    if (pl_shard_err_is(err, 404)) {
        struct pl_shard_lease lease = {.kind = PL_LEASE_OF_MEMBER, .id = pl_slice_z(member->id)};
        pl_membership_gone(m, &lease);
        member->confirmed = true;
    } else if (err == NULL) {
        int64_t over_ns = member->changed_ns + member->duration_ns;
        member->confirmed = pl_membership_now(m) >= over_ns;
    }
    pl_membership_at(m, pl_membership_now(m) + (err != NULL ? m->o.retry_period_ns / 4 : 0));
}

/* False for an id that cannot be part of a Lease's name. Others may have written it into a shard's
 * Lease. The server refuses such a name, so it would never answer that the Lease does not exist. */
static bool may_have_lease(const struct pl_member *member)
{
    return member->id[strspn(member->id, "abcdefghijklmnopqrstuvwxyz0123456789-.")] == '\0';
}

/* By the reports it has expired. They may be outdated, so the server is asked. */
static bool has_vanished(struct pl_membership *m, struct pl_member *member)
{
    if (member == NULL || member->confirmed || member->is_ours || !may_have_lease(member))
        return true;
    if (!member->asked) {
        struct pl_shard_lease lease = {.kind = PL_LEASE_OF_MEMBER, .id = pl_slice_z(member->id)};
        member->asked = true;
        pl_membership_ask(m, PL_SHARD_GET, &lease, on_confirmed, member);
    }
    return false;
}

static void handover_take(struct pl_membership *m, unsigned i)
{
    struct pl_hand *hand = &m->hands[i];
    if (!has_vanished(m, hand->holder) || (i == 0 && !pl_main_lease_claim(m)) ||
        !handover_is_ready(m, i))
        return;
    handover_ask(m, i, hand->there ? PL_SHARD_UPDATE : PL_SHARD_CREATE, m->me);
    hand->taking = true;
}

static void take_over_the_share(struct pl_membership *m, const struct pl_shard_set *planned)
{
    int64_t now = pl_membership_now(m);
    for (unsigned i = 0; i < m->count; i++) {
        const struct pl_hand *hand = &m->hands[i];
        if (hand->free_ns == 0 || hand->busy || pl_shard_set_has(planned, i))
            continue;
        if (now >= hand->over_ns)
            handover_take(m, i);
        else
            pl_membership_at(m, hand->over_ns);
    }
}

static void take_share(struct pl_membership *m)
{
    size_t owners[PL_SHARDS_MAX];
    for (unsigned i = 0; i < m->count; i++) {
        const struct pl_hand *hand = &m->hands[i];
        bool free = hand->free_ns != 0 && !hand->taking;
        /* Only free shards and ours count as neighbours. */
        owners[i] = free                                    ? PL_PLAN_NOBODY
                    : hand->taking                          ? m->me->order
                    : hand->holder->order == PL_PLAN_NOBODY ? m->member_count
                                                            : hand->holder->order;
    }
    struct pl_shard_set planned =
        pl_plan_take(m->held, m->those_count, m->me->order, owners, m->count);
    for (unsigned i = 0; i < m->count; i++)
        if (pl_shard_set_has(&planned, i))
            handover_take(m, i);
    take_over_the_share(m, &planned);
}

/* Removes Leases of another number of shards, whose members have vanished. */
static void remove_foreign(struct pl_membership *m)
{
    for (unsigned i = m->count; i < PL_SHARDS_MAX; i++) {
        const struct pl_hand *hand = &m->hands[i];
        if (!hand->there || !pl_roster_is_free(m, hand) || !has_vanished(m, hand->holder) ||
            !handover_is_ready(m, i))
            continue;
        handover_ask(m, i, PL_SHARD_DELETE, NULL);
        return;
    }
}

void pl_handover_step(struct pl_membership *m)
{
    follow_leases(m);
    handover_settle(m);
    if (m->state == PL_MEMBER_LEAVING)
        drain_all(m);
    else if (pl_main_lease_stranger(m) == NULL)
        keep_fair(m);
    let_drained_go(m);
    label_again(m);
    handover_give(m);
    if (m->state == PL_MEMBER_IN && pl_main_lease_stranger(m) == NULL && may_begin_shards(m))
        take_share(m);
    if (m->state == PL_MEMBER_IN && m->hands[0].holder == m->me)
        remove_foreign(m);
}
