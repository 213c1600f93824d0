/* The runs of a candidate beside those of the running controller, and when the two are compared. */
#include "bed_controller.h"

#include "control/rehearsal.h"

#define LIST "/api/v1/configmaps"

struct scene {
    struct stage stage;
    struct fake_reconciler next;
    struct pl_controller *controller;
    struct pl_edition *edition; /* the candidate's */
    struct pl_rehearsal *rehearsal;
    struct fake_request *watch;
    struct pl_buf log; /* "d/a rest;d/b follows 2 1 failed:message;" */
};

static void compared(void *arg, const struct pl_rehearsed *rehearsed)
{
    struct scene *scene = arg;
    pl_buf_add_f(&scene->log, "%.*s ", PL_FMT(rehearsed->key));
    if (rehearsed->running == NULL)
        pl_buf_add_z(&scene->log, "rest");
    else
        pl_buf_add_f(&scene->log, "follows %zu", pl_capture_count(rehearsed->running));
    pl_buf_add_f(&scene->log, " %zu%s%s;", pl_capture_count(rehearsed->candidate),
                 rehearsed->running_failed ? " failing" : "",
                 rehearsed->error != NULL ? rehearsed->error : "");
}

static void check_compared(struct scene *scene, const char *want)
{
    CHECK_SLICE(pl_buf_slice(&scene->log), want);
    pl_buf_clear(&scene->log);
}

static struct pl_controller_spec maps_spec(const char *name)
{
    struct pl_controller_spec spec = spec_of(name);
    spec.max_concurrent = 4;
    add_source(&spec, PL_SOURCE_FOR, "v1/ConfigMap", PL_MAP_SELF);
    return spec;
}

/* a, b and p, which is paused, are there; the running controller has reconciled a and b. */
static void scene_init(struct scene *scene)
{
    *scene = (struct scene){.rehearsal = NULL};
    stage_init(&scene->stage);
    fake_init(&scene->next);
    struct pl_controller_spec spec = maps_spec("maps");
    scene->controller = stage_add(&scene->stage, &spec);
    pl_manager_start(scene->stage.manager);
    scene->watch =
        stage_sync(&scene->stage, LIST,
                   BED_MAPS("5", BED_MAP("a", "u1", "3", "") "," BED_MAP("b", "u2", "4", "")));
    fake_finish(&scene->stage.fake, "d/a", PL_OUTCOME_DONE);
    fake_finish(&scene->stage.fake, "d/b", PL_OUTCOME_DONE);
    bed_run(&scene->stage.bed);
    pl_buf_clear(&scene->stage.fake.log);
}

static void open_edition(struct scene *scene, const char *name)
{
    struct pl_controller_spec next = maps_spec(name);
    struct pl_controller_options options = {
        .cluster = scene->stage.bed.cluster, .ops = &fake_ops, .self = &scene->next};
    scene->edition = pl_edition_create(&options, &next);
    pl_edition_open(scene->edition, NULL, NULL);
}

static void rehearse(struct scene *scene, bool declared, struct pl_controller *running)
{
    if (declared)
        open_edition(scene, "maps");
    struct pl_rehearsal_options options = {.cluster = scene->stage.bed.cluster,
                                           .ops = &fake_ops,
                                           .self = &scene->next,
                                           .edition = scene->edition,
                                           .running = running,
                                           .compared = compared,
                                           .arg = scene};
    scene->rehearsal = pl_rehearsal_create(&options);
    bed_run(&scene->stage.bed);
}

static void end_next(struct scene *scene, const char *key)
{
    fake_finish(&scene->next, key, PL_OUTCOME_DONE);
    bed_run(&scene->stage.bed);
}

static void end_running(struct scene *scene, const char *key)
{
    fake_finish(&scene->stage.fake, key, PL_OUTCOME_DONE);
    bed_run(&scene->stage.bed);
}

static void scene_deinit(struct scene *scene)
{
    pl_rehearsal_stop(scene->rehearsal);
    bed_run(&scene->stage.bed);
    CHECK(pl_rehearsal_is_quiet(scene->rehearsal));
    pl_rehearsal_destroy(scene->rehearsal);
    pl_edition_unref(scene->edition);
    fake_deinit(&scene->next);
    pl_buf_deinit(&scene->log);
    stage_deinit(&scene->stage);
}

/* Both keys at rest were looked at. */
static void scene_settle(struct scene *scene)
{
    end_next(scene, "d/a");
    end_next(scene, "d/b");
    check_compared(scene, "d/a rest 0;d/b rest 0;");
    pl_buf_clear(&scene->next.log);
}

/* Both, in whichever order the store was walked. */
static void check_cancelled(struct scene *scene, const char *code)
{
    char a[60], b[60];
    snprintf(a, sizeof a, "cancel d/a %s;", code);
    snprintf(b, sizeof b, "cancel d/b %s;", code);
    const char *log = pl_buf_z(&scene->next.log);
    CHECK(strstr(log, a) != NULL && strstr(log, b) != NULL);
    CHECK_INT(strlen(log), strlen(a) + strlen(b));
    pl_buf_clear(&scene->next.log);
}

static void note(struct pl_run *run, const char *name)
{
    pl_capture_note(run->capture, "event", name, pl_slice("", 0));
}

TEST(each_key_at_rest_is_run_once_and_paused_ones_are_not)
{
    struct scene scene;
    scene_init(&scene);
    bed_stream(&scene.stage.bed, scene.watch,
               BED_EVENT("ADDED", "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{"
                                  "\"name\":\"p\",\"namespace\":\"d\",\"uid\":\"u3\","
                                  "\"resourceVersion\":\"6\",\"annotations\":{\"perilune.dev/"
                                  "paused\":\"true\"}}}"));
    rehearse(&scene, true, scene.controller);
    CHECK_INT(scene.next.started, 2);
    scene_settle(&scene);
    bed_pass(&scene.stage.bed, 10 * PL_SECOND); /* a result is no reason to run again */
    CHECK_INT(scene.next.started, 2);
    CHECK(bed_is_quiet(&scene.stage.bed));
    struct pl_rehearsal_stats stats;
    pl_rehearsal_stats(scene.rehearsal, &stats);
    CHECK_INT(stats.runs, 2);
    CHECK_INT(stats.pending, 0);
    CHECK(!stats.walking);
    check_log(&scene.stage.fake, ""); /* the running controller does not notice */
    scene_deinit(&scene);
}

TEST(a_run_is_followed_by_one_that_sees_what_the_first_found)
{
    struct scene scene;
    scene_init(&scene);
    rehearse(&scene, true, scene.controller);
    scene_settle(&scene);
    bed_stream(&scene.stage.bed, scene.watch,
               BED_EVENT("MODIFIED", BED_MAP("a", "u1", "6", ",\"data\":{\"x\":\"1\"}")));
    struct pl_kind pod = kind_of("v1/Pod"), map = kind_of("v1/ConfigMap");
    struct pl_run *run = fake_run(&scene.stage.fake, "d/a");
    REQUIRE(run != NULL && run->capture != NULL);
    note(run, "told");
    pl_capture_show(run->capture, &pod, pl_slice_z("d/child"), NULL, true);
    CHECK_INT(scene.next.running, 0); /* when it has ended */
    end_running(&scene, "d/a");
    struct pl_run *next = fake_run(&scene.next, "d/a");
    REQUIRE(next != NULL);
    /* The object has changed meanwhile; this run sees it as the first run did. */
    bed_stream(&scene.stage.bed, scene.watch,
               BED_EVENT("MODIFIED", BED_MAP("a", "u1", "7", ",\"data\":{\"x\":\"2\"}")));
    struct pl_doc *seen = NULL;
    struct pl_scratch scratch;
    CHECK(pl_capture_sees(next->capture, &map, pl_slice_z("d/a"), &seen));
    CHECK_SLICE(pl_meta_rv(pl_doc_root(seen), &scratch), "6");
    pl_doc_unref(seen);
    CHECK(pl_capture_sees(next->capture, &pod, pl_slice_z("d/child"), &seen));
    CHECK(seen == NULL);
    end_running(&scene, "d/a");
    CHECK_INT(scene.next.running, 1); /* never one key twice at once */
    end_next(&scene, "d/a");
    check_compared(&scene, "d/a follows 1 0;");
    end_next(&scene, "d/a");
    check_compared(&scene, "d/a follows 0 0;");
    scene_deinit(&scene);
}

TEST(a_key_that_the_running_controller_works_on_is_not_compared_with_rest)
{
    struct scene scene;
    scene_init(&scene);
    bed_stream(&scene.stage.bed, scene.watch, BED_EVENT("MODIFIED", BED_MAP("a", "u1", "6", "")));
    rehearse(&scene, true, scene.controller);
    check_log(&scene.next, "start d/b(RELOAD);");
    bed_stream(&scene.stage.bed, scene.watch, BED_EVENT("MODIFIED", BED_MAP("b", "u2", "7", "")));
    end_next(&scene, "d/b"); /* disturbed */
    check_compared(&scene, "");
    end_running(&scene, "d/a"); /* began before the comparison: nothing is known of it */
    end_running(&scene, "d/b");
    bed_pass(&scene.stage.bed, PL_SECOND);
    end_next(&scene, "d/b");
    end_next(&scene, "d/a");
    check_compared(&scene, "d/b follows 0 0;d/a rest 0;");
    scene_deinit(&scene);
}

TEST(failures_of_both_are_told)
{
    struct scene scene;
    scene_init(&scene);
    rehearse(&scene, true, scene.controller);
    fake_finish(&scene.next, "d/a", PL_OUTCOME_ERROR);
    end_next(&scene, "d/b");
    check_compared(&scene, "d/a rest 0it went wrong;d/b rest 0;");
    bed_stream(&scene.stage.bed, scene.watch, BED_EVENT("MODIFIED", BED_MAP("a", "u1", "6", "")));
    fake_finish(&scene.stage.fake, "d/a", PL_OUTCOME_ERROR);
    bed_run(&scene.stage.bed);
    fake_finish(&scene.next, "d/a", PL_OUTCOME_ERROR);
    bed_run(&scene.stage.bed);
    check_compared(&scene, "d/a follows 0 0 failingit went wrong;");
    CHECK_INT(scene.next.running, 0); /* and is not retried */
    bed_pass(&scene.stage.bed, 10 * PL_MS);
    end_running(&scene, "d/a"); /* the running one is */
    end_next(&scene, "d/a");
    check_compared(&scene, "d/a follows 0 0;");
    scene_deinit(&scene);
}

TEST(a_controller_that_the_candidate_lacks_is_compared_with_nothing)
{
    struct scene scene;
    scene_init(&scene);
    rehearse(&scene, false, scene.controller);
    bed_stream(&scene.stage.bed, scene.watch, BED_EVENT("MODIFIED", BED_MAP("a", "u1", "6", "")));
    note(fake_run(&scene.stage.fake, "d/a"), "told");
    end_running(&scene, "d/a");
    check_compared(&scene, "d/a follows 1 0;");
    CHECK_INT(scene.next.started, 0);
    scene_deinit(&scene);
}

TEST(one_that_only_the_candidate_has_is_compared_with_rest)
{
    struct scene scene;
    scene_init(&scene);
    rehearse(&scene, true, NULL);
    bed_stream(&scene.stage.bed, scene.watch, BED_EVENT("MODIFIED", BED_MAP("a", "u1", "6", "")));
    CHECK(fake_run(&scene.stage.fake, "d/a")->capture == NULL);
    end_running(&scene, "d/a");
    scene_settle(&scene);
    scene_deinit(&scene);
}

TEST(stopping_cancels_its_runs_and_lets_go_of_the_running_controller)
{
    struct scene scene;
    scene_init(&scene);
    rehearse(&scene, true, scene.controller);
    pl_buf_clear(&scene.next.log);
    pl_rehearsal_stop(scene.rehearsal);
    CHECK(!pl_rehearsal_is_quiet(scene.rehearsal));
    check_cancelled(&scene, "ECANCELED");
    fake_finish(&scene.next, "d/a", PL_OUTCOME_CANCELED);
    fake_finish(&scene.next, "d/b", PL_OUTCOME_DONE);
    bed_stream(&scene.stage.bed, scene.watch, BED_EVENT("MODIFIED", BED_MAP("a", "u1", "6", "")));
    CHECK(fake_run(&scene.stage.fake, "d/a")->capture == NULL);
    end_running(&scene, "d/a");
    check_compared(&scene, "");
    scene_deinit(&scene);
}

TEST(a_run_that_does_not_end_is_cancelled_after_its_time)
{
    struct scene scene;
    scene_init(&scene);
    rehearse(&scene, true, scene.controller);
    pl_buf_clear(&scene.next.log);
    bed_pass(&scene.stage.bed, 31 * PL_SECOND);
    check_cancelled(&scene, "ETIMEOUT");
    fake_finish(&scene.next, "d/a", PL_OUTCOME_TIMEOUT);
    end_next(&scene, "d/b");
    check_compared(&scene, "d/a rest 0it went wrong;d/b rest 0;");
    scene_deinit(&scene);
}

TEST(runs_that_come_faster_than_they_can_be_followed_are_counted)
{
    struct scene scene;
    scene_init(&scene);
    rehearse(&scene, true, scene.controller);
    scene_settle(&scene);
    char event[400];
    for (int i = 0; i < 12; i++) {
        snprintf(event, sizeof event,
                 "{\"type\":\"MODIFIED\",\"object\":{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\","
                 "\"metadata\":{\"name\":\"a\",\"namespace\":\"d\",\"uid\":\"u1\","
                 "\"resourceVersion\":\"%d\"}}}\n",
                 10 + i);
        bed_stream(&scene.stage.bed, scene.watch, event);
        end_running(&scene, "d/a");
    }
    struct pl_rehearsal_stats stats;
    pl_rehearsal_stats(scene.rehearsal, &stats);
    CHECK_INT(stats.skipped, 3); /* one is followed, eight wait */
    for (int i = 0; i < 9; i++)
        end_next(&scene, "d/a");
    CHECK_INT(scene.next.running, 0);
    scene_deinit(&scene);
}

TEST_MAIN()
