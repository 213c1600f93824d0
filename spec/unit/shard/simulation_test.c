/* Many members on one simulated server: they join, stop, die, freeze and are cut off; the server
 * answers late, refuses, or answers with a conflict; clocks run 10 % apart. After each step no
 * shard has two actors, and none was without one for longer than promised. In the end no shard has
 * moved more often than promised.
 *
 * PL_SHARD_MEMBERS, PL_SHARD_COUNT, PL_SHARD_MINUTES, PL_SHARD_SETTLE (seconds) and PL_SHARD_SEED
 * choose another run; scripts/bench/shards does. */
#include "shard_promises.h"

static int64_t setting(const char *name, int64_t otherwise)
{
    const char *text = getenv(name);
    return text != NULL && text[0] != '\0' ? atoll(text) : otherwise;
}

static struct process *somebody(struct world *w)
{
    for (int tries = 0; tries < 20; tries++) {
        struct process *p = &w->processes[pl_rand_u64(&w->rand) % (unsigned)w->count];
        if (p->m != NULL && p->has_joined && p->frozen_until_ns <= w->now_ns)
            return p;
    }
    return NULL;
}

static struct process *nobody(struct world *w)
{
    for (int k = 0; k < w->count; k++)
        if (w->processes[k].m == NULL && w->processes[k].back_at_ns != 1)
            return &w->processes[k];
    return NULL;
}

static bool is_deserted(const struct world *w)
{
    for (int k = 0; k < w->count; k++)
        if (w->processes[k].m != NULL && w->processes[k].has_joined)
            return false;
    return true;
}

static void disturb(struct world *w)
{
    double what = is_deserted(w) ? 0 : chance(w);
    struct process *p = what < 0.35 ? nobody(w) : somebody(w);
    if (p == NULL)
        return;
    if (what < 0.35) {
        begin(p);
    } else if (what < 0.6) {
        stop(p);
    } else if (what < 0.75) {
        kill_it(p);
        if (chance(w) < 0.5) /* another comes in its place while its Lease is there */
            p->back_at_ns = w->now_ns + (int64_t)(chance(w) * 30 * (double)S);
    } else if (what < 0.85) {
        w->freezes++;
        w->promised += held_by(p);
        p->frozen_until_ns = w->now_ns + (int64_t)(chance(w) * 40 * (double)S);
    } else if (what < 0.95) {
        w->promised += held_by(p);
        p->cut_until_ns = w->now_ns + (int64_t)(chance(w) * 30 * (double)S);
    } else {
        w->ailing_until_ns = w->now_ns + (int64_t)(chance(w) * 5 * (double)S);
    }
}

static void say(const struct world *w, double minutes)
{
    printf("members %d, shards %u, minutes %.1f: joins %" PRIu64 ", stops %" PRIu64
           ", deaths %" PRIu64 ", freezes %" PRIu64 ", lost %" PRIu64 "\n",
           w->count, w->shards, minutes, w->joins, w->stops, w->deaths, w->freezes, w->losses);
    printf("moves %" PRIu64 " of %" PRIu64 " promised, worst gap %.1f s of %.1f s promised\n",
           w->moves, w->promised, (double)w->worst_gap_ns / 1e9, (double)w->limit_ns / 1e9);
    printf("a stop had given all away after %.1f s, %.1f s at most (runs end within 20 s)\n",
           w->left > 0 ? (double)w->leaving_ns / (double)w->left / 1e9 : 0,
           (double)w->longest_leaving_ns / 1e9);
    printf("requests a minute: writes %.0f, reads %.0f\n", (double)w->writes / minutes,
           (double)w->reads / minutes);
}

static void start_all(struct world *w, int count)
{
    for (int k = 0; k < count; k++)
        w->processes[k].back_at_ns = w->now_ns + (int64_t)(chance(w) * 10 * (double)S);
}

TEST(whatever_happens_the_promises_are_kept)
{
    int members = (int)setting("PL_SHARD_MEMBERS", 24);
    unsigned shards = (unsigned)setting("PL_SHARD_COUNT", 64);
    int64_t minutes = setting("PL_SHARD_MINUTES", 20);
    struct world w;
    world_init(&w, (uint64_t)setting("PL_SHARD_SEED", 1), members, shards);
    w.rough = true;
    start_all(&w, members - members / 8);
    int64_t settle = setting("PL_SHARD_SETTLE", 120 + 3 * (int64_t)shards);
    pass(&w, settle * S); /* the first has all, and gives one at a time */
    check_rest(&w);
    int64_t until = w.now_ns + minutes * 60 * S;
    while (w.now_ns < until) {
        pass(&w, (int64_t)(chance(&w) * 12 * (double)S) + TICK);
        disturb(&w);
    }
    w.rough = false;
    if (is_deserted(&w))
        disturb(&w);
    pass(&w, settle * S);
    check_rest(&w);
    check_promises(&w);
    say(&w, (double)w.now_ns / 60e9);
    world_deinit(&w);
}

/* ---- one thing at a time ---- */

TEST(a_join_moves_a_share_and_no_more)
{
    struct world w;
    world_init(&w, 2, 12, 16);
    for (int k = 0; k < w.count; k++) {
        uint64_t moves = w.moves;
        begin(&w.processes[k]);
        rest(&w);
        CHECK(w.moves - moves <= (uint64_t)(16 + k) / (unsigned)(k + 1));
        if (k > 0)
            CHECK_INT(w.moves - moves, 16 / (k + 1));
    }
    world_deinit(&w);
}

TEST(a_clean_stop_moves_its_shards_alone_and_leaves_no_gap)
{
    struct world w;
    world_init(&w, 3, 5, 16);
    for (int k = 0; k < w.count; k++)
        begin(&w.processes[k]);
    rest(&w);
    for (int k = 0; k < w.count - 1; k++) {
        uint64_t moves = w.moves;
        unsigned held = held_by(&w.processes[k]);
        w.worst_gap_ns = 0;
        stop(&w.processes[k]);
        rest(&w);
        CHECK(w.processes[k].m == NULL);
        CHECK(!w.leases[1 + PL_SHARDS_MAX + k].exists);
        CHECK_INT(w.moves - moves, held);
        CHECK(w.worst_gap_ns < 2 * S);
    }
    CHECK(strcmp(w.leases[0].holder, w.processes[4].id) == 0); /* NAME */
    stop(&w.processes[4]);
    pass(&w, 60 * S);
    CHECK(w.leases[0].exists && w.leases[0].holder[0] == '\0');
    for (unsigned i = 0; i < 16; i++)
        CHECK(w.leases[1 + i].exists && w.leases[1 + i].holder[0] == '\0');
    world_deinit(&w);
}

TEST(what_a_dead_member_had_is_taken_after_a_lease_duration)
{
    struct world w;
    world_init(&w, 4, 4, 16);
    for (int k = 0; k < w.count; k++)
        begin(&w.processes[k]);
    rest(&w);
    w.worst_gap_ns = 0;
    kill_it(&w.processes[0]);
    rest(&w);
    CHECK(w.worst_gap_ns > 12 * S); /* it may have renewed just before */
    CHECK(w.worst_gap_ns < (int64_t)(1.055 * 17 * (double)S));
    pass(&w, 30 * S);
    CHECK(!w.leases[1 + PL_SHARDS_MAX].exists); /* the holder of shard 0 removes it */
    world_deinit(&w);
}

TEST(who_was_frozen_past_its_deadline_has_lost_everything_and_joins_anew)
{
    struct world w;
    world_init(&w, 5, 3, 12);
    for (int k = 0; k < w.count; k++)
        begin(&w.processes[k]);
    rest(&w);
    w.promised += 4;
    w.processes[1].frozen_until_ns = w.now_ns + 25 * S;
    pass(&w, 24 * S);
    CHECK(!pl_membership_may_write(w.processes[1].m));
    for (unsigned i = 0; i < 12; i++)
        CHECK(strcmp(w.leases[1 + i].holder, "m0001") != 0);
    rest(&w);
    CHECK_INT(w.losses, 1);
    CHECK_STR(w.processes[1].id, "m0003");
    world_deinit(&w);
}

TEST(shards_that_do_not_settle_in_time_are_told_of_and_not_before)
{
    struct world w;
    world_init(&w, 11, 2, 4);
    w.settle_ns = 30 * S;
    begin(&w.processes[0]);
    rest(&w);
    w.never_lists = true;
    begin(&w.processes[1]);
    pass(&w, 20 * S);
    CHECK_INT(w.late, 0);
    CHECK(held_by(&w.processes[1]) > 0);
    pass(&w, 40 * S);
    CHECK(w.late > 0);
    world_deinit(&w);
}

/* ---- others ---- */

TEST(while_one_without_shards_leads_no_shard_is_taken)
{
    struct world w;
    world_init(&w, 6, 2, 8);
    write_title(&w, "stranger");
    begin(&w.processes[0]);
    for (int i = 0; i < 20; i++) {
        pass(&w, 2 * S);
        write_title(&w, "stranger");
        CHECK_INT(held_by(&w.processes[0]), 0);
        CHECK_STR(pl_membership_stranger(w.processes[0].m), "stranger");
    }
    w.free_since[0] = 0;
    pass(&w, 20 * S); /* it is renewed no more */
    CHECK_INT(held_by(&w.processes[0]), 8);
    CHECK_STR(w.leases[0].holder, "m0000");
    write_title(&w, "stranger"); /* which is not allowed */
    pass(&w, S);
    CHECK_INT(held_by(&w.processes[0]), 0);
    for (unsigned i = 0; i < 8; i++)
        CHECK_STR(w.leases[1 + i].holder, "");
    world_deinit(&w);
}

TEST(who_has_shard_0_has_the_name_too)
{
    struct world w;
    world_init(&w, 7, 3, 4);
    for (int k = 0; k < w.count; k++)
        begin(&w.processes[k]);
    for (int k = 0; k < w.count - 1; k++) {
        rest(&w);
        CHECK_STR(w.leases[0].holder, w.leases[1].holder);
        for (int i = 0; i < w.count; i++)
            if (strcmp(w.processes[i].id, w.leases[0].holder) == 0)
                stop(&w.processes[i]);
    }
    rest(&w);
    CHECK_STR(w.leases[0].holder, w.leases[1].holder);
    world_deinit(&w);
}

TEST(a_newcomer_that_divides_into_another_number_is_refused_by_one_that_lives)
{
    struct world w;
    world_init(&w, 8, 2, 8);
    write_member(&w, 0, 16, 1);
    w.members = 1;
    begin(&w.processes[0]);
    pass(&w, 2 * S);
    CHECK_INT(w.refusals, 0);
    CHECK(!w.leases[1 + PL_SHARDS_MAX + 1].exists);
    write_member(&w, 0, 16, 2);
    pass(&w, 2 * S);
    CHECK(w.refusals > 0);
    CHECK_INT(held_by(&w.processes[0]), 0);
    world_deinit(&w);
}

TEST(leases_of_another_number_that_nobody_holds_are_deleted)
{
    struct world w;
    world_init(&w, 9, 2, 8);
    write_member(&w, 0, 16, 1);
    w.members = 1;
    for (unsigned i = 0; i < 16; i++) {
        struct lease *lease = &w.leases[1 + i];
        lease->exists = true;
        lease->is = (struct pl_shard_lease){.kind = PL_LEASE_OF_SHARD, .index = i, .count = 16};
        snprintf(lease->holder, sizeof lease->holder, "m0000");
        publish(&w, 1 + (int)i);
    }
    w.limit_ns *= 2; /* no promise holds for them */
    begin(&w.processes[0]);
    pass(&w, 80 * S);
    CHECK_INT(w.refusals, 0);
    CHECK_INT(held_by(&w.processes[0]), 8);
    CHECK(!w.leases[1 + PL_SHARDS_MAX].exists);
    for (unsigned i = 0; i < 16; i++)
        CHECK_INT(w.leases[1 + i].exists, i < 8);
    world_deinit(&w);
}

TEST(nonsense_in_leases_does_no_harm)
{
    struct world w;
    world_init(&w, 10, 2, 4);
    write_member(&w, 0, 0, 1); /* says no number, and is never renewed */
    w.leases[1 + PL_SHARDS_MAX].is.duration_s = 0;
    w.members = 1;
    struct lease *lease = &w.leases[1];
    lease->exists = true;
    lease->is = (struct pl_shard_lease){.kind = PL_LEASE_OF_SHARD, .index = 0};
    snprintf(lease->holder, sizeof lease->holder, "was never seen");
    publish(&w, 1);
    begin(&w.processes[0]);
    pass(&w, 5 * S);
    CHECK_INT(held_by(&w.processes[0]), 3);
    pass(&w, 15 * S);
    CHECK_INT(held_by(&w.processes[0]), 4);
    world_deinit(&w);
}

TEST_MAIN()
