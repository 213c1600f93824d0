/* A membership's life: joining, renewing, losing, leaving. All decisions are made in steps, from
 * one timer; reports and answers only schedule the next step. A late message never revives a
 * membership: after its deadline it has ended, whatever an answer says, because others may have
 * taken its shards without writing to its Lease. */
#include "shard/membership_impl.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/log.h"

#include <stdio.h>
#include <string.h>

static void on_step(struct pl_timer *timer);
static void on_membership_limit(struct pl_timer *timer);

static void on_settled(void *arg)
{
    pl_membership_poke(arg);
}

struct pl_membership *pl_membership_create(const struct pl_membership_options *options)
{
    struct pl_membership *m = PL_NEW(struct pl_membership);
    m->o = *options;
    m->count = pl_shards_count(options->shards);
    m->by = pl_shards_by(options->shards);
    pl_shards_on_settled(options->shards, on_settled, m);
    return m;
}

void pl_membership_destroy(struct pl_membership *m)
{
    if (m == NULL)
        return;
    PL_REQUIRE(m->asks == 0);
    pl_shards_on_settled(m->o.shards, NULL, NULL);
    pl_timer_stop(m->o.timers, &m->step);
    pl_timer_stop(m->o.timers, &m->limit);
    pl_roster_deinit(m);
    pl_free(m);
}

/* ---- questions ---- */

bool pl_membership_is_member(const struct pl_membership *m)
{
    return m->state == PL_MEMBER_IN || m->state == PL_MEMBER_LEAVING;
}

bool pl_membership_may_write(const struct pl_membership *m)
{
    return pl_membership_is_member(m) && pl_membership_now(m) < m->deadline_ns;
}

bool pl_membership_is_newcomer(const struct pl_membership *m)
{
    return m->state == PL_MEMBER_JOINING && !m->was_in;
}

const char *pl_membership_id(const struct pl_membership *m)
{
    return m->me != NULL ? m->me->id : "";
}

const char *pl_membership_holder(const struct pl_membership *m, unsigned i, int64_t *for_ns)
{
    const struct pl_hand *hand = &m->hands[i];
    *for_ns = hand->there ? pl_membership_now(m) - hand->since_ns : 0;
    return hand->there && hand->holder != NULL ? hand->holder->id : "";
}

const char *pl_membership_stranger(const struct pl_membership *m)
{
    return pl_main_lease_stranger(m);
}

bool pl_membership_next(const struct pl_membership *m, size_t *at, struct pl_member_look *out)
{
    while (*at < m->member_count) {
        const struct pl_member *member = m->members[(*at)++];
        if (!member->there)
            continue;
        *out = (struct pl_member_look){.id = member->id,
                                       .held = member->held,
                                       .leaving = member->leaving,
                                       .dead = member->dead,
                                       .age_ns = pl_membership_now(m) - member->changed_ns};
        return true;
    }
    return false;
}

/* ---- steps and requests ---- */

void pl_membership_at(struct pl_membership *m, int64_t boot_ns)
{
    if (boot_ns < m->step_ns)
        m->step_ns = boot_ns;
}

void pl_membership_poke(struct pl_membership *m)
{
    m->step_ns = INT64_MIN;
    if (!pl_timer_is_active(&m->step) || m->step.due_ns > pl_clock_mono(m->o.clock))
        pl_timer_start(m->o.timers, &m->step, 0, on_step);
}

static void arm(struct pl_membership *m)
{
    if (m->step_ns == INT64_MAX)
        return;
    int64_t left = m->step_ns == INT64_MIN ? 0 : m->step_ns - pl_membership_now(m);
    pl_timer_start(m->o.timers, &m->step, left, on_step);
}

struct ask {
    struct pl_membership *m;
    unsigned epoch;
    enum pl_shard_verb verb;
    enum pl_shard_lease_kind kind;
    unsigned index;
    char *id; /* owned; of a member's */
    void (*on_answer)(struct pl_membership *m, void *what, const struct pl_err *err);
    void *what;
};

static void on_answer_of_earlier(struct pl_membership *m, const struct ask *ask)
{
    struct pl_member *member =
        ask->kind == PL_LEASE_OF_MEMBER ? pl_map_get(&m->by_id, pl_slice_z(ask->id)) : NULL;
    if (member != NULL)
        member->asked = false;
    pl_membership_poke(m);
}

static void on_membership_answer(void *arg, const struct pl_err *err,
                                 const struct pl_shard_lease *lease)
{
    struct ask *ask = arg;
    struct pl_membership *m = ask->m;
    struct pl_shard_lease gone = {
        .kind = ask->kind, .index = ask->index, .id = pl_slice_z(ask->id)};
    m->asks--;
    if (lease != NULL)
        pl_roster_see(m, lease);
    else if ((err == NULL && ask->verb == PL_SHARD_DELETE) ||
             (pl_shard_err_is(err, 404) && ask->verb != PL_SHARD_CREATE))
        pl_membership_gone(m, &gone);
    if (ask->epoch == m->epoch)
        ask->on_answer(m, ask->what, err);
    else
        on_answer_of_earlier(m, ask);
    pl_free(ask->id);
    pl_free(ask);
}

void pl_membership_ask(
    struct pl_membership *m, enum pl_shard_verb verb, const struct pl_shard_lease *lease,
    void (*answered)(struct pl_membership *m, void *what, const struct pl_err *err), void *what)
{
    struct ask *ask = PL_NEW(struct ask);
    *ask = (struct ask){.m = m,
                        .epoch = m->epoch,
                        .verb = verb,
                        .kind = lease->kind,
                        .index = lease->index,
                        .id = pl_memdup0(lease->id.len > 0 ? lease->id.ptr : "", lease->id.len),
                        .on_answer = answered,
                        .what = what};
    m->asks++;
    m->o.ops->start(m->o.self, verb, lease, on_membership_answer, ask);
}

int64_t pl_membership_pause(const struct pl_membership *m, const struct pl_err *err)
{
    bool refused = err->code == PL_EAPI && err->status < 500 && err->status != 409;
    return refused ? m->o.retry_period_ns : m->o.retry_period_ns / 4;
}

/* ---- losing ---- */

/* Requests under way are ignored, and the state is as before the first join, except the knowledge
 * about others. */
static void membership_reset(struct pl_membership *m)
{
    m->me->asked = m->me->asked || m->renewing || m->deleting; /* until it is answered */
    m->state = PL_MEMBER_OUT;
    m->epoch++;
    m->deadline_ns = 0;
    m->renewing = m->renew_now = m->hurried = m->written = m->deleting = false;
    for (unsigned i = 0; i < PL_SHARDS_MAX; i++) {
        struct pl_hand *hand = &m->hands[i];
        hand->doubtful = hand->doubtful || hand->busy;
        hand->out = hand->busy = hand->taking = hand->unsure = false;
        hand->to = NULL;
        hand->again_ns = 0;
    }
    m->main_lease.doubtful = m->main_lease.doubtful || m->main_lease.busy;
    m->main_lease.busy = m->main_lease.mine = false;
    pl_handover_drop(m);
}

static void membership_lose(struct pl_membership *m, const char *why)
{
    membership_reset(m);
    if (m->on_left != NULL)
        pl_timer_start(m->o.timers, &m->limit, 0, on_membership_limit);
    else
        m->o.ops->on_lost(m->o.self, why);
}

static bool lose_if_over(struct pl_membership *m)
{
    if (!pl_membership_is_member(m))
        return false;
    if (pl_membership_now(m) < m->deadline_ns) {
        pl_membership_at(m, m->deadline_ns);
        return false;
    }
    char text[80];
    snprintf(text, sizeof text, "it was not renewed for %.1f s",
             (double)m->o.renew_deadline_ns / (double)PL_SECOND);
    membership_lose(m, text);
    return true;
}

/* ---- renewing ---- */

/* At once, but once for each renewal that is due: the server may refuse for ever. */
static void renew_again(struct pl_membership *m)
{
    m->renew_now = !m->hurried;
    m->hurried = true;
}

static void on_renewed(struct pl_membership *m, void *what, const struct pl_err *err)
{
    bool was_told_missing = pl_shard_err_is(err, 404);
    PL_UNUSED(what);
    m->renewing = false;
    if (lose_if_over(m))
        return;
    if (err == NULL && m->sent_ns + m->o.renew_deadline_ns > pl_membership_now(m)) {
        m->deadline_ns = m->sent_ns + m->o.renew_deadline_ns;
        m->written = true;
        if (m->state == PL_MEMBER_JOINING)
            m->state = PL_MEMBER_IN;
        m->was_in = true;
        if (m->marks && !m->marked)
            m->marked_ns = pl_membership_now(m);
        m->marked = m->marks;
        pl_main_lease_renew(m);
    } else if (was_told_missing && m->written) {
        m->written = false; /* another client has deleted our Lease: it is created again */
        renew_again(m);
    } else if (err != NULL && err->status == 409) {
        /* only after the membership was lost, else on_first_try reads the Lease again */
        renew_again(m);
    }
    pl_membership_poke(m);
}

/* After a refusal the current version is read, then written. */
static void on_reread(struct pl_membership *m, void *what, const struct pl_err *err)
{
    PL_UNUSED(what);
    m->renewing = false;
    m->written = !pl_shard_err_is(err, 404);
    if (err == NULL || !m->written)
        renew_again(m);
    pl_membership_poke(m);
}

static void on_first_try(struct pl_membership *m, void *what, const struct pl_err *err)
{
    struct pl_shard_lease lease = {.kind = PL_LEASE_OF_MEMBER, .id = pl_slice_z(m->me->id)};
    if (err == NULL || err->status != 409 || lose_if_over(m)) {
        on_renewed(m, what, err);
        return;
    }
    pl_membership_ask(m, PL_SHARD_GET, &lease, on_reread, NULL);
}

static void membership_renew(struct pl_membership *m)
{
    struct pl_shard_lease lease = {
        .kind = PL_LEASE_OF_MEMBER,
        .id = pl_slice_z(m->me->id),
        .holder = pl_slice_z(m->me->id),
        .duration_s = m->o.lease_duration_ns / PL_SECOND,
        .count = m->count,
        .by = m->by,
        .leaving = m->state == PL_MEMBER_LEAVING,
    };
    m->renewing = true;
    m->marks = lease.leaving;
    m->renew_now = false;
    m->sent_ns = m->tried_ns = pl_membership_now(m);
    pl_membership_ask(m, m->written ? PL_SHARD_UPDATE : PL_SHARD_CREATE, &lease, on_first_try,
                      NULL);
}

static void renew_if_due(struct pl_membership *m)
{
    int64_t due_ns = m->tried_ns + m->o.retry_period_ns;
    if (m->renewing || m->deleting)
        return;
    bool due = pl_membership_now(m) >= due_ns;
    if (due)
        m->hurried = false;
    if (m->renew_now || due)
        membership_renew(m);
    else
        pl_membership_at(m, due_ns);
}

/* ---- one name, one division ---- */

static bool has_shards(const struct pl_membership *m, const struct pl_member *member)
{
    for (unsigned i = 0; i < PL_SHARDS_MAX; i++)
        if (m->hands[i].holder == member)
            return true;
    return false;
}

static void membership_refuse(struct pl_membership *m, const struct pl_member *other)
{
    struct pl_membership_refusal refusal = {other->count, other->by, other->id};
    pl_handover_drop(m);
    m->o.ops->on_refused(m->o.self, &refusal);
}

enum verdict { NOBODY_ELSE, PERHAPS, REFUSED };

/* A living member with another number of shards, or that places keys in another way, shown by a
 * renewal, keeps us out; until it is clear whether it lives nothing is taken. Of two members
 * without shards, the first by id stays. */
static enum verdict judge_others(struct pl_membership *m)
{
    enum verdict verdict = NOBODY_ELSE;
    if (m->state == PL_MEMBER_LEAVING || (m->state == PL_MEMBER_IN && m->me->held > 0))
        return verdict; /* a member that holds shards was here first: the others have to go */
    for (size_t i = 0; i < m->member_count; i++) {
        const struct pl_member *other = m->members[i];
        if (other == m->me || !other->there || other->dead || other->count == 0 ||
            pl_roster_divides_alike(m, other))
            continue;
        bool first =
            !pl_membership_is_member(m) || has_shards(m, other) || strcmp(other->id, m->me->id) < 0;
        if (other->moved && first) {
            membership_refuse(m, other);
            return REFUSED;
        }
        verdict = PERHAPS;
    }
    return verdict;
}

/* ---- leaving ---- */

static void tell_left(struct pl_membership *m)
{
    void (*on_left)(void *arg) = m->on_left;
    pl_timer_stop(m->o.timers, &m->limit);
    m->on_left = NULL;
    if (m->state != PL_MEMBER_OUT)
        membership_reset(m);
    pl_timer_stop(m->o.timers, &m->step);
    if (on_left != NULL)
        on_left(m->left_arg);
}

static void on_deleted(struct pl_membership *m, void *what, const struct pl_err *err)
{
    PL_UNUSED(what);
    if (err != NULL && !pl_shard_err_is(err, 404) && !m->told_left)
        pl_log(PL_LOG_WARN, "the member's Lease could not be deleted: it will expire",
               pl_str("error", err->message));
    m->told_left = true;
    pl_membership_poke(m);
}

/* Until others have seen that it leaves, they may give it shards. One that came after its Lease was
 * deleted would be without a member until its time is over. */
static bool may_get_more(struct pl_membership *m)
{
    int64_t until_ns = m->marked_ns + m->o.retry_period_ns / 4;
    if (pl_membership_now(m) >= until_ns || !pl_roster_has_others(m))
        return false;
    pl_membership_at(m, until_ns);
    return true;
}

static void leave_step(struct pl_membership *m)
{
    struct pl_shard_lease lease = {.kind = PL_LEASE_OF_MEMBER, .id = pl_slice_z(m->me->id)};
    if (m->told_left) {
        m->told_left = false;
        tell_left(m);
        return;
    }
    if (m->deleting || m->renewing || m->on_left == NULL || !pl_handover_are_empty(m) ||
        may_get_more(m) || !pl_main_lease_give_up(m))
        return;
    m->deleting = true;
    pl_membership_ask(m, PL_SHARD_DELETE, &lease, on_deleted, NULL);
}

void pl_membership_leave(struct pl_membership *m)
{
    if (m->state == PL_MEMBER_IN) {
        m->state = PL_MEMBER_LEAVING;
        m->marked = false;
        m->marked_ns = pl_membership_now(m);
        m->renew_now = true;
        pl_membership_poke(m);
    } else if (m->state == PL_MEMBER_JOINING) {
        membership_reset(m); /* a possible write expires */
    }
}

static void on_membership_limit(struct pl_timer *timer)
{
    struct pl_membership *m = PL_CONTAINER_OF(timer, struct pl_membership, limit);
    if (m->state == PL_MEMBER_LEAVING)
        pl_log(PL_LOG_WARN, "not all shards could be given away: other replicas wait until the "
                            "member's Lease expires");
    tell_left(m);
}

void pl_membership_end(struct pl_membership *m, bool release, void (*on_left)(void *arg), void *arg)
{
    m->on_left = on_left;
    m->left_arg = arg;
    m->forced = true;
    pl_membership_leave(m);
    bool works = m->state == PL_MEMBER_LEAVING && release;
    pl_timer_start(m->o.timers, &m->limit, works ? m->o.renew_deadline_ns : 0, on_membership_limit);
    if (works)
        pl_membership_poke(m);
}

/* ---- joining ---- */

void pl_membership_join(struct pl_membership *m, const char *id)
{
    PL_REQUIRE(m->state == PL_MEMBER_OUT);
    m->me = pl_roster_member(m, pl_slice_z(id));
    PL_REQUIRE(m->me != NULL);
    m->me->is_ours = true;
    for (size_t i = 0; i < m->member_count; i++)
        m->members[i]->fresh = false;
    m->state = PL_MEMBER_JOINING;
    m->forced = m->told_left = m->echoed = false;
    m->renew_now = true;
    pl_membership_poke(m);
}

void pl_membership_synced(struct pl_membership *m)
{
    if (m->synced && !m->restoring)
        return;
    m->synced = true;
    m->restoring = false;
    pl_membership_poke(m);
}

static void membership_step(struct pl_membership *m)
{
    if (m->state == PL_MEMBER_OUT || !m->synced || lose_if_over(m))
        return;
    pl_roster_work_out(m);
    enum verdict verdict = judge_others(m);
    if (verdict == REFUSED || m->state == PL_MEMBER_OUT)
        return;
    if (verdict == NOBODY_ELSE || m->state != PL_MEMBER_JOINING)
        renew_if_due(m);
    if (m->state == PL_MEMBER_JOINING)
        return;
    pl_main_lease_step(m);
    if (verdict == NOBODY_ELSE && m->echoed)
        pl_handover_step(m);
    else
        pl_handover_heed(m);
    if (m->state == PL_MEMBER_LEAVING)
        leave_step(m);
    else if (m->state == PL_MEMBER_IN)
        pl_roster_tidy(m, m->hands[0].holder == m->me);
}

static void on_step(struct pl_timer *timer)
{
    struct pl_membership *m = PL_CONTAINER_OF(timer, struct pl_membership, step);
    m->step_ns = INT64_MAX;
    membership_step(m);
    if (m->state != PL_MEMBER_OUT)
        arm(m);
}
