/* How shards pass from one member to another, and the faults meanwhile: receivers that die, Leases
 * that others delete, members with another number of shards. One fault at a time on the simulated
 * server; simulation_test.c has all at once. */
#include "shard_promises.h"

static struct lease *lease_of_member(struct world *w, int number)
{
    return &w->leases[1 + PL_SHARDS_MAX + number];
}

static unsigned named(const struct world *w, const char *id)
{
    unsigned n = 0;
    for (unsigned i = 0; i < w->shards; i++)
        n += w->leases[1 + i].exists && strcmp(w->leases[1 + i].holder, id) == 0;
    return n;
}

static unsigned in_state(const struct process *p, enum pl_shard_state state)
{
    struct pl_shard_set set = pl_shards_in(p->shards, state);
    return pl_shard_set_count(&set);
}

static void delete_lease(struct world *w, struct lease *lease)
{
    lease->exists = false;
    publish(w, (int)(lease - w->leases));
}

static void open_world(struct world *w, uint64_t seed, int members, unsigned shards)
{
    world_init(w, seed, members, shards);
    for (int k = 0; k < members; k++)
        begin(&w->processes[k]);
    pass(w, (60 + 3 * (int64_t)shards) * S);
    check_rest(w);
}

/* ---- what is written ---- */

/* Each member writes its own Lease each retry period; the holder of shard 0 also writes the Lease
 * NAME. */
TEST(at_rest_members_renew_and_no_lease_of_a_shard_is_written_whatever_their_number)
{
    static const unsigned numbers[] = {4, 64, 256};
    for (size_t k = 0; k < PL_ARRAY_LEN(numbers); k++) {
        struct world w;
        uint64_t versions[PL_SHARDS_MAX];
        open_world(&w, 21, 5, numbers[k]);
        for (unsigned i = 0; i < numbers[k]; i++)
            versions[i] = w.leases[1 + i].is.version;
        w.writes = w.reads = 0;
        pass(&w, 60 * S);
        for (unsigned i = 0; i < numbers[k]; i++)
            CHECK(w.leases[1 + i].is.version == versions[i]);
        CHECK(w.writes > 160 && w.writes < 200); /* 30 a minute each, by their own clocks */
        CHECK_INT((int64_t)w.reads, 0);
        world_deinit(&w);
    }
}

static void check_named(const struct world *w, unsigned shards)
{
    for (unsigned i = 0; i <= shards; i++) /* NAME, and each shard */
        if (!w->leases[i].exists || w->leases[i].holder[0] == '\0')
            TEST_FAIL("lease %u names nobody", i);
}

TEST(what_is_given_names_the_receiver_in_one_write_and_one_at_a_time)
{
    struct world w;
    world_init(&w, 22, 5, 16);
    begin(&w.processes[0]);
    rest(&w);
    for (int k = 1; k < 8; k++) {
        if (k < 5)
            begin(&w.processes[k]);
        else
            stop(&w.processes[k - 5]);
        for (int64_t until = w.now_ns + 90 * S; w.now_ns < until;) {
            tick(&w);
            check_named(&w, 16);
            for (int i = 0; i < w.count; i++)
                if (w.processes[i].m != NULL && !w.processes[i].leaving)
                    CHECK(in_state(&w.processes[i], PL_SHARD_GOING) <= 1);
        }
        check_rest(&w);
        check_promises(&w);
    }
    world_deinit(&w);
}

/* ---- receivers that die ---- */

TEST(a_receiver_that_dies_before_it_acts_loses_its_shards_as_any_holder_does)
{
    struct world w;
    world_init(&w, 23, 2, 8);
    begin(&w.processes[0]);
    rest(&w);
    begin(&w.processes[1]);
    while (!lease_of_member(&w, 1)->exists)
        tick(&w);
    w.processes[1].frozen_until_ns = INT64_MAX;
    while (named(&w, "m0001") == 0)
        tick(&w);
    CHECK_INT(held_by(&w.processes[1]), 0);
    kill_it(&w.processes[1]);
    pass(&w, 10 * S);
    CHECK(named(&w, "m0001") > 0); /* its Lease has not expired */
    CHECK(held_by(&w.processes[0]) < 8);
    rest(&w);
    CHECK_INT(held_by(&w.processes[0]), 8);
    CHECK(w.worst_gap_ns < (int64_t)(1.055 * 17 * (double)S));
    world_deinit(&w);
}

TEST(a_shard_that_drains_for_a_receiver_that_dies_is_kept)
{
    struct world w;
    world_init(&w, 24, 2, 8);
    begin(&w.processes[0]);
    rest(&w);
    w.never_drains = true;
    begin(&w.processes[1]);
    while (in_state(&w.processes[0], PL_SHARD_GOING) == 0)
        tick(&w);
    kill_it(&w.processes[1]);
    w.worst_gap_ns = 0;
    pass(&w, 20 * S);
    CHECK_INT(in_state(&w.processes[0], PL_SHARD_OURS), 8);
    CHECK_INT(named(&w, "m0000"), 8);
    CHECK_INT(w.worst_gap_ns, 0);
    world_deinit(&w);
}

/* ---- newcomers after a death ---- */

/* True when the shard is named again for a member from whom it was taken. */
static bool comes_back_to(const struct world *w, const char *dead, bool *taken)
{
    bool back = false;
    for (unsigned i = 0; i < w->shards; i++) {
        bool names = strcmp(w->leases[1 + i].holder, dead) == 0;
        back = back || (names && taken[i]);
        taken[i] = taken[i] || !names;
    }
    return back;
}

/* One of `members` dies, and after `pause_ns` another begins in its place. */
static void die_and_begin(uint64_t seed, int members, unsigned shards, int64_t pause_ns)
{
    struct world w;
    bool taken[PL_SHARDS_MAX] = {false};
    int returns = 0, dead = (int)(seed % (unsigned)members);
    char id[64];
    open_world(&w, seed, members, shards);
    w.worst_gap_ns = 0;
    uint64_t moves = w.moves;
    unsigned held = held_by(&w.processes[dead]);
    snprintf(id, sizeof id, "%s", w.processes[dead].id);
    kill_it(&w.processes[dead]);
    for (int64_t begins_ns = w.now_ns + pause_ns, until = begins_ns + 60 * S; w.now_ns < until;) {
        tick(&w);
        if (w.now_ns >= begins_ns && w.processes[dead].m == NULL)
            begin(&w.processes[dead]);
        returns += comes_back_to(&w, id, taken);
    }
    check_rest(&w);
    check_promises(&w);
    if (returns > 0 ||
        w.moves - moves > held + (shards + (unsigned)members - 1) / (unsigned)members)
        TEST_FAIL("%d members, %.1f s after the death: %d ticks with a shard given to the dead, "
                  "%d moves",
                  members, (double)pause_ns / 1e9, returns, (int)(w.moves - moves));
    CHECK(w.worst_gap_ns < (int64_t)(1.055 * 18 * (double)S));
    world_deinit(&w);
}

TEST(a_newcomer_gives_nothing_to_a_member_that_died_before_it_came)
{
    for (uint64_t seed = 40; seed < 100; seed++)
        die_and_begin(seed, 2 + (int)(seed % 4), 8 + 4 * (unsigned)(seed % 3),
                      (int64_t)(seed - 40) * S / 2 + S / 4);
}

/* ---- a member that comes back under another id ---- */

/* The renewal that is on its way to the server, or NULL. */
static struct message *renewal_under_way(struct world *w, int number)
{
    int lease = 1 + PL_SHARDS_MAX + number;
    for (size_t i = 0; i < w->messages.count; i++) {
        struct message *message = PL_CONTAINER_OF(w->messages.nodes[i], struct message, node);
        if (message->phase == ARRIVES && message->request->lease == lease)
            return message;
    }
    return NULL;
}

/* It makes the others believe that the earlier membership lives, and they give it shards. */
TEST(a_renewal_that_arrives_after_the_loss_costs_seconds_only)
{
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct world w;
        struct message *late;
        open_world(&w, seed, 2, 8);
        while ((late = renewal_under_way(&w, 1)) == NULL)
            tick(&w);
        w.processes[1].frozen_until_ns = w.now_ns + 25 * S;
        late->at_ns = w.processes[1].frozen_until_ns + (int64_t)(chance(&w) * (double)S);
        pl_heap_fix(&w.messages, &late->node);
        pass(&w, 24 * S);
        CHECK_INT(held_by(&w.processes[0]), 8);
        pass(&w, 6 * S);
        CHECK_STR(w.processes[1].id, "m0002");
        CHECK(!lease_of_member(&w, 1)->exists);
        CHECK_INT(named(&w, "m0001"), 0);
        rest(&w);
        check_promises(&w);
        world_deinit(&w);
    }
}

/* ---- Leases that others delete ---- */

TEST(a_dead_members_lease_that_somebody_deletes_is_waited_for_all_the_same)
{
    struct world w;
    open_world(&w, 25, 3, 12);
    w.worst_gap_ns = 0;
    kill_it(&w.processes[1]);
    pass(&w, S);
    delete_lease(&w, lease_of_member(&w, 1));
    pass(&w, 12 * S);
    CHECK_INT(named(&w, "m0001"), 4);
    rest(&w);
    CHECK(w.worst_gap_ns > 15 * S);
    CHECK(w.worst_gap_ns < (int64_t)(1.055 * 18 * (double)S));
    world_deinit(&w);
}

TEST(a_living_members_lease_that_somebody_deletes_is_written_again)
{
    struct world w;
    open_world(&w, 26, 3, 12);
    uint64_t moves = w.moves;
    for (int i = 0; i < 5; i++) {
        delete_lease(&w, lease_of_member(&w, 1));
        pass(&w, 3 * S);
        CHECK(lease_of_member(&w, 1)->exists);
    }
    rest(&w);
    CHECK(w.moves == moves && w.losses == 0);
    world_deinit(&w);
}

TEST(shards_whose_leases_somebody_deletes_are_taken_again)
{
    struct world w;
    open_world(&w, 27, 3, 12);
    w.worst_gap_ns = 0;
    for (unsigned i = 0; i <= 12; i++)
        delete_lease(&w, &w.leases[i]);
    rest(&w);
    check_named(&w, 12);
    CHECK(w.worst_gap_ns < 4 * S);
    CHECK_INT(w.losses, 0);
    world_deinit(&w);
}

/* Its holder may still act, if no news reach it. */
TEST(a_shards_lease_that_somebody_deletes_is_not_taken_before_its_holder_can_know)
{
    struct world w;
    open_world(&w, 28, 3, 12);
    w.processes[1].cut_until_ns = w.now_ns + 8 * S;
    for (unsigned i = 0; i < 12; i++)
        if (strcmp(w.leases[1 + i].holder, w.processes[1].id) == 0)
            delete_lease(&w, &w.leases[1 + i]);
    rest(&w);
    CHECK_INT(w.two_actors, 0);
    check_named(&w, 12);
    world_deinit(&w);
}

TEST(a_shards_lease_without_its_label_gets_it_back)
{
    struct world w;
    open_world(&w, 31, 3, 12);
    uint64_t moves = w.moves;
    for (unsigned i = 0; i < 12; i++) {
        w.leases[1 + i].is.unlabelled = true;
        publish(&w, 1 + (int)i);
    }
    rest(&w);
    for (unsigned i = 0; i < 12; i++)
        CHECK(!w.leases[1 + i].is.unlabelled);
    CHECK(w.moves == moves && w.losses == 0);
    world_deinit(&w);
}

/* More Leases than a replica remembers: of members, and of shards of another number. */
static void flood(struct process *p)
{
    char text[16];
    for (int i = 0; i < 6000; i++) {
        struct pl_shard_lease ghost = {.kind = i < 5000 ? PL_LEASE_OF_MEMBER : PL_LEASE_OF_SHARD,
                                       .index = 8 + (unsigned)i % 240,
                                       .duration_s = 600,
                                       .stamp = 1,
                                       .version = 1000000 + (uint64_t)i};
        snprintf(text, sizeof text, "%c%d", i % 2 == 0 ? 'g' : 'h', 10 + i / 2);
        ghost.id = ghost.holder = pl_slice_z(text);
        pl_membership_see(p->m, &ghost);
    }
}

static void freeze(struct process *p, struct process *flooded)
{
    p->frozen_until_ns = p->world->now_ns + 25 * S;
    for (int i = 0; i < 60; i++) {
        flood(flooded); /* whatever it has forgotten */
        pass(p->world, S);
    }
}

TEST(among_thousands_of_rubbish_leases_a_replica_knows_itself_and_who_has_shards)
{
    struct world w;
    open_world(&w, 30, 2, 8);
    struct process *flooded = &w.processes[0], *other = &w.processes[1];
    /* For the new id there is room only when the Lease of the earlier one has gone. */
    freeze(other, flooded);
    CHECK_STR(other->id, "m0002");
    CHECK_INT(held_by(flooded), 4);
    CHECK_INT(held_by(other), 4);
    freeze(flooded, flooded);
    CHECK_STR(flooded->id, "m0003");
    CHECK(lease_of_member(&w, 3)->exists);
    pass(&w, 120 * S);
    CHECK_INT(held_by(flooded) + held_by(other), 8);
    CHECK(held_by(other) > 0);
    CHECK_INT(w.two_actors, 0);
    world_deinit(&w);
}

/* ---- members that leave at the same time ---- */

/* Each may give shards to the other, before it knows that that one leaves, too. */
TEST(of_members_that_leave_together_none_takes_a_gift_to_its_grave)
{
    for (uint64_t seed = 100; seed < 140; seed++) {
        struct world w;
        open_world(&w, seed, 3, 24);
        w.drains_at_once = true;
        w.worst_gap_ns = 0;
        stop(&w.processes[0]);
        pass(&w, (int64_t)(chance(&w) * 100 * (double)PL_MS));
        stop(&w.processes[1]);
        pass(&w, 40 * S);
        check_rest(&w);
        CHECK_INT(held_by(&w.processes[2]), 24);
        CHECK(w.processes[0].m == NULL && w.processes[1].m == NULL);
        if (w.worst_gap_ns > 5 * S)
            TEST_FAIL("seed %d: a gap of %.1f s", (int)seed, (double)w.worst_gap_ns / 1e9);
        CHECK_INT(w.two_actors, 0);
        world_deinit(&w);
    }
}

/* ---- requests that fail ---- */

/* The number of requests in 20 s. */
static uint64_t requests(struct world *w)
{
    w->writes = w->reads = 0;
    pass(w, 20 * S);
    return w->writes + w->reads;
}

TEST(without_the_namespace_of_the_leases_a_newcomer_tries_once_in_a_retry_period)
{
    struct world w;
    world_init(&w, 33, 1, 8);
    w.no_namespace = true;
    begin(&w.processes[0]);
    uint64_t n = requests(&w);
    if (n < 8 || n > 12)
        TEST_FAIL("%d requests in 20 s", (int)n);
    w.no_namespace = false;
    rest(&w);
    world_deinit(&w);
}

TEST(a_member_whose_namespace_is_deleted_tries_in_vain_with_pauses_until_its_deadline)
{
    struct world w;
    open_world(&w, 34, 2, 8);
    w.no_namespace = true;
    for (int i = 0; i < 1 + PL_SHARDS_MAX + w.members; i++)
        if (w.leases[i].exists)
            delete_lease(&w, &w.leases[i]);
    uint64_t n = requests(&w);
    if (n > 250) /* 8 shards and two members, until they are lost */
        TEST_FAIL("%d requests in 20 s", (int)n);
    CHECK(w.losses >= 2);
    w.no_namespace = false;
    pass(&w, 30 * S);
    rest(&w);
    world_deinit(&w);
}

/* As after a backup was put back: each write conflicts with what a read shows. */
TEST(conflicts_without_end_are_tried_with_pauses)
{
    static const int places[] = {0, 1 + PL_SHARDS_MAX};
    for (size_t i = 0; i < PL_ARRAY_LEN(places); i++) {
        struct world w;
        open_world(&w, 35, 2, 8);
        w.refuses_from = places[i];
        w.refuses[PL_SHARD_UPDATE] = 409;
        kill_it(&w.processes[1]);
        pass(&w, 5 * S);
        uint64_t n = requests(&w);
        if (n > 250)
            TEST_FAIL("%d requests in 20 s", (int)n);
        world_deinit(&w);
    }
}

/* The Lease of a member that has died is deleted after twice its duration. */
TEST(leases_that_must_not_be_deleted_are_tried_once_in_a_retry_period)
{
    struct world w;
    open_world(&w, 36, 2, 8);
    w.refuses[PL_SHARD_DELETE] = 403;
    kill_it(&w.processes[1]);
    pass(&w, 60 * S);
    uint64_t n = requests(&w);
    if (n > 35) /* renewals of two Leases, and the deletions */
        TEST_FAIL("%d requests in 20 s", (int)n);
    CHECK(lease_of_member(&w, 1)->exists);
    world_deinit(&w);
}

/* ---- shares ---- */

/* A member that renews but takes nothing leaves its share to the others. */
TEST(what_has_been_free_for_a_retry_period_is_taken_over_the_share)
{
    struct world w;
    unsigned most = 0;
    world_init(&w, 28, 1, 8);
    write_member(&w, 0, 8, 1);
    w.members = 1;
    begin(&w.processes[0]);
    pass(&w, S);
    CHECK_INT(held_by(&w.processes[0]), 4);
    for (int i = 0; i < 8 * 50; i++) {
        tick(&w);
        if (i % 50 == 0)
            write_member(&w, 0, 8, 2 + i);
        most = held_by(&w.processes[0]) > most ? held_by(&w.processes[0]) : most;
    }
    CHECK(most > 4);
    check_named(&w, 8);
    world_deinit(&w);
}

/* ---- one name, one N ---- */

/* The refused one ends, as the process does. */
static void end_refused(struct world *w)
{
    for (int k = 0; k < w->count; k++)
        if (w->processes[k].m != NULL && w->processes[k].refused)
            end(&w->processes[k], INT64_MAX);
}

static bool is_acting(const struct process *p)
{
    return p->m != NULL && held_by(p) > 0;
}

TEST(of_two_numbers_of_shards_that_begin_together_one_stays)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct world w;
        int both = 0;
        world_init(&w, seed, 2, 16);
        w.limit_ns *= 4; /* no promise holds until they find out */
        begin(&w.processes[0]);
        if (seed % 2 == 0) /* otherwise neither sees the other before it has joined */
            pass(&w, (int64_t)(chance(&w) * (double)(3 * S)));
        w.shards = 12;
        begin(&w.processes[1]);
        for (int i = 0; i < 90 * 50; i++) {
            tick(&w);
            end_refused(&w);
            both += is_acting(&w.processes[0]) && is_acting(&w.processes[1]);
        }
        CHECK_INT(both, 0); /* a key is in a shard of each of the two */
        bool first = w.processes[0].m != NULL, second = w.processes[1].m != NULL;
        if (first == second)
            TEST_FAIL("seed %d: %s are there", (int)seed, first ? "both" : "none of them");
        else
            CHECK_INT(held_by(&w.processes[first ? 0 : 1]), first ? 16 : 12);
        CHECK_INT(w.two_actors, 0);
        world_deinit(&w);
    }
}

/* ---- one name, one way to place keys ---- */

TEST(of_two_ways_to_place_keys_that_begin_together_one_stays)
{
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct world w;
        int both = 0;
        world_init(&w, seed, 2, 16);
        w.limit_ns *= 4; /* no promise holds until they find out */
        w.by = seed % 3 == 0 ? PL_SHARD_BY_UID : PL_SHARD_BY_NAMESPACE;
        begin(&w.processes[0]);
        if (seed % 2 == 0) /* otherwise neither sees the other before it has joined */
            pass(&w, (int64_t)(chance(&w) * (double)(3 * S)));
        w.by = seed % 3 == 0 ? PL_SHARD_BY_NAMESPACE : PL_SHARD_BY_UID;
        begin(&w.processes[1]);
        for (int i = 0; i < 90 * 50; i++) {
            tick(&w);
            end_refused(&w);
            both += is_acting(&w.processes[0]) && is_acting(&w.processes[1]);
        }
        CHECK_INT(both, 0); /* a key is in a shard of each of the two */
        bool first = w.processes[0].m != NULL, second = w.processes[1].m != NULL;
        if (first == second)
            TEST_FAIL("seed %d: %s are there", (int)seed, first ? "both" : "none of them");
        else
            CHECK_INT(held_by(&w.processes[first ? 0 : 1]), 16);
        world_deinit(&w);
    }
}

TEST(a_newcomer_that_places_keys_in_another_way_is_refused)
{
    struct world w;
    open_world(&w, 32, 2, 8);
    kill_it(&w.processes[1]);
    rest(&w);
    uint64_t moves = w.moves;
    w.by = PL_SHARD_BY_UID;
    begin(&w.processes[1]);
    pass(&w, 5 * S);
    CHECK(w.refusals > 0);
    CHECK_INT(held_by(&w.processes[1]), 0);
    CHECK_INT(held_by(&w.processes[0]), 8);
    CHECK(w.moves == moves);
    world_deinit(&w);
}

TEST_MAIN()
