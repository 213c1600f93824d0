/* The Lease NAME. A deployment without shards elects its leader with it. While such a deployment
 * holds it, no shard is taken. While shards are held, the holder of shard 0 holds it, so that such
 * a deployment stays a standby. */
#include "shard/membership_impl.h"

#include <stdio.h>
#include <string.h>

static bool is_over(const struct pl_membership *m)
{
    const struct pl_main_lease *t = &m->main_lease;
    return t->holder[0] == '\0' || pl_membership_now(m) >= t->changed_ns + t->duration_ns;
}

/* One of the members: its Lease or shard was seen. */
static const struct pl_member *holder_of(const struct pl_membership *m)
{
    return pl_map_get(&m->by_id, pl_slice_z(m->main_lease.holder));
}

const char *pl_main_lease_stranger(const struct pl_membership *m)
{
    return !is_over(m) && holder_of(m) == NULL ? m->main_lease.holder : NULL;
}

void pl_main_lease_see(struct pl_membership *m, const struct pl_shard_lease *lease)
{
    struct pl_main_lease *t = &m->main_lease;
    if (lease->version < t->version)
        return;
    t->doubtful = false;
    if (lease->version == t->version)
        return;
    t->version = lease->version;
    if (!pl_slice_eqz(lease->holder, t->holder) || !t->there)
        pl_membership_poke(m);
    if (!pl_slice_eqz(lease->holder, t->holder) || !t->there || t->stamp != lease->stamp)
        t->changed_ns = pl_membership_now(m);
    t->there = true;
    t->stamp = lease->stamp;
    t->duration_ns = lease->duration_s * PL_SECOND;
    snprintf(t->holder, sizeof t->holder, "%.*s", PL_FMT(lease->holder));
    t->mine = m->me != NULL && strcmp(t->holder, m->me->id) == 0;
}

void pl_main_lease_gone(struct pl_membership *m)
{
    m->main_lease.there = m->main_lease.mine = m->main_lease.doubtful = false;
    m->main_lease.holder[0] = '\0';
}

/* ---- requests ---- */

static void on_title_answer(struct pl_membership *m, void *what, const struct pl_err *err)
{
    struct pl_main_lease *t = what;
    t->busy = false;
    if (err != NULL) {
        t->doubtful = !pl_shard_err_is(err, 404);
        t->again_ns = pl_membership_now(m) + pl_membership_pause(m, err);
    } else if (t->doubtful) {
        t->again_ns = pl_membership_now(m) + m->o.retry_period_ns / 4; /* an old state was read */
    }
    pl_membership_poke(m);
}

static void main_lease_ask(struct pl_membership *m, enum pl_shard_verb verb, const char *holder)
{
    struct pl_shard_lease lease = {.kind = PL_LEASE_OF_NAME,
                                   .holder = pl_slice_z(holder),
                                   .duration_s = m->o.lease_duration_ns / PL_SECOND,
                                   .count = m->count};
    if (holder[0] == '\0')
        lease.duration_s = 1; /* the form of a leader's release */
    m->main_lease.busy = true;
    pl_membership_ask(m, verb, &lease, on_title_answer, &m->main_lease);
}

/* False while it must wait; else the server's state is known. */
static bool main_lease_is_ready(struct pl_membership *m)
{
    struct pl_main_lease *t = &m->main_lease;
    if (t->busy)
        return false;
    if (pl_membership_now(m) < t->again_ns) {
        pl_membership_at(m, t->again_ns);
        return false;
    }
    if (t->doubtful)
        main_lease_ask(m, PL_SHARD_GET, "");
    return !t->doubtful;
}

bool pl_main_lease_claim(struct pl_membership *m)
{
    struct pl_main_lease *t = &m->main_lease;
    if (t->mine && !is_over(m))
        return true;
    if (pl_main_lease_stranger(m) != NULL) {
        pl_membership_at(m, t->changed_ns + t->duration_ns);
        return false;
    }
    if (main_lease_is_ready(m))
        main_lease_ask(m, t->there ? PL_SHARD_UPDATE : PL_SHARD_CREATE, m->me->id);
    return false;
}

void pl_main_lease_renew(struct pl_membership *m)
{
    if (m->main_lease.mine && m->hands[0].holder == m->me && main_lease_is_ready(m))
        main_lease_ask(m, PL_SHARD_UPDATE, m->me->id);
}

void pl_main_lease_step(struct pl_membership *m)
{
    if (m->hands[0].holder == m->me && !m->main_lease.mine)
        pl_main_lease_claim(m);
    else if (m->main_lease.doubtful)
        main_lease_is_ready(m);
}

bool pl_main_lease_give_up(struct pl_membership *m)
{
    if (!m->main_lease.mine || pl_roster_has_others(m))
        return !m->main_lease.busy;
    if (main_lease_is_ready(m))
        main_lease_ask(m, PL_SHARD_UPDATE, "");
    return false;
}
