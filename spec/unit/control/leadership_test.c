/* The effects of the lead on a manager with one leader-only controller and one for all replicas.
 * The test is the server of the lock. */
#include "bed_controller.h"
#include "unit/lead/fake_lock.h"

#include "control/edition.h"
#include "control/leadership.h"

struct scene {
    struct stage stage;
    struct lease_server server;
    struct fake_lock lock;
    struct pl_leadership *leadership;
    struct pl_controller *beat;
    struct fake_request *watch;
    bool deaf; /* the lock's server does not answer */
    int gained, lost, released;
    /* The arguments of on_written. */
    int written;
    struct pl_err err;
};

static void on_changed(void *arg, enum pl_lead_change change, const char *text)
{
    struct scene *scene = arg;
    scene->gained += change == PL_LEAD_GAINED;
    scene->lost += change == PL_LEAD_LOST && text[0] != '\0';
    scene->released += change == PL_LEAD_RELEASED;
}

static void run(struct scene *scene)
{
    bed_run(&scene->stage.bed);
    while (scene->lock.waiting && !scene->deaf) {
        fake_lock_answer(&scene->lock);
        bed_run(&scene->stage.bed);
    }
}

static void pass(struct scene *scene, int64_t ns)
{
    for (int64_t passed = 0; passed < ns; passed += 100 * PL_MS) {
        bed_pass(&scene->stage.bed, 100 * PL_MS);
        run(scene);
    }
}

static void add(struct scene *scene, const char *name, bool leader_election)
{
    struct pl_controller_spec spec = spec_of(name);
    spec.leader_election = leader_election;
    add_source(&spec, PL_SOURCE_FOR, "v1/ConfigMap", PL_MAP_SELF);
    struct pl_controller *controller = stage_add(&scene->stage, &spec);
    if (leader_election)
        scene->beat = controller;
}

static void begin(struct scene *scene, bool standby_on_loss)
{
    *scene = (struct scene){.written = 0};
    stage_init(&scene->stage);
    struct bed *bed = &scene->stage.bed;
    scene->lock = (struct fake_lock){.server = &scene->server, .timers = &bed->timers};
    struct pl_leadership_options options = {
        .cluster = bed->cluster,
        .election = {.lock = fake_lock(&scene->lock),
                     .timers = &bed->timers,
                     .clock = &bed->clock.clock,
                     .rand = &bed->rand,
                     .waits = &bed->waits,
                     .owner = "ns/perilune-beat",
                     .identity = "me",
                     .lease_duration_ns = 15 * PL_SECOND,
                     .renew_deadline_ns = 10 * PL_SECOND,
                     .retry_period_ns = 2 * PL_SECOND,
                     .release_on_exit = true,
                     .health_tolerance_ns = PL_ELECTION_TOLERANCE},
        .name = "perilune-beat",
        .standby_on_loss = standby_on_loss,
        .changed = on_changed,
        .arg = scene,
    };
    scene->leadership = pl_leadership_create(&options);
    pl_manager_destroy(scene->stage.manager); /* the manager of the stage has no leadership */
    struct pl_manager_options manager = {.cluster = bed->cluster,
                                         .grace_ns = 25 * PL_SECOND,
                                         .leadership = scene->leadership,
                                         .stopped = on_manager_stopped,
                                         .arg = &scene->stage};
    scene->stage.manager = pl_manager_create(&manager);
    add(scene, "beat", true);
}

/* The informer has synced: d/a is there, and nothing else. */
static void sync_sources(struct scene *scene)
{
    scene->watch =
        stage_sync(&scene->stage, "/api/v1/configmaps", BED_MAPS("10", BED_MAP("a", "1", "5", "")));
    run(scene);
}

static void begin_leading(struct scene *scene, bool standby_on_loss)
{
    begin(scene, standby_on_loss);
    pl_manager_start(scene->stage.manager);
    sync_sources(scene);
    REQUIRE(pl_leadership_is_leading(scene->leadership));
    check_log(&scene->stage.fake, "start d/a(ADDED);");
}

static void others_hold(struct scene *scene, const char *holder)
{
    struct pl_lease_record record = {.duration_s = 3600, .transitions = 7};
    snprintf(record.holder, sizeof record.holder, "%s", holder);
    if (scene->lock.watching && !scene->lock.open)
        fake_lock_open(&scene->lock);
    fake_lock_others_write(&scene->lock, &record);
    run(scene);
}

static void finish_run(struct scene *scene, enum pl_outcome outcome)
{
    fake_finish(&scene->stage.fake, "d/a", outcome);
    run(scene);
}

static void finish(struct scene *scene)
{
    scene->deaf = false;
    run(scene);
    while (fake_run(&scene->stage.fake, "d/a") != NULL)
        finish_run(scene, PL_OUTCOME_DONE);
    pl_manager_stop(scene->stage.manager);
    run(scene);
    /* An immediate end does not release informers, like the end of the process. */
    pl_cluster_stop(scene->stage.bed.cluster);
    run(scene);
    CHECK_INT(scene->stage.stopped, 1);
    pl_manager_destroy(scene->stage.manager);
    fake_deinit(&scene->stage.fake);
    pl_leadership_destroy(scene->leadership);
    bed_deinit(&scene->stage.bed);
}

static double status(struct scene *scene)
{
    struct pl_buf text = PL_BUF_INIT;
    pl_metrics_write(scene->stage.bed.metrics, &text);
    const char *line = strstr(pl_buf_z(&text), "leader_election_master_status{name=");
    REQUIRE(line != NULL);
    double value = strtod(strchr(line, ' '), NULL);
    pl_buf_deinit(&text);
    return value;
}

static void on_written(void *arg, const struct pl_written *written)
{
    struct scene *scene = arg;
    scene->written++;
    scene->err = written->err != NULL ? *written->err : (struct pl_err){.code = 0};
}

static void write_as_leader(struct scene *scene)
{
    struct pl_write write = {.verb = PL_VERB_DELETE,
                             .kind = kind_of("v1/ConfigMap"),
                             .ns = pl_slice_z("d"),
                             .name = pl_slice_z("n"),
                             .grace_period = -1,
                             .controller = pl_controller_writer(scene->beat)};
    scene->written = 0;
    pl_gate_write(pl_cluster_gate(scene->stage.bed.cluster), &write, on_written, scene);
    run(scene);
}

static void check_refused(struct scene *scene)
{
    run(scene);
    CHECK_INT(scene->written, 1);
    CHECK_INT(scene->err.code, PL_EREFUSED);
    CHECK_STR(scene->err.reason, "leader");
}

static void check_describes(struct scene *scene, const char *text)
{
    struct pl_buf got = PL_BUF_INIT;
    pl_leadership_describe(scene->leadership, &got);
    if (strstr(pl_buf_z(&got), text) == NULL)
        TEST_FAIL("\"%s\" does not say \"%s\"", pl_buf_z(&got), text);
    pl_buf_deinit(&got);
}

/* ---- tests ---- */

TEST(campaigning_begins_when_a_leader_only_controller_could_run)
{
    struct scene scene;
    begin(&scene, false);
    pl_manager_start(scene.stage.manager);
    run(&scene);
    CHECK_INT(scene.lock.started, 0);
    check_describes(&scene, "before a leader-only controller could run");
    sync_sources(&scene);
    CHECK(pl_leadership_is_leading(scene.leadership));
    CHECK_INT(scene.gained, 1);
    CHECK(status(&scene) == 1);
    CHECK_INT(scene.stage.fake.running, 1);
    check_describes(&scene, "leader of lease ns/perilune-beat as me");
    finish(&scene);
}

TEST(a_standby_is_warm_says_who_leads_and_starts_nothing)
{
    struct scene scene;
    begin(&scene, false);
    add(&scene, "anywhere", false);
    others_hold(&scene, "somebody");
    pl_manager_start(scene.stage.manager);
    sync_sources(&scene);
    CHECK(!pl_leadership_is_leading(scene.leadership));
    CHECK(pl_controller_is_standing_by(scene.beat));
    CHECK_INT(pl_workqueue_len(pl_controller_queue(scene.beat), scene.stage.bed.clock.now_ns), 1);
    CHECK_INT(scene.stage.fake.running, 1); /* the controller for all replicas */
    check_describes(&scene, "standby because somebody holds lease ns/perilune-beat");
    CHECK(status(&scene) == 0);
    pass(&scene, 200 * PL_SECOND); /* no cache_sync_timeout: it could start */
    CHECK_INT(scene.stage.stopped, 0);
    CHECK(pl_leadership_is_healthy(scene.leadership));
    fake_finish(&scene.stage.fake, "d/a", PL_OUTCOME_DONE);
    others_hold(&scene, ""); /* released: the next one leads at once */
    CHECK(pl_leadership_is_leading(scene.leadership));
    CHECK_INT(scene.stage.fake.running, 1);
    finish(&scene);
}

TEST(rule_124_a_lost_lead_skips_the_grace_and_ends_with_3)
{
    struct scene scene;
    begin_leading(&scene, false);
    write_as_leader(&scene);
    struct fake_request *request = bed_expect(&scene.stage.bed, "DELETE", "/api/v1/");
    others_hold(&scene, "thief");
    pass(&scene, 3 * PL_SECOND); /* the next renewal sees it at the latest */
    CHECK_INT(scene.stage.stopped, 1);
    CHECK_INT(scene.stage.exit_code, 3);
    CHECK_INT(scene.lost, 1);
    CHECK(request->canceled);
    check_refused(&scene);
    CHECK_INT(scene.stage.fake.running, 1); /* nobody waited for it */
    CHECK_STR(scene.server.record.holder, "thief");
    finish(&scene);
}

TEST(f34_the_fence_closes_at_the_deadline_whatever_hangs_and_opens_after_a_late_renewal)
{
    struct scene scene;
    begin_leading(&scene, false);
    pass(&scene, 5 * PL_SECOND);
    scene.deaf = true;
    pass(&scene, 8 * PL_SECOND);
    write_as_leader(&scene);
    struct fake_request *request = bed_expect(&scene.stage.bed, "DELETE", "/api/v1/");
    pass(&scene, 2200 * PL_MS); /* past the deadline after the last renewal was sent */
    CHECK(request->canceled);
    fake_fail(request, PL_ENETWORK, "ConnectionReset"); /* without this the test would hang */
    check_refused(&scene);
    CHECK(pl_leadership_is_leading(scene.leadership));
    CHECK_INT(scene.stage.stopped, 0);
    check_describes(&scene, "writes stopped");
    write_as_leader(&scene);
    check_refused(&scene);
    scene.deaf = false;
    run(&scene);
    write_as_leader(&scene);
    bed_reply(&scene.stage.bed, bed_expect(&scene.stage.bed, "DELETE", "/api/v1/"), 404,
              BED_STATUS(404, "NotFound"));
    CHECK_INT(scene.written, 1);
    CHECK_INT(scene.err.code, 0);
    CHECK_INT(scene.stage.fake.running, 1); /* its run was not interrupted */
    finish(&scene);
}

TEST(with_standby_a_loss_cancels_runs_and_campaigns_once_they_have_ended)
{
    struct scene scene;
    begin_leading(&scene, true);
    others_hold(&scene, "thief");
    pass(&scene, 3 * PL_SECOND);
    check_log(&scene.stage.fake, "cancel d/a ECANCELED;");
    CHECK_INT(scene.stage.stopped, 0);
    CHECK(status(&scene) == 0);
    int asked = scene.lock.started;
    others_hold(&scene, "");
    pass(&scene, 30 * PL_SECOND);
    CHECK_INT(scene.lock.started, asked); /* a run of the old lead is still there */
    CHECK(!pl_leadership_is_leading(scene.leadership));
    finish_run(&scene, PL_OUTCOME_CANCELED);
    CHECK(pl_leadership_is_leading(scene.leadership));
    CHECK_INT(scene.gained, 2);
    check_log(&scene.stage.fake, "start d/a(RETRY);");
    CHECK(bed_is_quiet(&scene.stage.bed)); /* no list, no watch */
    finish(&scene);
}

/* Two leader-only controllers lose the lead while the first one's run goes on. Then another
 * generation takes over: it has the second controller and, with `kept`, the first one, which then
 * waits for a kind that never appears. */
static void take_over_while_a_run_ends(bool kept)
{
    struct scene scene;
    struct pl_edition *next[2] = {NULL};
    begin(&scene, true);
    struct pl_controller_spec other = spec_of("other");
    other.leader_election = true;
    add_source(&other, PL_SOURCE_FOR, "v1/Pod", PL_MAP_SELF);
    stage_add(&scene.stage, &other);
    pl_manager_start(scene.stage.manager);
    sync_sources(&scene);
    stage_sync(&scene.stage, "/api/v1/pods", BED_LIST("Pod", "10", "", ));
    run(&scene);
    REQUIRE(pl_leadership_is_leading(scene.leadership) && scene.stage.fake.running == 1);
    others_hold(&scene, "thief");
    pass(&scene, 3 * PL_SECOND);
    others_hold(&scene, "");
    for (int i = 0; i < 2; i++) {
        struct pl_controller_options options = {
            .cluster = scene.stage.bed.cluster, .ops = &fake_ops, .self = &scene.stage.fake};
        struct pl_controller_spec spec = spec_of(i == 0 ? "other" : "beat");
        spec.leader_election = true;
        add_source(&spec, PL_SOURCE_FOR, i == 0 ? "v1/Pod" : "v1/ConfigMap", PL_MAP_SELF);
        if (i == 1)
            add_source(&spec, PL_SOURCE_READS, "v1/Node", PL_MAP_SELF);
        next[i] = pl_edition_create(&options, &spec);
        pl_edition_open(next[i], NULL, NULL);
    }
    run(&scene);
    pl_manager_switch(scene.stage.manager,
                      (struct pl_takeover[]){{next[0], false}, {next[1], false}}, 1 + kept);
    pass(&scene, 5 * PL_SECOND);
    CHECK(!pl_leadership_is_leading(scene.leadership));
    finish_run(&scene, PL_OUTCOME_CANCELED);
    CHECK(pl_leadership_is_leading(scene.leadership));
    pl_edition_unref(next[0]);
    pl_edition_unref(next[1]);
    pl_buf_clear(&scene.stage.fake.log);
    finish(&scene);
}

TEST(with_standby_the_last_run_of_a_controller_that_is_gone_is_waited_for_too)
{
    take_over_while_a_run_ends(false);
}

TEST(with_standby_a_controller_that_is_not_ready_holds_up_nobody_once_its_runs_have_ended)
{
    take_over_while_a_run_ends(true);
}

TEST(rule_125_the_lease_is_released_when_runs_have_ended_and_not_before)
{
    struct scene scene;
    begin_leading(&scene, false);
    pl_manager_stop(scene.stage.manager);
    pass(&scene, 15 * PL_SECOND); /* longer than a renewal lasts */
    CHECK(pl_leadership_is_leading(scene.leadership));
    CHECK_STR(scene.server.record.holder, "me");
    CHECK_INT(scene.stage.stopped, 0);
    finish_run(&scene, PL_OUTCOME_DONE);
    CHECK_STR(scene.server.record.holder, "");
    CHECK_INT(scene.stage.stopped, 1);
    CHECK_INT(scene.stage.exit_code, 0);
    CHECK_INT(scene.released, 1);
    finish(&scene);
}

TEST(rule_125_it_is_released_as_well_when_the_grace_ran_out_and_nothing_can_be_written)
{
    struct scene scene;
    begin_leading(&scene, false);
    pl_manager_stop(scene.stage.manager);
    pass(&scene, 26 * PL_SECOND);
    CHECK(!pl_gate_is_open(pl_cluster_gate(scene.stage.bed.cluster)));
    CHECK_STR(scene.server.record.holder, "");
    CHECK_INT(scene.stage.exit_code, 1);
    finish(&scene);
}

TEST(f35_a_standby_that_stops_does_not_become_leader)
{
    struct scene scene;
    begin(&scene, false);
    add(&scene, "anywhere", false); /* its run delays the end */
    others_hold(&scene, "somebody");
    pl_manager_start(scene.stage.manager);
    sync_sources(&scene);
    pl_manager_stop(scene.stage.manager);
    run(&scene);
    others_hold(&scene, "");
    pass(&scene, 10 * PL_SECOND);
    CHECK_INT(scene.gained, 0);
    CHECK_STR(scene.server.record.holder, "");
    CHECK_INT(scene.stage.stopped, 0);
    finish_run(&scene, PL_OUTCOME_DONE);
    CHECK_INT(scene.stage.exit_code, 0);
    CHECK_INT(scene.stage.fake.started, 1);
    finish(&scene);
}

/* Rule 125 across a reload: the run began in this lead, and must not write in the next one. */
TEST(a_leaders_run_is_cancelled_with_the_lead_though_the_scripts_of_today_let_it_run_anywhere)
{
    struct scene scene;
    begin_leading(&scene, true);
    struct pl_controller_spec spec = spec_of("beat");
    add_source(&spec, PL_SOURCE_FOR, "v1/ConfigMap", PL_MAP_SELF);
    struct pl_controller_options options = {
        .cluster = scene.stage.bed.cluster, .ops = &fake_ops, .self = &scene.stage.fake};
    struct pl_takeover next = {pl_edition_create(&options, &spec), false};
    pl_edition_open(next.edition, NULL, NULL);
    pl_manager_switch(scene.stage.manager, &next, 1);
    pl_edition_unref(next.edition);
    run(&scene);
    check_log(&scene.stage.fake, "");
    CHECK_INT(pl_controller_running_as_leader(scene.beat), 1);
    others_hold(&scene, "other");
    pass(&scene, 3 * PL_SECOND); /* the next renewal */
    CHECK_INT(scene.lost, 1);
    check_log(&scene.stage.fake, "cancel d/a ECANCELED;");
    finish_run(&scene, PL_OUTCOME_DONE);
    CHECK_INT(pl_controller_running_as_leader(scene.beat), 0);
    bed_stream(&scene.stage.bed, scene.watch, BED_EVENT("MODIFIED", BED_MAP("a", "1", "11", "")));
    check_log(&scene.stage.fake, "start d/a(MODIFIED);");
    finish(&scene);
}

TEST(rule_112_is_asked_of_the_times_alone)
{
    struct pl_err err;
    CHECK_INT(pl_leadership_check_times(15 * PL_SECOND, 10 * PL_SECOND, 2 * PL_SECOND, &err), 0);
    CHECK_INT(pl_leadership_check_times(10 * PL_SECOND, 10 * PL_SECOND, 2 * PL_SECOND, &err),
              PL_EINVAL);
    CHECK_INT(pl_leadership_check_times(15 * PL_SECOND, 2 * PL_SECOND, 2 * PL_SECOND, &err),
              PL_EINVAL);
}

TEST_MAIN()
