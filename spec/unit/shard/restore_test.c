/* Members whose server is restored to an earlier state: versions go back, Leases name earlier
 * holders, or are not there any more. */
#include "shard_promises.h"

struct backup {
    struct lease *leases; /* owned */
    uint64_t version;
};

static struct backup back_up(const struct world *w)
{
    struct backup backup = {pl_calloc(LEASES, sizeof(struct lease)), w->version};
    memcpy(backup.leases, w->leases, LEASES * sizeof(struct lease));
    return backup;
}

/* What is on its way gets lost, and so is each connection. */
static void restore(struct world *w, const struct backup *backup)
{
    memcpy(w->leases, backup->leases, LEASES * sizeof(struct lease));
    w->version = backup->version;
    for (size_t i = 0; i < w->messages.count; i++) {
        struct message *message = PL_CONTAINER_OF(w->messages.nodes[i], struct message, node);
        message->request->status = 0;
        if (message->phase == ARRIVES)
            message->phase = ANSWERS;
    }
    for (int k = 0; k < w->count; k++)
        w->processes[k].cut_until_ns = INT64_MAX;
}

static void list_anew(struct process *p)
{
    struct world *w = p->world;
    struct pl_shard_lease gone = {.kind = PL_LEASE_OF_NAME};
    char id[16];
    p->cut_until_ns = 0;
    memset(p->known, 0, sizeof p->known);
    pl_membership_restored(p->m, false);
    pl_membership_restored(p->m, true);
    list(p);
    if (!w->leases[0].exists)
        pl_membership_gone(p->m, &gone);
    gone.kind = PL_LEASE_OF_SHARD;
    for (gone.index = 0; gone.index < PL_SHARDS_MAX; gone.index++)
        if (!w->leases[1 + gone.index].exists)
            pl_membership_gone(p->m, &gone);
    gone = (struct pl_shard_lease){.kind = PL_LEASE_OF_MEMBER, .id = pl_slice_z(id)};
    for (int i = 0; i < w->members; i++) {
        snprintf(id, sizeof id, "m%04d", i);
        gone.id = pl_slice_z(id);
        if (!w->leases[1 + PL_SHARDS_MAX + i].exists)
            pl_membership_gone(p->m, &gone);
    }
}

/* Each finds out within a retry period, at its own time. */
static void find_out(struct world *w)
{
    int64_t at_ns[8];
    REQUIRE(w->count <= 8);
    for (int k = 0; k < w->count; k++)
        at_ns[k] = w->now_ns + (int64_t)(chance(w) * 2 * (double)S);
    for (int64_t until = w->now_ns + 2 * S + TICK; w->now_ns < until; tick(w))
        for (int k = 0; k < w->count; k++)
            if (w->processes[k].m != NULL && w->processes[k].cut_until_ns > w->now_ns &&
                w->now_ns >= at_ns[k])
                list_anew(&w->processes[k]);
}

/* What a replica holds is what the server says. */
static void check_held(const struct world *w)
{
    for (int k = 0; k < w->count; k++) {
        const struct process *p = &w->processes[k];
        if (p->m == NULL)
            continue;
        struct pl_shard_set held = pl_shards_held(p->shards);
        for (unsigned i = 0; i < w->shards; i++)
            if (pl_shard_set_has(&held, i) && w->leases[1 + i].exists &&
                strcmp(w->leases[1 + i].holder, p->id) != 0)
                TEST_FAIL("%s has shard %u of %s", p->id, i, w->leases[1 + i].holder);
    }
}

/* The backup is made when this many members have joined, `after_ns` after the last of them. */
static void restore_to(uint64_t seed, int joined, int64_t after_ns)
{
    struct world w;
    struct backup backup;
    world_init(&w, seed, 3, 8);
    backup = back_up(&w);
    for (int k = 0; k < w.count; k++) {
        begin(&w.processes[k]);
        pass(&w, k + 1 == joined ? after_ns : 20 * S);
        if (k + 1 == joined) {
            pl_free(backup.leases);
            backup = back_up(&w);
        }
    }
    pass(&w, 60 * S);
    check_rest(&w);
    restore(&w, &backup);
    find_out(&w);
    pass(&w, S);
    check_held(&w);
    pass(&w, 90 * S);
    check_held(&w);
    check_rest(&w);
    CHECK_INT(w.two_actors, 0);
    CHECK(w.losses == 0 && w.refusals == 0);
    pl_free(backup.leases);
    world_deinit(&w);
}

TEST(after_a_restore_the_servers_leases_count_and_no_shard_has_two_actors)
{
    for (uint64_t seed = 1; seed <= 60; seed++)
        restore_to(seed, (int)(seed % 4), (int64_t)(seed % 7) * S);
}

/* A member with another number of shards was there long ago: it must not be believed to live, and
 * what the server does not say is ours is not. */
TEST(after_a_restore_a_member_of_another_number_of_shards_is_waited_for_and_nothing_is_kept)
{
    struct world w;
    world_init(&w, 70, 1, 8);
    write_member(&w, 0, 12, 1);
    w.members = 1;
    struct backup backup = back_up(&w);
    pass(&w, S);
    w.leases[1 + PL_SHARDS_MAX].exists = false;
    publish(&w, 1 + PL_SHARDS_MAX);
    begin(&w.processes[0]);
    rest(&w);
    restore(&w, &backup);
    find_out(&w);
    CHECK_INT(held_by(&w.processes[0]), 0);
    CHECK_INT(w.refusals, 0);
    pass(&w, 60 * S);
    CHECK_INT(held_by(&w.processes[0]), 8);
    CHECK(w.refusals == 0 && w.losses == 0);
    pl_free(backup.leases);
    world_deinit(&w);
}

TEST_MAIN()
