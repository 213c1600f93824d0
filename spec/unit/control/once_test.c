/* When all work is done, and whether it succeeded. */
#include "bed_controller.h"

#include "control/once.h"

struct verdict {
    int calls, exit_code;
};

static void on_over(void *arg, int exit_code)
{
    struct verdict *verdict = arg;
    verdict->calls++;
    verdict->exit_code = exit_code;
}

struct scene {
    struct stage stage;
    struct pl_once *once;
    struct verdict verdict;
};

/* One second is enough to notice the end. */
static void check_over(struct scene *scene, int exit_code)
{
    CHECK_INT(scene->verdict.calls, 0);
    bed_pass(&scene->stage.bed, PL_SECOND);
    CHECK_INT(scene->verdict.calls, 1);
    CHECK_INT(scene->verdict.exit_code, exit_code);
}

static void check_not_over(struct scene *scene)
{
    bed_pass(&scene->stage.bed, PL_SECOND);
    CHECK_INT(scene->verdict.calls, 0);
}

static void begin(struct scene *scene, struct pl_controller_spec *spec, int64_t timeout_ns)
{
    scene->verdict = (struct verdict){0};
    stage_init(&scene->stage);
    stage_add(&scene->stage, spec);
    const struct pl_once_options options = {.manager = scene->stage.manager,
                                            .timeout_ns = timeout_ns,
                                            .over = on_over,
                                            .arg = &scene->verdict};
    scene->once = pl_once_create(&options);
    pl_manager_start(scene->stage.manager);
    bed_run(&scene->stage.bed);
}

/* ConfigMaps a and b; d/a runs. Its watch is returned. */
static struct fake_request *begin_with_maps(struct scene *scene, int max_retries)
{
    struct pl_controller_spec spec = spec_of("maps");
    spec.max_retries = max_retries;
    spec.max_concurrent = 2;
    add_source(&spec, PL_SOURCE_FOR, "v1/ConfigMap", PL_MAP_SELF);
    begin(scene, &spec, 0);
    check_not_over(scene);
    return stage_sync(&scene->stage, "/api/v1/configmaps",
                      BED_MAPS("10", BED_MAP("a", "1", "5", "") "," BED_MAP("b", "2", "6", "")));
}

static void end_run(struct scene *scene, const char *key, enum pl_outcome outcome, int64_t after_ns)
{
    struct pl_outcome_of_run result = {
        .outcome = outcome, .message = "so it is", .after_ns = after_ns};
    fake_finish_with(&scene->stage.fake, key, &result);
    bed_run(&scene->stage.bed);
}

static void finish(struct scene *scene)
{
    pl_once_destroy(scene->once);
    stage_deinit(&scene->stage);
}

TEST(it_is_over_when_every_key_has_run)
{
    struct scene scene;
    begin_with_maps(&scene, -1);
    check_not_over(&scene);
    end_run(&scene, "d/a", PL_OUTCOME_DONE, 0);
    check_not_over(&scene);
    end_run(&scene, "d/b", PL_OUTCOME_DONE, 0);
    check_over(&scene, 0);
    finish(&scene);
}

TEST(keys_that_come_again_later_or_wait_hold_up_nothing)
{
    struct scene scene;
    begin_with_maps(&scene, -1);
    end_run(&scene, "d/a", PL_OUTCOME_REQUEUE_AFTER, 3600 * PL_SECOND);
    end_run(&scene, "d/b", PL_OUTCOME_WAITING, 0);
    check_over(&scene, 0);
    finish(&scene);
}

TEST(what_failed_is_tried_again_and_what_went_well_then_is_no_failure)
{
    struct scene scene;
    begin_with_maps(&scene, -1);
    end_run(&scene, "d/b", PL_OUTCOME_DONE, 0);
    end_run(&scene, "d/a", PL_OUTCOME_ERROR, 0);
    check_not_over(&scene);
    end_run(&scene, "d/a", PL_OUTCOME_CONFLICT, 0);
    check_not_over(&scene);
    end_run(&scene, "d/a", PL_OUTCOME_DONE, 0);
    check_over(&scene, 0);
    finish(&scene);
}

TEST(what_fails_again_and_again_is_a_failure)
{
    struct scene scene;
    begin_with_maps(&scene, -1);
    end_run(&scene, "d/b", PL_OUTCOME_DONE, 0);
    int tries = 0;
    for (; scene.verdict.calls == 0 && tries < 20; tries++) {
        end_run(&scene, "d/a", PL_OUTCOME_ERROR, 0);
        for (int i = 0; i < 20 && scene.verdict.calls == 0 && scene.stage.fake.running == 0; i++)
            bed_pass(&scene.stage.bed, PL_SECOND);
    }
    CHECK_INT(tries, 1 + PL_ONCE_TRIES);
    CHECK_INT(scene.verdict.exit_code, 1);
    finish(&scene);
}

TEST(terminal_errors_and_keys_that_were_given_up_are_failures)
{
    struct scene scene;
    begin_with_maps(&scene, -1);
    end_run(&scene, "d/a", PL_OUTCOME_TERMINAL, 0);
    end_run(&scene, "d/b", PL_OUTCOME_DONE, 0);
    check_over(&scene, 1);
    finish(&scene);
    begin_with_maps(&scene, 0);
    end_run(&scene, "d/a", PL_OUTCOME_ERROR, 0);
    end_run(&scene, "d/b", PL_OUTCOME_DONE, 0);
    check_over(&scene, 1);
    finish(&scene);
}

TEST(what_was_written_is_waited_for)
{
    struct scene scene;
    struct fake_request *watch = begin_with_maps(&scene, -1);
    struct pl_doc *written = bed_doc(BED_MAP("a", "1", "12", ""));
    pl_informer_write_through(pl_controller_informer(pl_manager_at(scene.stage.manager, 0), 0),
                              written, false);
    pl_doc_unref(written);
    end_run(&scene, "d/a", PL_OUTCOME_DONE, 0);
    end_run(&scene, "d/a", PL_OUTCOME_DONE, 0); /* woken by the write */
    end_run(&scene, "d/b", PL_OUTCOME_DONE, 0);
    check_not_over(&scene);
    bed_stream(&scene.stage.bed, watch, BED_EVENT("MODIFIED", BED_MAP("a", "1", "12", "")));
    check_over(&scene, 0);
    finish(&scene);
}

TEST(every_task_runs_to_its_end)
{
    static const enum pl_task_form forms[] = {PL_TASK_EVERY, PL_TASK_RUN};
    for (size_t i = 0; i < PL_ARRAY_LEN(forms); i++)
        for (int fails = 0; fails < 2; fails++) {
            struct scene scene;
            struct pl_controller_spec spec = spec_of("tick");
            spec.task = (struct pl_task_spec){
                .form = forms[i], .period_ns = 600 * PL_SECOND, .immediate = true};
            begin(&scene, &spec, 0);
            check_not_over(&scene);
            end_run(&scene, "tick", fails ? PL_OUTCOME_TERMINAL : PL_OUTCOME_DONE, 0);
            check_over(&scene, fails);
            finish(&scene);
        }
}

TEST(a_map_function_that_fails_is_asked_again_and_is_a_failure_in_the_end)
{
    struct scene scene;
    struct pl_controller_spec spec = spec_of("maps");
    add_source(&spec, PL_SOURCE_WATCHES, "v1/ConfigMap", PL_MAP_EXTERNAL);
    begin(&scene, &spec, 0);
    stage_sync(&scene.stage, "/api/v1/configmaps", BED_MAPS("10", BED_MAP("a", "1", "5", "")));
    int asked = 0;
    for (int i = 0; i < 60 && scene.verdict.calls == 0; i++) {
        if (!pl_list_empty(&scene.stage.fake.questions)) {
            struct pl_question *question = fake_question(&scene.stage.fake);
            pl_question_map_failed(question, "boom", NULL);
            pl_question_done(question);
            asked++;
        }
        bed_pass(&scene.stage.bed, PL_SECOND);
    }
    CHECK_INT(asked, 1 + PL_ONCE_MAP_TRIES);
    CHECK_INT(scene.verdict.exit_code, 1);
    finish(&scene);
}

TEST(time_is_limited_and_so_is_syncing)
{
    struct scene scene;
    struct pl_controller_spec spec = spec_of("tick");
    spec.task = (struct pl_task_spec){.form = PL_TASK_RUN, .immediate = true};
    begin(&scene, &spec, 60 * PL_SECOND);
    bed_pass(&scene.stage.bed, 59 * PL_SECOND);
    check_over(&scene, 1);
    end_run(&scene, "tick", PL_OUTCOME_DONE, 0);
    bed_pass(&scene.stage.bed, PL_SECOND);
    CHECK_INT(scene.verdict.calls, 1);
    finish(&scene);
    spec = spec_of("sites");
    spec.cache_sync_timeout_ns = 30 * PL_SECOND;
    add_source(&spec, PL_SOURCE_FOR, "example.com/v1/Website", PL_MAP_SELF);
    begin(&scene, &spec, 0);
    bed_pass(&scene.stage.bed, 29 * PL_SECOND);
    check_over(&scene, 4);
    finish(&scene);
}

TEST_MAIN()
