/* Runs that are handed over before there is room for them. The test is the lane: a run ends there,
 * the following one begins, and the controller learns of both later. */
#include "bed_controller.h"

#include "write/pause.h"
#include "control/report.h"

#define ENDED_MAX 16

struct lane {
    struct fake_reconciler fake; /* must be first: the bed's functions cast to it */
    struct {
        struct pl_run *run, *next;
    } pairs[FAKE_RUNS];
    size_t pair_count;
    struct pl_run *ended[ENDED_MAX]; /* and the controller does not know */
    size_t ended_count;
};

static bool has_ended(const struct lane *lane, const struct pl_run *run)
{
    for (size_t i = 0; i < lane->ended_count; i++)
        if (lane->ended[i] == run)
            return true;
    return false;
}

static bool lane_follow(void *self, struct pl_run *run, struct pl_run *next)
{
    struct lane *lane = self;
    if (has_ended(lane, run))
        return false;
    REQUIRE(lane->pair_count < FAKE_RUNS);
    lane->pairs[lane->pair_count].run = run;
    lane->pairs[lane->pair_count++].next = next;
    pl_buf_add_f(&lane->fake.log, "follow %.*s;", PL_FMT(next->key));
    return true;
}

/* Forgets the pair. */
static struct pl_run *take_next(struct lane *lane, const struct pl_run *run)
{
    for (size_t i = 0; i < lane->pair_count; i++) {
        if (lane->pairs[i].run != run)
            continue;
        struct pl_run *next = lane->pairs[i].next;
        lane->pairs[i] = lane->pairs[--lane->pair_count];
        return next;
    }
    return NULL;
}

static bool lane_unfollow(void *self, struct pl_run *run, struct pl_run *next)
{
    struct lane *lane = self;
    if (has_ended(lane, run))
        return false;
    CHECK(take_next(lane, run) == next);
    pl_buf_add_f(&lane->fake.log, "unfollow %.*s;", PL_FMT(next->key));
    return true;
}

static const struct pl_reconciler_ops lane_ops = {.start = fake_start,
                                                  .cancel = fake_cancel,
                                                  .follow = lane_follow,
                                                  .unfollow = lane_unfollow,
                                                  .gone = fake_gone,
                                                  .ask = fake_ask};

/* On the lane: the run ends and the next one begins. */
static void end_on_lane(struct lane *lane, const char *key)
{
    struct pl_run *run = fake_run(&lane->fake, key);
    REQUIRE(run != NULL && lane->ended_count < ENDED_MAX);
    struct pl_run *next = take_next(lane, run);
    lane->ended[lane->ended_count++] = run;
    if (next != NULL)
        fake_start(lane, next);
}

/* The controller learns of it. */
static void tell_end(struct lane *lane, const char *key)
{
    struct pl_run *run = fake_run(&lane->fake, key);
    REQUIRE(run != NULL && has_ended(lane, run));
    fake_finish(&lane->fake, key, PL_OUTCOME_DONE);
    for (size_t i = 0; i < lane->ended_count; i++)
        if (lane->ended[i] == run)
            lane->ended[i] = lane->ended[--lane->ended_count];
}

static void end_run(struct lane *lane, const char *key)
{
    end_on_lane(lane, key);
    tell_end(lane, key);
}

struct scene {
    struct stage stage;
    struct lane lane;
    struct pl_controller *controller;
    struct fake_request *watch;
};

static void begin_with(struct scene *scene, struct pl_controller_spec *spec)
{
    *scene = (struct scene){0};
    stage_init(&scene->stage);
    fake_init(&scene->lane.fake);
    add_source(spec, PL_SOURCE_FOR, "v1/ConfigMap", PL_MAP_SELF);
    struct pl_controller_options options = {
        .cluster = scene->stage.bed.cluster, .ops = &lane_ops, .self = &scene->lane};
    scene->controller = pl_controller_create(&options, spec);
    pl_manager_add(scene->stage.manager, scene->controller);
    pl_manager_start(scene->stage.manager);
    scene->watch = stage_sync(&scene->stage, "/api/v1/configmaps", BED_MAPS("10", ""));
}

static void begin(struct scene *scene)
{
    struct pl_controller_spec spec = spec_of("maps");
    begin_with(scene, &spec);
}

static void change(struct scene *scene, const char *name, const char *uid, const char *version)
{
    char line[512];
    snprintf(line, sizeof line,
             "{\"type\":\"MODIFIED\",\"object\":{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\","
             "\"metadata\":{\"name\":\"%s\",\"namespace\":\"d\",\"uid\":\"%s\","
             "\"resourceVersion\":\"%s\"}}}\n",
             name, uid, version);
    bed_stream(&scene->stage.bed, scene->watch, line);
}

static void run_loop(struct scene *scene)
{
    bed_run(&scene->stage.bed);
}

static void end(struct scene *scene)
{
    pl_manager_stop(scene->stage.manager);
    run_loop(scene);
    for (int i = 0; i < FAKE_RUNS; i++)
        while (scene->lane.fake.runs[i] != NULL) {
            char *key =
                pl_memdup0(scene->lane.fake.runs[i]->key.ptr, scene->lane.fake.runs[i]->key.len);
            end_run(&scene->lane, key);
            pl_free(key);
            run_loop(scene);
        }
    CHECK_INT(scene->lane.pair_count, 0);
    fake_deinit(&scene->lane.fake);
    stage_deinit(&scene->stage);
}

/* a and b have ended without waiting; c runs and is followed by d and e. */
static void begin_in_full_swing(struct scene *scene)
{
    begin(scene);
    change(scene, "a", "1", "11");
    change(scene, "b", "2", "12");
    change(scene, "c", "3", "13");
    change(scene, "d", "4", "14");
    change(scene, "e", "5", "15");
    change(scene, "f", "6", "16");
    check_log(&scene->lane.fake, "start d/a(ADDED);");
    end_run(&scene->lane, "d/a");
    run_loop(scene);
    check_log(&scene->lane.fake, "start d/b(ADDED);follow d/c;");
    end_run(&scene->lane, "d/b");
    run_loop(scene);
    check_log(&scene->lane.fake, "start d/c(ADDED);follow d/d;follow d/e;");
}

/* a has ended without waiting; b and c run, and c is followed by d. */
static void begin_with_two_workers(struct scene *scene)
{
    struct pl_controller_spec spec = spec_of("maps");
    spec.max_concurrent = 2;
    begin_with(scene, &spec);
    change(scene, "a", "1", "11");
    change(scene, "b", "2", "12");
    change(scene, "c", "3", "13");
    change(scene, "d", "4", "14");
    end_run(&scene->lane, "d/a");
    run_loop(scene);
    check_log(&scene->lane.fake, "start d/a(ADDED);start d/b(ADDED);start d/c(ADDED);follow d/d;");
}

/* The caller's reference. */
static struct pl_edition *adopt_other_code(struct scene *scene)
{
    struct pl_controller_spec spec = spec_of("maps");
    add_source(&spec, PL_SOURCE_FOR, "v1/ConfigMap", PL_MAP_SELF);
    struct pl_controller_options options = {
        .cluster = scene->stage.bed.cluster, .ops = &lane_ops, .self = &scene->lane};
    struct pl_edition *edition = pl_edition_create(&options, &spec);
    pl_edition_open(edition, NULL, NULL);
    run_loop(scene);
    pl_controller_adopt(scene->controller, edition, false);
    return edition;
}

TEST(the_more_runs_have_not_waited_the_more_follow_and_never_beside_one)
{
    struct scene scene;
    begin_in_full_swing(&scene);
    CHECK_INT(pl_controller_in_flight(scene.controller), 1);
    end_on_lane(&scene.lane, "d/c");
    end_on_lane(&scene.lane, "d/d");
    check_log(&scene.lane.fake, "start d/d(ADDED);start d/e(ADDED);");
    tell_end(&scene.lane, "d/c");
    tell_end(&scene.lane, "d/d");
    CHECK_INT(pl_controller_in_flight(scene.controller), 1);
    run_loop(&scene);
    check_log(&scene.lane.fake, "follow d/f;");
    end_run(&scene.lane, "d/e");
    end_run(&scene.lane, "d/f");
    run_loop(&scene);
    CHECK_INT(pl_controller_in_flight(scene.controller), 0);
    check_log(&scene.lane.fake, "start d/f(ADDED);");
    end(&scene);
}

TEST(a_run_that_waits_is_followed_by_one_where_nobody_else_could_begin_it)
{
    struct scene scene;
    begin_in_full_swing(&scene);
    pl_run_waits(fake_run(&scene.lane.fake, "d/c"));
    check_log(&scene.lane.fake, "unfollow d/e;unfollow d/d;");
    run_loop(&scene);
    check_log(&scene.lane.fake, "follow d/d;");
    struct pl_key_report report;
    pl_controller_report_key(scene.controller, pl_slice_z("d/d"), &report);
    CHECK(report.queued.ready && !report.queued.running);
    end_run(&scene.lane, "d/c");
    run_loop(&scene);
    check_log(&scene.lane.fake, "start d/d(ADDED);follow d/e;");
    pl_run_waits(fake_run(&scene.lane.fake, "d/d"));
    run_loop(&scene);
    check_log(&scene.lane.fake, "");
    end_run(&scene.lane, "d/d");
    run_loop(&scene);
    check_log(&scene.lane.fake, "start d/e(ADDED);follow d/f;");
    end_run(&scene.lane, "d/e");
    end_run(&scene.lane, "d/f");
    run_loop(&scene);
    check_log(&scene.lane.fake, "start d/f(ADDED);");
    end(&scene);
}

TEST(a_run_that_waits_long_loses_its_follower_too)
{
    struct scene scene;
    begin_in_full_swing(&scene);
    pl_run_waits(fake_run(&scene.lane.fake, "d/c"));
    run_loop(&scene);
    check_log(&scene.lane.fake, "unfollow d/e;unfollow d/d;follow d/d;");
    bed_pass(&scene.stage.bed, 10 * PL_MS);
    check_log(&scene.lane.fake, "unfollow d/d;");
    bed_pass(&scene.stage.bed, PL_SECOND);
    check_log(&scene.lane.fake, "");
    end_run(&scene.lane, "d/c");
    run_loop(&scene);
    check_log(&scene.lane.fake, "start d/d(ADDED);");
    end(&scene);
}

TEST(with_several_workers_none_follows_a_run_that_waits)
{
    struct scene scene;
    begin_with_two_workers(&scene);
    pl_run_waits(fake_run(&scene.lane.fake, "d/c"));
    run_loop(&scene);
    check_log(&scene.lane.fake, "unfollow d/d;");
    end_run(&scene.lane, "d/c");
    run_loop(&scene);
    check_log(&scene.lane.fake, "start d/d(ADDED);");
    end(&scene);
}

TEST(one_that_has_begun_when_it_is_to_be_taken_back_goes_on)
{
    struct scene scene;
    begin_in_full_swing(&scene);
    end_on_lane(&scene.lane, "d/c"); /* and the controller does not know */
    pl_controller_take_back(scene.controller);
    check_log(&scene.lane.fake, "start d/d(ADDED);unfollow d/e;");
    CHECK_INT(pl_controller_in_flight(scene.controller), 2);
    run_loop(&scene);
    check_log(&scene.lane.fake, "");
    tell_end(&scene.lane, "d/c");
    end_run(&scene.lane, "d/d");
    run_loop(&scene);
    check_log(&scene.lane.fake, "start d/e(ADDED);follow d/f;");
    end(&scene);
}

TEST(what_happens_to_a_key_that_follows_is_told_to_one_more_run)
{
    struct scene scene;
    begin_in_full_swing(&scene);
    change(&scene, "d", "4", "21");
    end_run(&scene.lane, "d/c");
    run_loop(&scene);
    check_log(&scene.lane.fake, "start d/d(ADDED);follow d/f;");
    end_run(&scene.lane, "d/d");
    run_loop(&scene);
    check_log(&scene.lane.fake, "start d/e(ADDED);follow d/d;");
    end_run(&scene.lane, "d/e");
    end_run(&scene.lane, "d/f");
    check_log(&scene.lane.fake, "start d/f(ADDED);start d/d(MODIFIED);");
    end(&scene);
}

TEST(a_key_that_is_taken_back_keeps_its_causes)
{
    struct scene scene;
    begin_in_full_swing(&scene);
    change(&scene, "d", "4", "21");
    pl_run_waits(fake_run(&scene.lane.fake, "d/c"));
    end_run(&scene.lane, "d/c");
    run_loop(&scene);
    check_log(&scene.lane.fake, "unfollow d/e;unfollow d/d;start d/d(ADDED,MODIFIED);follow d/e;");
    end(&scene);
}

TEST(a_run_that_lasts_loses_its_followers_after_10_ms)
{
    struct scene scene;
    begin_in_full_swing(&scene);
    bed_pass(&scene.stage.bed, 9 * PL_MS);
    check_log(&scene.lane.fake, "");
    bed_pass(&scene.stage.bed, PL_MS);
    check_log(&scene.lane.fake, "unfollow d/e;unfollow d/d;");
    end_run(&scene.lane, "d/c");
    run_loop(&scene);
    check_log(&scene.lane.fake, "start d/d(ADDED);follow d/e;follow d/f;");
    end(&scene);
}

TEST(a_stop_starts_nothing_that_follows_but_what_is_queued_is_not_lost_to_the_lead)
{
    struct scene scene;
    begin_in_full_swing(&scene);
    pl_controller_set_may_run(scene.controller, false);
    run_loop(&scene);
    check_log(&scene.lane.fake, "unfollow d/e;unfollow d/d;cancel d/c ECANCELED;");
    end_run(&scene.lane, "d/c");
    run_loop(&scene);
    check_log(&scene.lane.fake, "");
    pl_controller_set_may_run(scene.controller, true);
    run_loop(&scene);
    check_log(&scene.lane.fake, "start d/d(ADDED);follow d/e;");
    end(&scene);
}

/* The old code's run ends, and the next key is the other's. */
static void end_with_other_code(struct scene *scene, struct pl_edition *edition)
{
    end_run(&scene->lane, "d/c");
    run_loop(scene);
    CHECK(fake_run(&scene->lane.fake, "d/d")->edition == edition);
    pl_edition_unref(edition);
    pl_buf_clear(&scene->lane.fake.log);
    end(scene);
}

TEST(other_code_runs_what_had_been_handed_to_the_old)
{
    struct scene scene;
    begin_in_full_swing(&scene);
    struct pl_edition *edition = adopt_other_code(&scene);
    check_log(&scene.lane.fake, "unfollow d/e;unfollow d/d;");
    end_with_other_code(&scene, edition);
}

TEST(nothing_follows_a_run_of_old_code_that_waits)
{
    struct scene scene;
    begin_in_full_swing(&scene);
    struct pl_edition *edition = adopt_other_code(&scene);
    pl_run_waits(fake_run(&scene.lane.fake, "d/c"));
    run_loop(&scene);
    check_log(&scene.lane.fake, "unfollow d/e;unfollow d/d;");
    end_with_other_code(&scene, edition);
}

TEST(with_room_for_another_run_nothing_waits_for_one_to_end)
{
    struct scene scene;
    begin_with_two_workers(&scene);
    end_run(&scene.lane, "d/b");
    run_loop(&scene);
    check_log(&scene.lane.fake, "unfollow d/d;start d/d(ADDED);");
    end(&scene);
}

TEST(a_paused_key_does_not_follow)
{
    struct scene scene;
    begin(&scene);
    change(&scene, "a", "1", "11");
    change(&scene, "b", "2", "12");
    bed_stream(&scene.stage.bed, scene.watch,
               "{\"type\":\"ADDED\",\"object\":{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\","
               "\"metadata\":{\"name\":\"c\",\"namespace\":\"d\",\"uid\":\"3\","
               "\"resourceVersion\":\"13\",\"annotations\":{\"" PL_PAUSED_ANNOTATION
               "\":\"true\"}}}}\n");
    end_run(&scene.lane, "d/a");
    run_loop(&scene);
    end_run(&scene.lane, "d/b");
    run_loop(&scene);
    check_log(&scene.lane.fake, "start d/a(ADDED);start d/b(ADDED);");
    struct pl_key_report report;
    pl_controller_report_key(scene.controller, pl_slice_z("d/c"), &report);
    CHECK(report.paused);
    end(&scene);
}

TEST_MAIN()
