/* The known members: by their Leases, and by shards that name them. Only our own clock decides that
 * a member has vanished, counted from the last seen change of its Lease; times of other clocks are
 * never compared with it. */
#include "shard/membership_impl.h"

#include "base/alloc.h"
#include "base/text.h"
#include "shard/plan.h"

#include <string.h>

#define MEMBERS_MAX 4096 /* limit of known members: no one has so many replicas */

static size_t roster_place_of(const struct pl_membership *m, struct pl_slice id)
{
    size_t low = 0, high = m->member_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (pl_slice_cmp(pl_slice_z(m->members[middle]->id), id) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void roster_insert(struct pl_membership *m, struct pl_member *member)
{
    size_t at = roster_place_of(m, pl_slice_z(member->id));
    if (m->member_count == m->member_cap) {
        m->member_cap = m->member_cap > 0 ? m->member_cap * 2 : 8;
        m->members = pl_reallocarray(m->members, m->member_cap, sizeof *m->members);
        m->held = pl_reallocarray(m->held, m->member_cap, sizeof *m->held);
        m->those = pl_reallocarray(m->those, m->member_cap, sizeof *m->those);
    }
    memmove(m->members + at + 1, m->members + at, (m->member_count - at) * sizeof *m->members);
    m->members[at] = member;
    m->member_count++;
}

static struct pl_member *roster_add(struct pl_membership *m, struct pl_slice id)
{
    struct pl_member *member = PL_NEW(struct pl_member);
    member->id = pl_text_copy(id);
    member->changed_ns = pl_membership_now(m);
    member->duration_ns = m->o.lease_duration_ns;
    pl_map_put(&m->by_id, id, member);
    roster_insert(m, member);
    return member;
}

static void roster_forget(struct pl_membership *m, size_t at)
{
    struct pl_member *member = m->members[at];
    m->member_count--;
    memmove(m->members + at, m->members + at + 1, (m->member_count - at) * sizeof *m->members);
    pl_map_remove(&m->by_id, pl_slice_z(member->id));
    pl_free(member->id);
    pl_free(member);
}

static bool is_needed(const struct pl_membership *m, const struct pl_member *member)
{
    if (member == m->me || member->asked || strcmp(m->main_lease.holder, member->id) == 0)
        return true;
    for (unsigned i = 0; i < PL_SHARDS_MAX; i++)
        if (m->hands[i].holder == member || m->hands[i].to == member)
            return true;
    return false;
}

struct pl_member *pl_roster_member(struct pl_membership *m, struct pl_slice id)
{
    struct pl_member *member = pl_map_get(&m->by_id, id);
    if (member != NULL || id.len == 0)
        return member;
    for (size_t i = m->member_count; m->member_count >= MEMBERS_MAX && i-- > 0;)
        if (!is_needed(m, m->members[i]))
            roster_forget(m, i);
    return roster_add(m, id);
}

void pl_roster_deinit(struct pl_membership *m)
{
    while (m->member_count > 0)
        roster_forget(m, m->member_count - 1);
    pl_map_deinit(&m->by_id);
    pl_free(m->members);
    pl_free(m->held);
    pl_free(m->those);
}

/* ---- reports ---- */

static bool roster_is_news(const struct pl_member *member, const struct pl_shard_lease *lease)
{
    return !member->there || member->stamp != lease->stamp || member->leaving != lease->leaving ||
           member->count != lease->count || member->by != lease->by;
}

/* Most reports are renewals: they end here. */
static void see_member(struct pl_membership *m, const struct pl_shard_lease *lease)
{
    bool full = m->member_count >= MEMBERS_MAX && pl_map_get(&m->by_id, lease->id) == NULL;
    struct pl_member *member = full ? NULL : pl_roster_member(m, lease->id);
    if (member == NULL || lease->version <= member->version)
        return;
    member->version = lease->version;
    if (!roster_is_news(member, lease))
        return;
    bool same = member->there && member->leaving == lease->leaving &&
                member->count == lease->count && member->by == lease->by && !member->dead;
    same = same && (member->fresh || !m->echoed);
    member->fresh = m->echoed && !m->restoring; /* an earlier state is no renewal */
    member->moved = member->there && !m->restoring;
    member->there = true;
    member->confirmed = false;
    member->changed_ns = pl_membership_now(m);
    member->stamp = lease->stamp;
    member->leaving = lease->leaving;
    member->count = lease->count;
    member->by = lease->by;
    member->duration_ns =
        lease->duration_s > 0 ? lease->duration_s * PL_SECOND : m->o.lease_duration_ns;
    /* The membership waits to learn whether a member that divides in another way lives. */
    if (!same || !pl_roster_divides_alike(m, member))
        pl_membership_poke(m);
}

static void see_shard(struct pl_membership *m, const struct pl_shard_lease *lease)
{
    struct pl_hand *hand = &m->hands[lease->index];
    struct pl_member *holder = pl_roster_member(m, lease->holder);
    if (lease->version < hand->version)
        return;
    hand->doubtful = false;
    if (lease->version == hand->version)
        return;
    hand->version = lease->version;
    hand->unsure = false;
    hand->again_ns = 0;
    if (hand->holder != holder || !hand->there)
        hand->since_ns = pl_membership_now(m);
    if (hand->holder != holder)
        hand->out = false;
    hand->there = true;
    hand->unlabelled = lease->unlabelled;
    hand->holder = holder;
    hand->count = lease->count;
    pl_membership_poke(m);
}

void pl_roster_see(struct pl_membership *m, const struct pl_shard_lease *lease)
{
    if (lease->kind == PL_LEASE_OF_MEMBER)
        see_member(m, lease);
    else if (lease->kind == PL_LEASE_OF_SHARD && lease->index < PL_SHARDS_MAX)
        see_shard(m, lease);
    else if (lease->kind == PL_LEASE_OF_NAME)
        pl_main_lease_see(m, lease);
}

void pl_membership_see(struct pl_membership *m, const struct pl_shard_lease *lease)
{
    if (!m->echoed && m->me != NULL && lease->kind == PL_LEASE_OF_MEMBER &&
        pl_slice_eqz(lease->id, m->me->id)) {
        m->echoed = true;
        pl_membership_poke(m);
    }
    pl_roster_see(m, lease);
}

/* Another client has deleted it. Its holder, if it is not us, may not know yet: it counts as the
 * holder until it has expired, or somebody has written the Lease again, which it does itself. */
static void shard_gone(struct pl_membership *m, unsigned i)
{
    struct pl_hand *hand = &m->hands[i];
    hand->there = hand->out = hand->doubtful = hand->unsure = false;
    if (i < m->count && hand->holder != NULL && !hand->holder->is_ours)
        return;
    hand->holder = NULL;
    hand->since_ns = pl_membership_now(m);
}

void pl_membership_gone(struct pl_membership *m, const struct pl_shard_lease *lease)
{
    struct pl_member *member = NULL;
    if (lease->kind == PL_LEASE_OF_MEMBER) {
        member = pl_map_get(&m->by_id, lease->id);
        if (member == NULL || !member->there)
            return;
        member->there = false;
        if (!member->dead) /* a vanished member stays so */
            member->changed_ns = pl_membership_now(m);
    } else if (lease->kind == PL_LEASE_OF_SHARD && lease->index < PL_SHARDS_MAX) {
        shard_gone(m, lease->index);
    } else if (lease->kind == PL_LEASE_OF_NAME) {
        pl_main_lease_gone(m);
    }
    pl_membership_poke(m);
}

void pl_membership_restored(struct pl_membership *m, bool of_name)
{
    pl_membership_poke(m);
    if (of_name) {
        m->main_lease.version = 0;
        return;
    }
    m->restoring = true;
    m->restored_until_ns = pl_membership_now(m) + m->o.lease_duration_ns;
    for (size_t i = 0; i < m->member_count; i++) {
        m->members[i]->version = 0;
        m->members[i]->fresh = m->members[i]->moved = false;
    }
    for (unsigned i = 0; i < PL_SHARDS_MAX; i++)
        m->hands[i].version = 0;
}

/* ---- the consequences ---- */

bool pl_roster_may_get(const struct pl_membership *m, const struct pl_member *member)
{
    return member->fresh && pl_membership_now(m) < member->changed_ns + m->o.renew_deadline_ns;
}

bool pl_roster_is_free(const struct pl_membership *m, const struct pl_hand *hand)
{
    const struct pl_member *holder = hand->holder;
    return holder == NULL || holder->dead || (holder->is_ours && holder != m->me);
}

static void note_freedom(struct pl_membership *m, struct pl_hand *hand, int64_t now)
{
    if (!pl_roster_is_free(m, hand)) {
        hand->free_ns = 0;
        return;
    }
    if (hand->free_ns != 0)
        return;
    hand->free_ns = now;
    hand->over_ns = now + m->o.retry_period_ns +
                    (int64_t)((double)m->o.retry_period_ns * pl_rand_unit(m->o.rand) / 2);
}

static void count_held(struct pl_membership *m, int64_t now)
{
    for (unsigned i = 0; i < PL_SHARDS_MAX; i++) {
        struct pl_hand *hand = &m->hands[i];
        struct pl_member *who = hand->to != NULL ? hand->to : hand->taking ? m->me : hand->holder;
        if (hand->holder != NULL)
            hand->holder->names++;
        if (i >= m->count)
            continue;
        note_freedom(m, hand, now);
        if (who != NULL)
            who->held++;
    }
}

void pl_roster_work_out(struct pl_membership *m)
{
    int64_t now = pl_membership_now(m);
    for (size_t i = 0; i < m->member_count; i++) {
        struct pl_member *member = m->members[i];
        int64_t over_ns = member->changed_ns + member->duration_ns;
        member->held = member->names = 0;
        member->dead = member != m->me && now >= over_ns;
        if (!member->dead && member != m->me)
            pl_membership_at(m, over_ns);
    }
    count_held(m, now);
    m->those_count = 0;
    for (size_t i = 0; i < m->member_count; i++) {
        struct pl_member *member = m->members[i];
        bool counts = member == m->me ? m->state == PL_MEMBER_IN
                                      : member->there && !member->dead && !member->leaving &&
                                            !member->is_ours && pl_roster_divides_alike(m, member);
        member->order = counts ? m->those_count : PL_PLAN_NOBODY;
        if (!counts)
            continue;
        m->held[m->those_count] = member->held;
        m->those[m->those_count++] = member;
    }
}

bool pl_roster_has_others(const struct pl_membership *m)
{
    for (size_t i = 0; i < m->member_count; i++)
        if (m->members[i] != m->me && m->members[i]->there && !m->members[i]->dead &&
            !m->members[i]->is_ours)
            return true;
    return false;
}

/* ---- leftovers ---- */

static void on_removed(struct pl_membership *m, void *what, const struct pl_err *err)
{
    struct pl_member *member = what;
    member->asked = false;
    if (err == NULL || pl_shard_err_is(err, 404))
        member->there = false;
    pl_membership_poke(m);
}

static void remove(struct pl_membership *m, struct pl_member *member)
{
    struct pl_shard_lease lease = {.kind = PL_LEASE_OF_MEMBER, .id = pl_slice_z(member->id)};
    member->asked = true;
    member->tried_ns = pl_membership_now(m);
    pl_membership_ask(m, PL_SHARD_DELETE, &lease, on_removed, member);
}

static void remove_at(struct pl_membership *m, struct pl_member *member, int64_t due_ns)
{
    if (pl_membership_now(m) < due_ns)
        pl_membership_at(m, due_ns);
    else
        remove(m, member);
}

/* Others believe that it lives while its Lease is renewed by a request that we sent before we lost
 * it, and would give it shards. */
static void remove_earlier(struct pl_membership *m, struct pl_member *member)
{
    if (member->there && !member->asked)
        remove_at(m, member, member->tried_ns + m->o.retry_period_ns / 4);
}

static void remove_vanished(struct pl_membership *m, struct pl_member *member)
{
    int64_t over_ns = member->changed_ns + 2 * member->duration_ns;
    int64_t again_ns = member->tried_ns + m->o.retry_period_ns;
    remove_at(m, member, member->tried_ns != 0 && again_ns > over_ns ? again_ns : over_ns);
}

void pl_roster_tidy(struct pl_membership *m, bool remove_them)
{
    for (size_t i = m->member_count; i-- > 0;) {
        struct pl_member *member = m->members[i];
        if (member->is_ours && member != m->me)
            remove_earlier(m, member);
        if (member == m->me || member->names > 0 || member->asked || !member->dead)
            continue;
        if (!member->there && strcmp(m->main_lease.holder, member->id) != 0)
            roster_forget(m, i);
        else if (member->there && remove_them)
            remove_vanished(m, member);
    }
}
