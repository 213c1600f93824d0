/* When a member has the shards that it is to have: what `--once` waits for. */
#include "shard_promises.h"

static bool has_share(const struct world *w, int k)
{
    return w->processes[k].m != NULL && pl_membership_has_share(w->processes[k].m);
}

/* Time passes until it has its share; the number of its shards. */
static unsigned await_share(struct world *w, int k, int64_t limit_ns)
{
    int64_t until = w->now_ns + limit_ns;
    while (!has_share(w, k) && w->now_ns < until)
        tick(w);
    CHECK(has_share(w, k));
    struct pl_shard_set ours = pl_shards_in(w->processes[k].shards, PL_SHARD_OURS);
    CHECK_INT(pl_shard_set_count(&ours), held_by(&w->processes[k]));
    return pl_shard_set_count(&ours);
}

TEST(a_member_alone_has_its_share_when_all_shards_have_come)
{
    struct world w;
    world_init(&w, 80, 1, 8);
    CHECK(!has_share(&w, 0));
    begin(&w.processes[0]);
    CHECK(!has_share(&w, 0));
    CHECK_INT(await_share(&w, 0, 10 * S), 8);
    world_deinit(&w);
}

TEST(shards_whose_objects_are_being_listed_have_not_come)
{
    struct world w;
    world_init(&w, 81, 1, 8);
    w.never_lists = true;
    begin(&w.processes[0]);
    pass(&w, 60 * S);
    CHECK_INT(held_by(&w.processes[0]), 8);
    CHECK(!has_share(&w, 0));
    world_deinit(&w);
}

TEST(beside_others_it_has_its_share_when_they_have_given_it)
{
    for (uint64_t seed = 82; seed < 100; seed++) {
        struct world w;
        world_init(&w, seed, 3, 8);
        begin(&w.processes[0]);
        rest(&w);
        begin(&w.processes[1]);
        unsigned held = await_share(&w, 1, 120 * S);
        CHECK_INT(held, 4);
        begin(&w.processes[2]);
        held = await_share(&w, 2, 120 * S);
        CHECK(held == 2 || held == 3);
        world_deinit(&w);
    }
}

/* Its Lease has not expired, so that it counts as one of two, until it is clear that it is dead. */
TEST(the_shards_of_one_that_died_just_now_are_waited_for)
{
    for (uint64_t seed = 82; seed < 100; seed++) {
        struct world w;
        world_init(&w, seed, 3, 8);
        begin(&w.processes[0]);
        begin(&w.processes[1]);
        rest(&w);
        kill_it(&w.processes[0]);
        if (seed % 2 == 0)
            kill_it(&w.processes[1]);
        begin(&w.processes[2]);
        unsigned held = await_share(&w, 2, 120 * S);
        CHECK(seed % 2 == 0 ? held == 8 : held == 4);
        world_deinit(&w);
    }
}

TEST(one_that_never_becomes_a_member_has_no_share)
{
    struct world w;
    world_init(&w, 83, 1, 8);
    w.no_namespace = true;
    begin(&w.processes[0]);
    pass(&w, 60 * S);
    CHECK(!has_share(&w, 0));
    world_deinit(&w);
}

TEST(while_a_deployment_without_shards_leads_there_is_no_share)
{
    struct world w;
    world_init(&w, 84, 1, 8);
    write_title(&w, "stranger");
    begin(&w.processes[0]);
    for (int i = 0; i < 20; i++) {
        pass(&w, S);
        write_title(&w, "stranger");
        CHECK(!has_share(&w, 0));
    }
    CHECK_INT(await_share(&w, 0, 30 * S), 8);
    world_deinit(&w);
}

TEST_MAIN()
