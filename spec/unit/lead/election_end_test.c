/* How a lead or a campaign ends, what follows, and how a replica stands by. */
#include "lead/election.h"

#include "bed_election.h"

/* ---- again ---- */

TEST(f36_who_lost_campaigns_again_as_often_as_told)
{
    struct bed bed;
    bed_init(&bed, true);
    bed.campaign_when_lost = true;
    become_leader(&bed);
    bed.serving = true;
    for (int i = 1; i <= 50; i++) {
        others_hold(&bed, OTHER);
        pass(&bed, 2 * S);
        CHECK_INT(bed.lost, i);
        pass(&bed, 20 * S);
        CHECK_INT(bed.started, i + 1);
        CHECK(pl_election_may_write(bed.election));
    }
    bed_deinit(&bed);
}

TEST(an_answer_of_the_round_that_was_lost_serves_the_next_campaign)
{
    struct bed bed;
    bed_init(&bed, false);
    become_leader(&bed);
    bed.campaign_when_lost = true;
    pass(&bed, 9 * S);
    fake_lock_fail(&bed.lock, PL_ETIMEOUT, 0);
    step(&bed, PL_LEASE_GET);
    fake_lock_expect(&bed.lock, PL_LEASE_UPDATE); /* sent in second 9, hangs */
    move(&bed, 3 * S);
    pl_timers_run(&bed.timers); /* second 12: lost, canceled, campaigning again */
    CHECK_INT(bed.lost, 1);
    CHECK(!pl_election_may_write(bed.election));
    CHECK(bed.lock.waiting);
    fake_lock_answer(&bed.lock); /* the success arrives late */
    CHECK_INT(bed.started, 2);
    CHECK(pl_election_may_write(bed.election));
    bed.serving = true;
    pass(&bed, 60 * S);
    CHECK_INT(bed.lost, 1);
    bed_deinit(&bed);
}

TEST(a_canceled_request_of_the_round_that_was_lost_leads_to_a_try_at_once)
{
    struct bed bed;
    bed_init(&bed, false);
    become_leader(&bed);
    bed.campaign_when_lost = true;
    pass(&bed, 12 * S); /* the request of second 2 hangs */
    CHECK_INT(bed.lost, 1);
    run(&bed);
    fake_lock_expect(&bed.lock, PL_LEASE_UPDATE); /* the campaign: the record is new enough */
    fake_lock_answer(&bed.lock);
    CHECK_INT(bed.started, 2);
    bed_deinit(&bed);
}

/* ---- stopping ---- */

TEST(rule_119_a_release_empties_the_record_and_keeps_the_count)
{
    struct bed bed;
    bed_init(&bed, false);
    others_hold(&bed, "");
    become_leader(&bed);
    pass(&bed, 1 * S);
    pl_election_stop(bed.election, true, on_stopped, &bed);
    CHECK(!pl_election_may_write(bed.election)); /* F33: before anything is released */
    CHECK(!pl_election_is_leading(bed.election));
    CHECK_INT(bed.stopped, 0);
    step(&bed, PL_LEASE_GET);
    step(&bed, PL_LEASE_UPDATE);
    run(&bed);
    CHECK_INT(bed.stopped, 1);
    CHECK_INT(bed.lost, 0);
    CHECK_STR(bed.server.record.holder, "");
    CHECK_INT(bed.server.record.duration_s, 1);
    CHECK_INT(bed.server.record.transitions, 5);
    bed_deinit(&bed);
}

TEST(rule_119_conflicts_are_retried_until_the_renew_deadline)
{
    struct bed bed;
    bed_init(&bed, false);
    become_leader(&bed);
    struct pl_lease_record mine = bed.server.record;
    int64_t begun = bed.clocks.mono_ns;
    pl_election_stop(bed.election, true, on_stopped, &bed);
    while (bed.stopped == 0) {
        REQUIRE(bed.clocks.mono_ns < begun + 11 * S);
        pass(&bed, 100 * PL_MS);
        if (bed.lock.waiting && bed.lock.verb == PL_LEASE_UPDATE)
            fake_lock_others_write(&bed.lock, &mine);
        if (bed.lock.waiting)
            fake_lock_answer(&bed.lock);
    }
    CHECK(bed.clocks.mono_ns >= begun + 9 * S);
    CHECK_STR(bed.server.record.holder, "me");
    bed_deinit(&bed);
}

TEST(rule_119_nothing_is_released_that_is_not_ours_or_not_wanted)
{
    struct bed bed;
    bed_init(&bed, false);
    become_leader(&bed);
    others_hold(&bed, OTHER);
    bed.serving = true;
    pl_election_stop(bed.election, true, on_stopped, &bed);
    run(&bed);
    CHECK_INT(bed.stopped, 1);
    CHECK_STR(bed.server.record.holder, OTHER);
    int before = bed.lock.started;
    pl_election_campaign(bed.election); /* as a follower */
    run(&bed);
    CHECK_INT(bed.lock.started, before + 1);
    pl_election_stop(bed.election, true, on_stopped, &bed);
    run(&bed);
    CHECK_INT(bed.stopped, 2);
    CHECK_INT(bed.lock.started, before + 1); /* no question to ask */
    others_hold(&bed, "");
    become_leader(&bed);
    before = bed.lock.started;
    pl_election_stop(bed.election, false, on_stopped, &bed); /* its work has not ended */
    run(&bed);
    CHECK_INT(bed.stopped, 3);
    CHECK_INT(bed.lock.started, before);
    CHECK_STR(bed.server.record.holder, "me");
    bed_deinit(&bed);
}

TEST(a_release_that_hangs_does_not_hold_up_the_stop)
{
    struct bed bed;
    bed_init(&bed, false);
    become_leader(&bed);
    pl_election_stop(bed.election, true, on_stopped, &bed);
    pass(&bed, 10 * S - 1);
    CHECK_INT(bed.stopped, 0);
    CHECK_INT(bed.waits.count, 1);
    CHECK_STR(pl_waits_next(&bed.waits, NULL)->name, "lease release");
    pass(&bed, 1);
    CHECK_INT(bed.stopped, 1);
    bed_deinit(&bed);
}

TEST(a_stop_waits_for_the_renewal_under_way_and_releases_then)
{
    struct bed bed;
    bed_init(&bed, false);
    become_leader(&bed);
    pass(&bed, 2 * S);
    fake_lock_expect(&bed.lock, PL_LEASE_UPDATE);
    pl_election_stop(bed.election, true, on_stopped, &bed);
    fake_lock_answer(&bed.lock); /* success, though canceled */
    CHECK(!pl_election_may_write(bed.election));
    bed.serving = true;
    run(&bed);
    CHECK_INT(bed.stopped, 1);
    CHECK_STR(bed.server.record.holder, "");
    bed_deinit(&bed);
}

TEST(rule_125_a_follower_that_stops_does_not_become_leader)
{
    struct bed bed;
    bed_init(&bed, false);
    pl_election_campaign(bed.election);
    step(&bed, PL_LEASE_GET);
    fake_lock_expect(&bed.lock, PL_LEASE_CREATE);
    pl_election_stop(bed.election, true, on_stopped, &bed);
    fake_lock_lose(&bed.lock); /* it was carried out nevertheless */
    CHECK_STR(bed.server.record.holder, "me");
    bed.serving = true;
    run(&bed);
    CHECK_INT(bed.started, 0); /* F35 */
    CHECK_INT(bed.stopped, 1);
    CHECK_STR(bed.server.record.holder, ""); /* nobody waits for a replica that never led */
    bed_deinit(&bed);
}

/* ---- rule 121 ---- */

TEST(rule_121_only_a_leader_that_has_not_renewed_for_long_is_unhealthy)
{
    struct bed bed;
    bed_init(&bed, false);
    CHECK(pl_election_is_healthy(bed.election));
    become_leader(&bed);
    suspend(&bed, 35 * S);
    CHECK(pl_election_is_healthy(bed.election));
    suspend(&bed, 1);
    CHECK(!pl_election_is_healthy(bed.election));
    pass(&bed, 2 * S);
    step(&bed, PL_LEASE_GET);
    step(&bed, PL_LEASE_UPDATE);
    CHECK(pl_election_is_healthy(bed.election));
    bed_deinit(&bed);
}

/* ---- the watch ---- */

static void stand_by(struct bed *bed)
{
    others_hold(bed, OTHER);
    pl_election_campaign(bed->election);
    step(bed, PL_LEASE_GET);
    run(bed);
    REQUIRE(bed->lock.watching);
    fake_lock_open(&bed->lock);
}

TEST(a_standby_that_watches_does_not_poll_and_sees_a_release_at_once)
{
    struct bed bed;
    bed_init(&bed, true);
    stand_by(&bed);
    int before = bed.lock.started;
    for (int i = 0; i < 100; i++) {
        pass(&bed, 2 * S);
        others_hold(&bed, OTHER);
    }
    CHECK_INT(bed.lock.started, before);
    others_hold(&bed, "");
    step(&bed, PL_LEASE_GET); /* no time has passed */
    step(&bed, PL_LEASE_UPDATE);
    CHECK_INT(bed.started, 1);
    run(&bed);
    CHECK(!bed.lock.watching); /* a leader needs no watch */
    bed_deinit(&bed);
}

TEST(a_standby_that_watches_takes_over_when_the_observed_duration_ends)
{
    struct bed bed;
    bed_init(&bed, true);
    stand_by(&bed);
    pass(&bed, 3 * S);
    others_hold(&bed, OTHER); /* its last renewal */
    bed.serving = true;
    pass(&bed, 15 * S - 1);
    CHECK_INT(bed.started, 0);
    pass(&bed, 1);
    CHECK_INT(bed.started, 1);
    bed_deinit(&bed);
}

TEST(a_lease_that_is_deleted_is_created_at_once_by_who_watches)
{
    struct bed bed;
    bed_init(&bed, true);
    stand_by(&bed);
    pass(&bed, 1 * S);
    fake_lock_others_write(&bed.lock, NULL);
    step(&bed, PL_LEASE_GET);
    step(&bed, PL_LEASE_CREATE);
    CHECK_INT(bed.started, 1);
    bed_deinit(&bed);
}

TEST(who_is_second_for_a_released_lease_waits_for_the_first)
{
    struct bed bed;
    bed_init(&bed, true);
    stand_by(&bed);
    others_hold(&bed, "");
    step(&bed, PL_LEASE_GET);
    fake_lock_expect(&bed.lock, PL_LEASE_UPDATE);
    others_hold(&bed, "third"); /* the watch reports it while we write */
    fake_lock_answer(&bed.lock);
    CHECK_INT(bed.started, 0);
    CHECK_STR(pl_election_holder(bed.election), "third");
    bed.serving = true;
    pass(&bed, 15 * S);
    CHECK_INT(bed.started, 1);
    bed_deinit(&bed);
}

/* The object that an update replaces came from another server than the watch. */
TEST(a_watch_that_lags_behind_does_not_take_the_lease_from_its_holder)
{
    struct bed bed;
    bed_init(&bed, true);
    bed.campaign_when_lost = true;
    become_leader(&bed);
    struct pl_lease_record ours = bed.server.record;
    others_hold(&bed, OTHER);
    bed.serving = true;
    pass(&bed, 2 * S);
    CHECK_INT(bed.lost, 1);
    CHECK_STR(pl_election_holder(bed.election), OTHER);
    REQUIRE(bed.lock.watching);
    bed.lock.open = true;
    bed.lock.watch_ops->on_open(bed.lock.watch_arg);
    bed.lock.watch_ops->on_change(bed.lock.watch_arg, &ours);
    run(&bed);
    CHECK(!pl_election_is_leading(bed.election));
    CHECK_STR(bed.server.record.holder, OTHER);
    CHECK_STR(pl_election_holder(bed.election), OTHER);
    bed_deinit(&bed);
}

TEST(without_the_right_to_watch_it_polls_and_asks_again_after_a_minute)
{
    struct bed bed;
    bed_init(&bed, true);
    others_hold(&bed, OTHER);
    bed.server.record.duration_s = 100000;
    bed.serving = true;
    pl_election_campaign(bed.election);
    run(&bed);
    int before = bed.lock.started;
    fake_lock_end_watch(&bed.lock, PL_EAPI, 403);
    pass(&bed, 44 * S);
    int tries = bed.lock.started - before;
    CHECK(tries >= 9 && tries <= 22);
    CHECK_INT(bed.lock.watches, 1);
    pass(&bed, 22 * S);
    CHECK_INT(bed.lock.watches, 2);
    fake_lock_open(&bed.lock);
    before = bed.lock.started;
    pass(&bed, 5 * S); /* one poll may still be due */
    CHECK(bed.lock.started <= before + 1);
    bed_deinit(&bed);
}

TEST(a_watch_that_ends_is_opened_again_and_polled_meanwhile)
{
    struct bed bed;
    bed_init(&bed, true);
    stand_by(&bed);
    bed.serving = true;
    pass(&bed, 5 * S);
    fake_lock_end_watch(&bed.lock, 0, 0); /* the server's time-out */
    run(&bed);
    CHECK_INT(bed.lock.watches, 2); /* at once */
    int before = bed.lock.started;
    pass(&bed, 4400 * PL_MS);
    CHECK(bed.lock.started > before);
    fake_lock_end_watch(&bed.lock, PL_ENETWORK, 0);
    run(&bed);
    CHECK_INT(bed.lock.watches, 2); /* not faster, although it fails at once */
    pass(&bed, 4400 * PL_MS);
    CHECK_INT(bed.lock.watches, 3);
    bed_deinit(&bed);
}

TEST(a_stop_waits_for_the_watch_to_end)
{
    struct bed bed;
    bed_init(&bed, true);
    stand_by(&bed);
    pl_election_stop(bed.election, true, on_stopped, &bed);
    CHECK_INT(bed.stopped, 0);
    run(&bed);
    CHECK_INT(bed.stopped, 1);
    CHECK(!bed.lock.watching);
    bed_deinit(&bed);
}

/* ---- nothing waits in silence ---- */

static void check_wait(struct bed *bed, const char *name)
{
    CHECK_INT(bed->waits.count, 1);
    const struct pl_wait *wait = pl_waits_next(&bed->waits, NULL);
    REQUIRE(wait != NULL);
    CHECK_STR(wait->name, name);
    CHECK_STR(wait->owner, "kube-system/perilune-test");
    CHECK(wait->no_deadline == NULL && !pl_wait_is_overdue(wait));
}

TEST(every_wait_for_the_lease_is_in_the_registry)
{
    struct bed bed;
    bed_init(&bed, true);
    others_hold(&bed, OTHER);
    pl_election_campaign(bed.election);
    check_wait(&bed, "lease");
    step(&bed, PL_LEASE_GET);
    check_wait(&bed, "lease");
    fake_lock_open(&bed.lock);
    check_wait(&bed, "lease");
    pass(&bed, 14 * S);
    check_wait(&bed, "lease");
    CHECK_INT(pl_wait_age_ns(pl_waits_next(&bed.waits, NULL)), 14 * S);
    bed.serving = true;
    pass(&bed, 1 * S);
    check_wait(&bed, "lease renewal");
    bed.serving = false;
    pass(&bed, 11 * S); /* a renewal hangs */
    check_wait(&bed, "lease renewal");
    bed_deinit(&bed);
}

/* ---- the log ---- */

static int count_lines(FILE *file, const char *part)
{
    char line[1000];
    int count = 0;
    rewind(file);
    while (fgets(line, sizeof line, file) != NULL)
        count += strstr(line, part) != NULL;
    return count;
}

TEST(each_change_of_state_is_one_line_and_failing_renewals_are_one)
{
    struct bed bed;
    bed_init(&bed, false);
    FILE *file = tmpfile();
    REQUIRE(file != NULL);
    pl_log_configure(PL_LOG_INFO, false, fileno(file));
    become_leader(&bed);
    for (int i = 0; i < 3; i++) {
        pass(&bed, 2 * S);
        while (bed.lock.waiting)
            fake_lock_fail(&bed.lock, PL_EAPI, 500);
    }
    CHECK_INT(count_lines(file, "lease acquired"), 1);
    CHECK_INT(count_lines(file, "cannot renew the lease"), 1);
    bed.serving = true;
    pass(&bed, 2 * S);
    CHECK_INT(count_lines(file, "the lease can be reached again"), 1);
    others_hold(&bed, OTHER);
    pass(&bed, 2 * S);
    CHECK_INT(count_lines(file, "lease lost"), 1);
    CHECK_INT(count_lines(file, ""), 5); /* and that another holds it */
    pl_log_configure(PL_LOG_ERROR + 1, false, 2);
    fclose(file);
    bed_deinit(&bed);
}

TEST_MAIN()
