#include "lead/election.h"

#include "bed_election.h"

/* ---- rule 112 ---- */

static void refuse(struct pl_election_options options, const char *message)
{
    struct pl_err err;
    CHECK_INT(pl_election_check(&options, &err), PL_EINVAL);
    CHECK_STR(err.message, message);
}

TEST(rule_112_the_durations_must_fit_and_there_must_be_an_identity)
{
    struct bed bed;
    bed_init(&bed, false);
    struct pl_election_options good = options_of(&bed), o;
    CHECK_INT(pl_election_check(&good, NULL), 0);
    o = good, o.identity = "";
    refuse(o, "leader election needs an identity");
    o = good, o.lease_duration_ns = 10 * S;
    refuse(o, "the lease duration must be longer than the renew deadline");
    o = good, o.retry_period_ns = 0;
    refuse(o, "lease duration, renew deadline and retry period must be positive");
    o = good, o.renew_deadline_ns = 2400 * PL_MS;
    refuse(o, "the renew deadline must be longer than 1.2 retry periods");
    o.renew_deadline_ns++;
    CHECK_INT(pl_election_check(&o, NULL), 0);
    o = good, o.ops = &(struct pl_election_ops){0};
    refuse(o, "leader election needs callbacks for the start and the end of a lead");
    o = good, o.lease_duration_ns = INT64_MAX;
    refuse(o, "the lease duration is too long");
    bed_deinit(&bed);
}

TEST(rule_123_a_duration_that_whole_seconds_cut_below_the_deadline_is_refused)
{
    struct bed bed;
    bed_init(&bed, false);
    struct pl_election_options o = options_of(&bed);
    o.lease_duration_ns = 7900 * PL_MS;
    o.renew_deadline_ns = 7500 * PL_MS;
    refuse(o, "a Lease holds whole seconds: the lease duration cut to 7 s is shorter than the "
              "renew deadline");
    o.renew_deadline_ns = 7 * S;
    CHECK_INT(pl_election_check(&o, NULL), 0);
    bed_deinit(&bed);
}

TEST(the_identity_is_the_hostname_and_a_uuid)
{
    struct pl_rand rand;
    char a[PL_LEASE_HOLDER], b[PL_LEASE_HOLDER], name[400];
    pl_rand_seed(&rand, 1);
    pl_election_identity(&rand, "pod-7", a);
    pl_election_identity(&rand, "pod-7", b);
    CHECK_INT(strlen(a), 6 + 36);
    CHECK(strncmp(a, "pod-7_", 6) == 0 && strcmp(a, b) != 0);
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    pl_election_identity(&rand, name, a);
    CHECK_INT(strlen(a), PL_LEASE_HOLDER - 1);
    CHECK_INT(a[PL_LEASE_HOLDER - 1 - 37], '_');
}

/* ---- acquiring ---- */

TEST(rule_113_the_first_try_comes_at_once_then_each_after_1_to_2_2_periods)
{
    struct bed bed;
    bed_init(&bed, false);
    others_hold(&bed, OTHER);
    bed.server.record.duration_s = 100000;
    pl_election_campaign(bed.election);
    int64_t shortest = INT64_MAX, longest = 0;
    step(&bed, PL_LEASE_GET);
    for (int i = 0; i < 500; i++) {
        int64_t due;
        REQUIRE(pl_timers_next(&bed.timers, &due));
        int64_t delay = due - bed.clocks.mono_ns;
        shortest = delay < shortest ? delay : shortest;
        longest = delay > longest ? delay : longest;
        pass(&bed, delay - 1);
        CHECK(!bed.lock.waiting);
        pass(&bed, 1);
        step(&bed, PL_LEASE_GET);
    }
    CHECK(shortest >= 2 * S && shortest < 2050 * PL_MS);
    CHECK(longest < 4400 * PL_MS && longest > 4350 * PL_MS);
    CHECK_STR(pl_election_holder(bed.election), OTHER);
    CHECK_INT(bed.leaders, 1);
    bed_deinit(&bed);
}

TEST(rule_116_a_lease_is_respected_for_its_own_duration_since_it_was_seen_to_change)
{
    struct bed bed;
    bed_init(&bed, false);
    others_hold(&bed, OTHER);
    bed.server.record.duration_s = 60;                 /* longer than ours (F32) */
    bed.server.record.renew_us -= INT64_C(3600000000); /* its clock is an hour behind */
    bed.serving = true;
    pl_election_campaign(bed.election);
    pass(&bed, 40 * S);
    bed.server.record.renew_us -= 7; /* any change of the record counts as a renewal */
    bed.server.version++;
    bed.clocks.wall_ns -= 7200 * S; /* our wall clock jumps: no effect */
    pass(&bed, 5 * S);              /* seen by now */
    pass(&bed, 54 * S);
    CHECK(!pl_election_is_leading(bed.election));
    pass(&bed, 6 * S);
    CHECK(pl_election_is_leading(bed.election));
    bed_deinit(&bed);
}

TEST(rule_116_time_in_which_the_machine_slept_counts)
{
    struct bed bed;
    bed_init(&bed, false);
    others_hold(&bed, OTHER);
    bed.serving = true;
    pl_election_campaign(bed.election);
    run(&bed);
    suspend(&bed, 15 * S);
    pass(&bed, 4400 * PL_MS);
    CHECK(pl_election_is_leading(bed.election));
    bed_deinit(&bed);
}

TEST(rule_117_nobodys_lease_is_taken_at_once_and_rule_118_counts_a_transition)
{
    struct bed bed;
    bed_init(&bed, false);
    others_hold(&bed, "");
    pl_election_campaign(bed.election);
    step(&bed, PL_LEASE_GET);
    step(&bed, PL_LEASE_UPDATE);
    CHECK_INT(bed.started, 1);
    CHECK_STR(bed.server.record.holder, "me");
    CHECK_INT(bed.server.record.transitions, 5);
    CHECK_INT(bed.server.record.duration_s, 15);
    CHECK_INT(bed.server.record.acquire_us, bed.clocks.wall_ns / 1000);
    int64_t acquired = bed.server.record.acquire_us;
    bed.serving = true;
    pass(&bed, 20 * S);
    CHECK_INT(bed.server.record.acquire_us, acquired);
    CHECK_INT(bed.server.record.transitions, 5);
    CHECK_INT(bed.server.record.renew_us, acquired + 20000000);
    CHECK_STR(bed.leader, "me"); /* rule 120 */
    CHECK_INT(bed.leaders, 1);
    bed_deinit(&bed);
}

TEST(rule_117_a_missing_lease_is_created_and_a_conflict_is_no_lead)
{
    struct bed bed;
    bed_init(&bed, false);
    pl_election_campaign(bed.election);
    step(&bed, PL_LEASE_GET);
    fake_lock_expect(&bed.lock, PL_LEASE_CREATE);
    others_hold(&bed, OTHER); /* is first */
    fake_lock_answer(&bed.lock);
    CHECK_INT(bed.started, 0);
    pass(&bed, 4400 * PL_MS);
    step(&bed, PL_LEASE_GET);
    pass(&bed, 20 * S);
    step(&bed, PL_LEASE_GET);
    fake_lock_expect(&bed.lock, PL_LEASE_UPDATE);
    others_hold(&bed, "third");
    fake_lock_answer(&bed.lock);
    CHECK_INT(bed.started, 0);
    CHECK(!pl_election_may_write(bed.election));
    fake_lock_others_write(&bed.lock, NULL);
    bed.serving = true;
    pass(&bed, 4400 * PL_MS);
    CHECK_INT(bed.started, 1);
    CHECK_INT(bed.server.record.transitions, 0);
    bed_deinit(&bed);
}

TEST(a_takeover_whose_answer_was_lost_is_noticed_by_the_next_try)
{
    struct bed bed;
    bed_init(&bed, false);
    others_hold(&bed, "");
    pl_election_campaign(bed.election);
    step(&bed, PL_LEASE_GET);
    fake_lock_lose(&bed.lock);
    CHECK(!pl_election_is_leading(bed.election)); /* no request has surely succeeded */
    int64_t acquired = bed.server.record.acquire_us;
    bed.serving = true;
    pass(&bed, 4400 * PL_MS);
    CHECK_INT(bed.started, 1);
    CHECK_INT(bed.server.record.acquire_us, acquired);
    CHECK_INT(bed.server.record.transitions, 5);
    bed_deinit(&bed);
}

TEST(a_lead_that_was_gained_long_before_its_answer_came_does_not_begin)
{
    struct bed bed;
    bed_init(&bed, false);
    pl_election_campaign(bed.election);
    step(&bed, PL_LEASE_GET);
    fake_lock_expect(&bed.lock, PL_LEASE_CREATE);
    suspend(&bed, 10 * S); /* frozen, and another may have taken over meanwhile */
    fake_lock_answer(&bed.lock);
    CHECK_INT(bed.started, 0);
    CHECK(!pl_election_may_write(bed.election));
    step(&bed, PL_LEASE_UPDATE); /* reads the Lease at once */
    CHECK_INT(bed.started, 1);
    bed_deinit(&bed);
}

TEST(a_try_that_never_ends_is_given_up_after_the_renew_deadline)
{
    struct bed bed;
    bed_init(&bed, false);
    pl_election_campaign(bed.election);
    fake_lock_expect(&bed.lock, PL_LEASE_GET);
    int started = bed.lock.started;
    pass(&bed, 10 * S - 1);
    CHECK_INT(bed.lock.started, started);
    pass(&bed, 4400 * PL_MS + 1);
    CHECK_INT(bed.lock.started, started + 1);
    bed_deinit(&bed);
}

/* ---- renewing ---- */

TEST(rule_114_a_lead_is_renewed_at_once_and_then_each_period)
{
    struct bed bed;
    bed_init(&bed, false);
    pl_election_campaign(bed.election);
    step(&bed, PL_LEASE_GET);
    step(&bed, PL_LEASE_CREATE);
    step(&bed, PL_LEASE_UPDATE); /* rule 115: without a GET */
    run(&bed);
    for (int i = 0; i < 5; i++) {
        pass(&bed, 2 * S - 1);
        CHECK(!bed.lock.waiting);
        pass(&bed, 1);
        step(&bed, PL_LEASE_UPDATE);
    }
    CHECK_INT(bed.closed + bed.lost, 0);
    bed_deinit(&bed);
}

TEST(rule_115_a_failed_quick_update_is_followed_by_get_and_update)
{
    struct bed bed;
    bed_init(&bed, false);
    become_leader(&bed);
    pass(&bed, 2 * S);
    fake_lock_expect(&bed.lock, PL_LEASE_UPDATE);
    struct pl_lease_record mine = bed.server.record;
    mine.acquire_us -= 5; /* somebody wrote into it */
    fake_lock_others_write(&bed.lock, &mine);
    fake_lock_answer(&bed.lock);
    step(&bed, PL_LEASE_GET);
    step(&bed, PL_LEASE_UPDATE);
    CHECK_INT(bed.lost, 0);
    CHECK_INT(bed.server.record.acquire_us, mine.acquire_us);
    /* Not trusted beyond its duration: read first. */
    suspend(&bed, 15 * S);
    CHECK(!pl_election_may_write(bed.election));
    pass(&bed, 2 * S);
    step(&bed, PL_LEASE_GET);
    step(&bed, PL_LEASE_UPDATE);
    CHECK(pl_election_may_write(bed.election));
    bed_deinit(&bed);
}

TEST(rule_114_a_round_that_fails_for_the_renew_deadline_ends_the_lead)
{
    struct bed bed;
    bed_init(&bed, false);
    become_leader(&bed);
    int64_t until = bed.clocks.mono_ns + 12 * S;
    for (int tries = 0; bed.lost == 0; tries++) {
        REQUIRE(tries < 100 && bed.clocks.mono_ns < until);
        int64_t due;
        REQUIRE(pl_timers_next(&bed.timers, &due));
        pass(&bed, due - bed.clocks.mono_ns);
        while (bed.lock.waiting)
            fake_lock_fail(&bed.lock, PL_EAPI, 500);
    }
    CHECK_INT(bed.clocks.mono_ns, until); /* the first failure came 2 s after the last success */
    CHECK_STR(bed.why, "it could not be renewed for 10.0 s");
    CHECK_INT(bed.closed, 1); /* 2 s earlier */
    pass(&bed, 60 * S);
    CHECK(!bed.lock.waiting); /* nothing until it is told to */
    bed_deinit(&bed);
}

/* Not at each try of the round: the Lease may be ours again at its end. */
TEST(rule_120_who_leads_is_news_when_a_round_of_renewals_has_ended)
{
    struct bed bed;
    bed_init(&bed, false);
    become_leader(&bed);
    CHECK_STR(bed.leader, "me");
    pass(&bed, 2 * S);
    fake_lock_expect(&bed.lock, PL_LEASE_UPDATE);
    others_hold(&bed, "");
    fake_lock_answer(&bed.lock);
    step(&bed, PL_LEASE_GET);
    fake_lock_expect(&bed.lock, PL_LEASE_UPDATE);
    fake_lock_fail(&bed.lock, PL_EAPI, 500);
    CHECK_STR(pl_election_holder(bed.election), "");
    CHECK_INT(bed.leaders, 1);
    pass(&bed, 10 * S);
    CHECK_INT(bed.lost, 1);
    CHECK_INT(bed.leaders, 2);
    CHECK_STR(bed.leader, "");
    bed_deinit(&bed);
}

TEST(writes_end_renew_deadline_after_the_last_successful_renewal_was_sent)
{
    struct bed bed;
    bed_init(&bed, false);
    become_leader(&bed);
    pass(&bed, 2 * S);
    fake_lock_expect(&bed.lock, PL_LEASE_UPDATE); /* sent now */
    pass(&bed, 3 * S);
    fake_lock_answer(&bed.lock); /* answered 3 s later: that does not count */
    bed.serving = false;
    pass(&bed, 7 * S - 1);
    CHECK(pl_election_may_write(bed.election));
    CHECK_INT(bed.closed, 0);
    pass(&bed, 1);
    CHECK(!pl_election_may_write(bed.election));
    CHECK_INT(bed.closed, 1);
    CHECK(pl_election_is_leading(bed.election));
    CHECK_INT(bed.lost, 0);
    bed_deinit(&bed);
}

TEST(a_renewal_that_succeeds_after_the_closing_opens_again)
{
    struct bed bed;
    bed_init(&bed, false);
    become_leader(&bed);
    pass(&bed, 10500 * PL_MS); /* the request of second 2 hangs */
    CHECK_INT(bed.closed, 1);
    fake_lock_fail(&bed.lock, PL_ETIMEOUT, 0);
    step(&bed, PL_LEASE_GET);
    CHECK(!pl_election_may_write(bed.election)); /* our name in the Lease is not enough */
    step(&bed, PL_LEASE_UPDATE);
    CHECK_INT(bed.reopened, 1);
    pass(&bed, 5 * S);
    CHECK_INT(bed.lost, 0); /* the round has ended well */
    CHECK_INT(bed.closed, 1);
    bed_deinit(&bed);
}

TEST(a_late_success_that_is_over_already_does_not_open)
{
    struct bed bed;
    bed_init(&bed, false);
    become_leader(&bed);
    pass(&bed, 2 * S);
    fake_lock_expect(&bed.lock, PL_LEASE_UPDATE);
    suspend(&bed, 11 * S);
    fake_lock_answer(&bed.lock);
    CHECK_INT(bed.closed, 1); /* noticed before the answer was used */
    CHECK_INT(bed.reopened, 0);
    CHECK(!pl_election_may_write(bed.election));
    run(&bed);
    fake_lock_expect(&bed.lock, PL_LEASE_UPDATE); /* the next round at once */
    fake_lock_answer(&bed.lock);
    CHECK_INT(bed.reopened, 1);
    bed_deinit(&bed);
}

TEST(a_frozen_process_may_not_write_when_it_wakes_up)
{
    struct bed bed;
    bed_init(&bed, false);
    become_leader(&bed);
    suspend(&bed, 30 * S);
    CHECK(!pl_election_may_write(bed.election)); /* F45: before any timer has run */
    CHECK_INT(bed.closed, 0);
    others_hold(&bed, OTHER);
    bed.serving = true;
    pass(&bed, 2 * S);
    CHECK_INT(bed.lost, 1);
    CHECK_STR(bed.why, "other holds it");
    CHECK_STR(bed.leader, OTHER);
    bed_deinit(&bed);
}

TEST(a_renewal_that_was_carried_out_without_an_answer_does_not_end_the_lead)
{
    struct bed bed;
    bed_init(&bed, false);
    become_leader(&bed);
    for (int i = 0; i < 10; i++) {
        pass(&bed, 2 * S);
        fake_lock_expect(&bed.lock, PL_LEASE_UPDATE);
        fake_lock_lose(&bed.lock);
        step(&bed, PL_LEASE_GET);
        step(&bed, PL_LEASE_UPDATE);
        run(&bed);
    }
    CHECK_INT(bed.closed + bed.lost, 0);
    CHECK_INT(bed.server.record.transitions, 0);
    bed_deinit(&bed);
}

TEST(another_holder_seen_ends_the_lead_at_once)
{
    struct bed bed;
    bed_init(&bed, false);
    become_leader(&bed);
    others_hold(&bed, OTHER);
    bed.serving = true;
    pass(&bed, 2 * S);
    CHECK_INT(bed.lost, 1);
    CHECK_STR(bed.why, "other holds it");
    CHECK_STR(bed.server.record.holder, OTHER);
    bed_deinit(&bed);
}

TEST(a_lease_that_changed_hands_and_came_back_is_another_term)
{
    struct bed bed;
    bed_init(&bed, false);
    become_leader(&bed);
    others_hold(&bed, ""); /* another led and released while we saw nothing */
    bed.serving = true;
    pass(&bed, 2 * S);
    CHECK_INT(bed.lost, 1);
    CHECK_STR(bed.why, "it has changed hands in the meantime");
    bed_deinit(&bed);
}

TEST(an_answer_that_names_a_shorter_duration_is_taken_at_its_word)
{
    struct bed bed;
    bed_init(&bed, false);
    pl_election_campaign(bed.election);
    step(&bed, PL_LEASE_GET);
    fake_lock_expect(&bed.lock, PL_LEASE_CREATE);
    bed.lock.record.duration_s = 5; /* an admission webhook refuses it */
    fake_lock_answer(&bed.lock);
    CHECK_INT(bed.started, 1);
    pass(&bed, 5 * S - 1);
    CHECK(pl_election_may_write(bed.election));
    pass(&bed, 1);
    CHECK(!pl_election_may_write(bed.election));
    bed_deinit(&bed);
}

/* A component between us and the storage drops the field: each attempt would succeed and be
 * lost. */
TEST(an_answer_without_a_duration_is_a_failure_and_no_reason_to_hurry)
{
    struct bed bed;
    bed_init(&bed, false);
    pl_election_campaign(bed.election);
    step(&bed, PL_LEASE_GET);
    bed.lock.record.duration_s = 0;
    fake_lock_answer(&bed.lock);
    run(&bed);
    CHECK(!bed.lock.waiting);
    CHECK_INT(bed.started, 0);
    pass(&bed, 4400 * PL_MS);
    CHECK(bed.lock.waiting);
    bed_deinit(&bed);
}

TEST(renewals_are_told_apart_although_the_wall_clock_stands_still)
{
    struct bed bed;
    bed_init(&bed, false);
    become_leader(&bed);
    int64_t before = bed.server.record.renew_us;
    bed.serving = true;
    for (int i = 0; i < 5; i++) {
        pass(&bed, 2 * S);
        bed.clocks.wall_ns -= 2 * S;
        CHECK(i == 0 || bed.server.record.renew_us != before);
        before = bed.server.record.renew_us;
    }
    bed.clocks.wall_ns -= 7200 * S; /* set back by hours: the lead is followed, not contested */
    pass(&bed, 2 * S);
    CHECK(bed.server.record.renew_us < before);
    bed_deinit(&bed);
}

TEST_MAIN()
