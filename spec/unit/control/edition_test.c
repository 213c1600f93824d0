/* A controller continues under another edition: what stays, which events are delivered again, and
 * which edition finishes a run. */
#include "bed_controller.h"

#define LIST "/api/v1/configmaps"

/* Two generations' reconcilers on one stage. */
struct scene {
    struct stage stage;
    struct fake_reconciler next;
    struct pl_edition *first, *second;
};

static struct pl_edition *edition_of(struct scene *scene, struct fake_reconciler *by,
                                     struct pl_controller_spec *spec)
{
    struct pl_controller_options options = {
        .cluster = scene->stage.bed.cluster, .ops = &fake_ops, .self = by};
    struct pl_edition *edition = pl_edition_create(&options, spec);
    pl_edition_open(edition, NULL, NULL);
    return edition;
}

static struct pl_controller_spec maps_spec(void)
{
    struct pl_controller_spec spec = spec_of("maps");
    spec.on_reload_enqueue = true;
    add_source(&spec, PL_SOURCE_FOR, "v1/ConfigMap", PL_MAP_SELF);
    return spec;
}

static void switch_to(struct scene *scene, struct pl_edition *edition, bool changed)
{
    struct pl_takeover all[] = {{edition, changed}};
    pl_manager_switch(scene->stage.manager, all, edition != NULL);
    bed_run(&scene->stage.bed);
}

/* a and b are there, and were reconciled; the watch is returned. */
static struct fake_request *scene_init(struct scene *scene, struct pl_controller_spec *spec)
{
    stage_init(&scene->stage);
    fake_init(&scene->next);
    scene->second = NULL;
    scene->first = edition_of(scene, &scene->stage.fake, spec);
    pl_manager_add(scene->stage.manager, pl_controller_create_with(scene->first));
    pl_manager_start(scene->stage.manager);
    struct fake_request *watch =
        stage_sync(&scene->stage, LIST,
                   BED_MAPS("5", BED_MAP("a", "u1", "3", "") "," BED_MAP("b", "u2", "4", "")));
    fake_finish(&scene->stage.fake, "d/a", PL_OUTCOME_DONE);
    bed_run(&scene->stage.bed);
    fake_finish(&scene->stage.fake, "d/b", PL_OUTCOME_DONE);
    bed_run(&scene->stage.bed);
    pl_buf_clear(&scene->stage.fake.log);
    return watch;
}

static void scene_deinit(struct scene *scene)
{
    pl_manager_stop(scene->stage.manager);
    bed_run(&scene->stage.bed);
    CHECK(pl_edition_is_quiet(scene->first) || pl_manager_count(scene->stage.manager) > 0);
    pl_edition_unref(scene->first);
    pl_edition_unref(scene->second);
    fake_deinit(&scene->next);
    stage_deinit(&scene->stage);
}

static struct pl_controller *the_controller(struct scene *scene)
{
    return pl_manager_at(scene->stage.manager, 0);
}

TEST(a_kept_source_makes_no_request_and_shows_nothing_again)
{
    struct scene scene;
    struct pl_controller_spec spec = maps_spec(), next = maps_spec();
    struct fake_request *watch = scene_init(&scene, &spec);
    scene.second = edition_of(&scene, &scene.next, &next);
    CHECK(pl_edition_is_synced(scene.second));
    switch_to(&scene, scene.second, false);
    CHECK(bed_is_quiet(&scene.stage.bed));
    check_log(&scene.stage.fake, "");
    check_log(&scene.next, "");
    CHECK(pl_edition_is_quiet(scene.first));
    bed_stream(&scene.stage.bed, watch, BED_EVENT("ADDED", BED_MAP("c", "u3", "6", "")));
    check_log(&scene.next, "start d/c(ADDED);");
    fake_finish(&scene.next, "d/c", PL_OUTCOME_DONE);
    scene_deinit(&scene);
}

TEST(keys_of_changed_code_are_enqueued_unless_the_spec_says_no)
{
    for (int wanted = 0; wanted < 2; wanted++) {
        struct scene scene;
        struct pl_controller_spec spec = maps_spec(), next = maps_spec();
        next.on_reload_enqueue = wanted;
        next.max_concurrent = 2;
        scene_init(&scene, &spec);
        scene.second = edition_of(&scene, &scene.next, &next);
        switch_to(&scene, scene.second, true);
        CHECK_INT(scene.next.started, wanted ? 2 : 0);
        if (wanted) {
            CHECK(strstr(pl_buf_z(&scene.next.log), "start d/a(RELOAD);") != NULL);
            CHECK(strstr(pl_buf_z(&scene.next.log), "start d/b(RELOAD);") != NULL);
            fake_finish(&scene.next, "d/a", PL_OUTCOME_DONE);
            fake_finish(&scene.next, "d/b", PL_OUTCOME_DONE);
        }
        scene_deinit(&scene);
    }
}

TEST(a_run_in_flight_ends_under_the_old_edition_before_its_key_starts_again)
{
    struct scene scene;
    struct pl_controller_spec spec = maps_spec(), next = maps_spec();
    next.max_concurrent = 4;
    struct fake_request *watch = scene_init(&scene, &spec);
    bed_stream(&scene.stage.bed, watch, BED_EVENT("MODIFIED", BED_MAP("a", "u1", "6", "")));
    check_log(&scene.stage.fake, "start d/a(MODIFIED);");
    scene.second = edition_of(&scene, &scene.next, &next);
    switch_to(&scene, scene.second, true);
    check_log(&scene.next, "start d/b(RELOAD);");
    CHECK(!pl_edition_is_quiet(scene.first));
    fake_finish(&scene.stage.fake, "d/a", PL_OUTCOME_DONE);
    CHECK(pl_edition_is_quiet(scene.first));
    bed_run(&scene.stage.bed);
    check_log(&scene.next, "start d/a(RELOAD);");
    fake_finish(&scene.next, "d/a", PL_OUTCOME_DONE);
    fake_finish(&scene.next, "d/b", PL_OUTCOME_DONE);
    scene_deinit(&scene);
}

TEST(only_the_runs_of_one_edition_are_cancelled)
{
    struct scene scene;
    struct pl_controller_spec spec = maps_spec(), next = maps_spec();
    next.max_concurrent = 4;
    struct fake_request *watch = scene_init(&scene, &spec);
    bed_stream(&scene.stage.bed, watch, BED_EVENT("MODIFIED", BED_MAP("a", "u1", "6", "")));
    pl_buf_clear(&scene.stage.fake.log);
    scene.second = edition_of(&scene, &scene.next, &next);
    switch_to(&scene, scene.second, true);
    pl_buf_clear(&scene.next.log);
    struct pl_err why = {0};
    pl_err_set(&why, PL_ECANCELED, "the scripts were reloaded");
    pl_edition_cancel_runs(scene.first, &why);
    check_log(&scene.stage.fake, "cancel d/a ECANCELED;");
    check_log(&scene.next, "");
    fake_finish(&scene.stage.fake, "d/a", PL_OUTCOME_CANCELED);
    fake_finish(&scene.next, "d/b", PL_OUTCOME_DONE);
    bed_run(&scene.stage.bed);
    check_log(&scene.next, "start d/a(RELOAD,RETRY);");
    fake_finish(&scene.next, "d/a", PL_OUTCOME_DONE);
    scene_deinit(&scene);
}

TEST(delays_and_failure_counts_stay)
{
    struct scene scene;
    struct pl_controller_spec spec = maps_spec(), next = maps_spec();
    struct fake_request *watch = scene_init(&scene, &spec);
    bed_stream(&scene.stage.bed, watch, BED_EVENT("MODIFIED", BED_MAP("a", "u1", "6", "")));
    fake_finish(&scene.stage.fake, "d/a", PL_OUTCOME_ERROR);
    bed_stream(&scene.stage.bed, watch, BED_EVENT("MODIFIED", BED_MAP("b", "u2", "7", "")));
    struct pl_outcome_of_run later = {.outcome = PL_OUTCOME_REQUEUE_AFTER,
                                      .after_ns = 60 * PL_SECOND};
    fake_finish_with(&scene.stage.fake, "d/b", &later);
    pl_buf_clear(&scene.stage.fake.log);
    scene.second = edition_of(&scene, &scene.next, &next);
    switch_to(&scene, scene.second, false);
    CHECK_INT(pl_workqueue_waiting(pl_controller_queue(the_controller(&scene))), 2);
    bed_pass(&scene.stage.bed, PL_SECOND);
    check_log(&scene.next, "start d/a(RETRY);");
    CHECK_INT(fake_run(&scene.next, "d/a")->attempt, 1);
    fake_finish(&scene.next, "d/a", PL_OUTCOME_DONE);
    bed_pass(&scene.stage.bed, 60 * PL_SECOND);
    check_log(&scene.next, "start d/b(REQUEUE);");
    fake_finish(&scene.next, "d/b", PL_OUTCOME_DONE);
    scene_deinit(&scene);
}

TEST(a_new_source_syncs_before_and_is_heard_from_its_first_object_on)
{
    struct scene scene;
    struct pl_controller_spec spec = maps_spec(), next = maps_spec();
    add_source(&next, PL_SOURCE_WATCHES, "v1/Pod", PL_MAP_SELF);
    scene_init(&scene, &spec);
    scene.second = edition_of(&scene, &scene.next, &next);
    CHECK(!pl_edition_is_synced(scene.second));
    stage_sync(&scene.stage, "/api/v1/pods",
               "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":"
               "\"5\"},\"items\":[{\"metadata\":{\"name\":\"p\",\"namespace\":\"d\",\"uid\":\"u9\","
               "\"resourceVersion\":\"2\"}}]}");
    CHECK(pl_edition_is_synced(scene.second));
    CHECK_INT(scene.next.started, 0);
    switch_to(&scene, scene.second, false);
    check_log(&scene.next, "start d/p(ADDED);");
    fake_finish(&scene.next, "d/p", PL_OUTCOME_DONE);
    scene_deinit(&scene);
}

TEST(a_kind_that_is_not_watched_any_more_ends_with_its_edition)
{
    struct scene scene;
    struct pl_controller_spec spec = maps_spec(), next = spec_of("maps");
    add_source(&next, PL_SOURCE_FOR, "v1/Pod", PL_MAP_SELF);
    struct fake_request *watch = scene_init(&scene, &spec);
    scene.second = edition_of(&scene, &scene.next, &next);
    stage_sync(&scene.stage, "/api/v1/pods", BED_LIST("Pod", "5", "", ""));
    switch_to(&scene, scene.second, false);
    bed_stream(&scene.stage.bed, watch, BED_EVENT("MODIFIED", BED_MAP("a", "u1", "6", "")));
    CHECK_INT(scene.next.started, 0);
    CHECK_INT(pl_informers_count(pl_cluster_informers(scene.stage.bed.cluster)), 2);
    CHECK(pl_edition_is_quiet(scene.first));
    pl_edition_unref(scene.first);
    bed_run(&scene.stage.bed);
    CHECK_INT(pl_informers_count(pl_cluster_informers(scene.stage.bed.cluster)), 1);
    scene.first = pl_edition_ref(scene.second);
    scene_deinit(&scene);
}

TEST(a_controller_that_nothing_declares_ends_with_its_last_run)
{
    struct scene scene;
    struct pl_controller_spec spec = maps_spec(), next = maps_spec();
    pl_free(next.name);
    next.name = pl_strdup("renamed");
    struct fake_request *watch = scene_init(&scene, &spec);
    bed_stream(&scene.stage.bed, watch, BED_EVENT("MODIFIED", BED_MAP("a", "u1", "6", "")));
    bed_stream(&scene.stage.bed, watch, BED_EVENT("MODIFIED", BED_MAP("b", "u2", "7", "")));
    scene.second = edition_of(&scene, &scene.next, &next);
    switch_to(&scene, scene.second, false);
    CHECK_INT(pl_manager_count(scene.stage.manager), 2);
    check_log(&scene.next, "start d/a(ADDED);"); /* another controller: its keys are its own */
    fake_finish(&scene.next, "d/a", PL_OUTCOME_DONE);
    bed_run(&scene.stage.bed);
    fake_finish(&scene.next, "d/b", PL_OUTCOME_DONE);
    check_log(&scene.stage.fake, "start d/a(MODIFIED);");
    fake_finish(&scene.stage.fake, "d/a", PL_OUTCOME_ERROR);
    bed_pass(&scene.stage.bed, 10 * PL_SECOND);
    check_log(&scene.stage.fake, "");
    CHECK_INT(pl_manager_count(scene.stage.manager), 1);
    CHECK(pl_edition_is_quiet(scene.first));
    scene_deinit(&scene);
}

TEST(a_name_that_comes_back_while_its_last_run_is_under_way_waits_for_it)
{
    struct scene scene;
    struct pl_controller_spec spec = maps_spec(), next = maps_spec();
    struct fake_request *watch = scene_init(&scene, &spec);
    bed_stream(&scene.stage.bed, watch, BED_EVENT("MODIFIED", BED_MAP("a", "u1", "6", "")));
    pl_manager_switch(scene.stage.manager, NULL, 0);
    bed_run(&scene.stage.bed);
    next.max_concurrent = 4;
    scene.second = edition_of(&scene, &scene.next, &next);
    switch_to(&scene, scene.second, true);
    check_log(&scene.next, "start d/b(ADDED);");
    fake_finish(&scene.stage.fake, "d/a", PL_OUTCOME_DONE);
    bed_run(&scene.stage.bed);
    check_log(&scene.next, "start d/a(ADDED);");
    fake_finish(&scene.next, "d/a", PL_OUTCOME_DONE);
    fake_finish(&scene.next, "d/b", PL_OUTCOME_DONE);
    CHECK_INT(pl_manager_count(scene.stage.manager), 1);
    scene_deinit(&scene);
}

/* A reload that removed a controller is taken back. */
TEST(a_controller_that_is_gone_comes_back_under_the_edition_that_it_had)
{
    struct scene scene;
    struct pl_controller_spec spec = maps_spec();
    struct fake_request *watch = scene_init(&scene, &spec);
    switch_to(&scene, NULL, false);
    CHECK_INT(pl_manager_count(scene.stage.manager), 0);
    CHECK(pl_edition_is_quiet(scene.first));
    bed_stream(&scene.stage.bed, watch, BED_EVENT("MODIFIED", BED_MAP("a", "u1", "6", "")));
    check_log(&scene.stage.fake, "");
    switch_to(&scene, scene.first, false);
    CHECK(bed_is_quiet(&scene.stage.bed)); /* its generation was kept, so its sources went on */
    check_log(&scene.stage.fake, "start d/a(ADDED);");
    fake_finish(&scene.stage.fake, "d/a", PL_OUTCOME_DONE);
    bed_run(&scene.stage.bed);
    fake_finish(&scene.stage.fake, "d/b", PL_OUTCOME_DONE);
    bed_stream(&scene.stage.bed, watch, BED_EVENT("MODIFIED", BED_MAP("b", "u2", "7", "")));
    fake_finish(&scene.stage.fake, "d/b", PL_OUTCOME_DONE);
    scene_deinit(&scene);
}

/* As its generation does when the grace period of the others is over. */
TEST(what_is_left_of_an_edition_can_be_cancelled_when_its_controller_is_gone)
{
    struct scene scene;
    struct pl_controller_spec spec = maps_spec(), next = maps_spec();
    add_source(&next, PL_SOURCE_WATCHES, "v1/Pod", PL_MAP_SELF);
    scene_init(&scene, &spec);
    scene.second = edition_of(&scene, &scene.next, &next);
    switch_to(&scene, scene.second, false); /* before its Pods have synced */
    switch_to(&scene, NULL, false);
    CHECK_INT(pl_manager_count(scene.stage.manager), 0);
    struct pl_err why = {0};
    pl_err_set(&why, PL_ECANCELED, "the scripts were reloaded");
    pl_edition_cancel_runs(scene.first, &why);
    pl_edition_cancel_runs(scene.second, &why);
    stage_sync(&scene.stage, "/api/v1/pods", BED_LIST("Pod", "5", "", ""));
    CHECK(pl_edition_is_synced(scene.second));
    CHECK_INT(scene.next.started, 0);
    scene_deinit(&scene);
}

static struct pl_controller_spec mapped_spec(void)
{
    struct pl_controller_spec spec = spec_of("maps");
    spec.on_reload_enqueue = true;
    add_source(&spec, PL_SOURCE_WATCHES, "v1/ConfigMap", PL_MAP_EXTERNAL);
    return spec;
}

static void answer_question(struct fake_reconciler *by, const char *name)
{
    struct pl_question *question = fake_question(by);
    if (name != NULL)
        pl_question_request(question, pl_slice_z("d"), pl_slice_z(name));
    else
        pl_question_map_failed(question, "no", NULL);
    pl_question_done(question);
}

TEST(without_for_whatever_the_sources_enqueue_is_asked_of_the_new_code)
{
    struct scene scene;
    struct pl_controller_spec spec = mapped_spec(), next = mapped_spec();
    stage_init(&scene.stage);
    fake_init(&scene.next);
    scene.first = edition_of(&scene, &scene.stage.fake, &spec);
    pl_manager_add(scene.stage.manager, pl_controller_create_with(scene.first));
    pl_manager_start(scene.stage.manager);
    struct fake_request *watch =
        stage_sync(&scene.stage, LIST, BED_MAPS("5", BED_MAP("a", "u1", "3", "")));
    answer_question(&scene.stage.fake, "old");
    bed_run(&scene.stage.bed);
    fake_finish(&scene.stage.fake, "d/old", PL_OUTCOME_DONE);
    bed_stream(&scene.stage.bed, watch, BED_EVENT("MODIFIED", BED_MAP("a", "u1", "6", "")));
    answer_question(&scene.stage.fake, NULL); /* waits for its next try */
    scene.second = edition_of(&scene, &scene.next, &next);
    switch_to(&scene, scene.second, true);
    CHECK(pl_edition_is_quiet(scene.first));
    answer_question(&scene.next, "new");
    bed_run(&scene.stage.bed);
    check_log(&scene.next, "start d/new(RELOAD);");
    fake_finish(&scene.next, "d/new", PL_OUTCOME_DONE);
    CHECK_INT(scene.next.asked, 1);
    bed_pass(&scene.stage.bed,
             2 * PL_SECOND); /* and the new code retries the failed map function */
    answer_question(&scene.next, "new");
    bed_run(&scene.stage.bed);
    check_log(&scene.next, "start d/new(MODIFIED);");
    fake_finish(&scene.next, "d/new", PL_OUTCOME_DONE);
    scene_deinit(&scene);
}

TEST_MAIN()
