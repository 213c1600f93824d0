/* What must hold of simulated members at rest, and Leases that others write. */
#pragma once

#include "simulated_shards.h"

static inline void check_rest(struct world *w)
{
    unsigned least = UINT32_MAX, most = 0, all = 0;
    for (int k = 0; k < w->count; k++) {
        const struct process *p = &w->processes[k];
        if (p->m == NULL || !pl_membership_may_write(p->m))
            continue;
        unsigned held = held_by(p);
        least = held < least ? held : least;
        most = held > most ? held : most;
        all += held;
    }
    CHECK_INT(all, w->shards);
    if (most - least > 1)
        TEST_FAIL("one has %u shards, another %u", least, most);
}

static inline void check_promises(const struct world *w)
{
    CHECK_INT(w->late, 0);
    CHECK_INT(w->two_actors, 0);
    CHECK_INT(w->too_long, 0);
    if (w->moves > w->promised)
        TEST_FAIL("%" PRIu64 " moves, %" PRIu64 " were promised", w->moves, w->promised);
}

static inline void rest(struct world *w)
{
    pass(w, 60 * S);
    check_rest(w);
    check_promises(w);
}

/* ---- Leases that others write ---- */

static inline void write_title(struct world *w, const char *holder)
{
    struct lease *name = &w->leases[0];
    name->exists = true;
    name->is = (struct pl_shard_lease){.kind = PL_LEASE_OF_NAME, .duration_s = 15};
    name->is.stamp = (int64_t)w->version + 1;
    snprintf(name->holder, sizeof name->holder, "%s", holder);
    publish(w, 0);
}

static inline void write_member(struct world *w, int number, unsigned count, int64_t stamp)
{
    struct lease *lease = &w->leases[1 + PL_SHARDS_MAX + number];
    lease->exists = true;
    lease->is = (struct pl_shard_lease){
        .kind = PL_LEASE_OF_MEMBER, .duration_s = 15, .count = count, .stamp = stamp};
    snprintf(lease->id, sizeof lease->id, "m%04d", number);
    snprintf(lease->holder, sizeof lease->holder, "m%04d", number);
    publish(w, 1 + PL_SHARDS_MAX + number);
}
