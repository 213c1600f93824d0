/* Tasks: when the clock queues them, and how stopping, leading and reloading affect them. */
#include "bed_controller.h"

#include "control/edition.h"

static struct pl_controller_spec every(int64_t period_ns, bool immediate)
{
    struct pl_controller_spec spec = spec_of("tick");
    spec.task = (struct pl_task_spec){
        .form = PL_TASK_EVERY, .period_ns = period_ns, .immediate = immediate};
    return spec;
}

static struct pl_controller_spec once(void)
{
    struct pl_controller_spec spec = spec_of("tick");
    spec.task.form = PL_TASK_RUN;
    return spec;
}

static struct pl_controller *begin(struct stage *stage, struct pl_controller_spec spec)
{
    stage_init(stage);
    struct pl_controller *controller = stage_add(stage, &spec);
    pl_manager_start(stage->manager);
    bed_run(&stage->bed);
    return controller;
}

static void end_run(struct stage *stage, enum pl_outcome outcome)
{
    fake_finish(&stage->fake, "tick", outcome);
    bed_run(&stage->bed);
}

static void check_spec(struct pl_controller_spec spec, const char *part)
{
    struct pl_err err;
    CHECK_INT(pl_controller_spec_check(&spec, &err), PL_EINVAL);
    if (strstr(err.message, part) == NULL)
        TEST_FAIL("%s", err.message);
    pl_controller_spec_deinit(&spec);
}

TEST(mistakes_in_a_tasks_declaration_are_refused)
{
    check_spec(every(0, false), "the period must be above zero");
    struct pl_controller_spec spec = once();
    add_source(&spec, PL_SOURCE_WATCHES, "v1/ConfigMap", PL_MAP_SELF);
    check_spec(spec, "can only read kinds");
    spec = once();
    spec.channels = texts_of("hooks", NULL);
    check_spec(spec, "can only read kinds");
}

TEST(every_runs_one_period_after_the_start_and_then_after_the_end_of_the_last)
{
    struct stage stage;
    begin(&stage, every(60 * PL_SECOND, false));
    bed_pass(&stage.bed, 59 * PL_SECOND);
    CHECK_INT(stage.fake.started, 0);
    bed_pass(&stage.bed, PL_SECOND);
    CHECK_INT(stage.fake.started, 1);
    bed_pass(&stage.bed, 300 * PL_SECOND); /* never two at a time */
    CHECK_INT(stage.fake.started, 1);
    end_run(&stage, PL_OUTCOME_DONE);
    bed_pass(&stage.bed, 59 * PL_SECOND);
    CHECK_INT(stage.fake.started, 1);
    bed_pass(&stage.bed, PL_SECOND);
    CHECK_INT(stage.fake.started, 2);
    end_run(&stage, PL_OUTCOME_DONE);
    stage_deinit(&stage);
}

TEST(every_comes_again_when_its_run_said)
{
    struct stage stage;
    begin(&stage, every(60 * PL_SECOND, true));
    struct pl_outcome_of_run later = {.outcome = PL_OUTCOME_REQUEUE_AFTER,
                                      .after_ns = 100 * PL_SECOND};
    fake_finish_with(&stage.fake, "tick", &later);
    bed_pass(&stage.bed, 99 * PL_SECOND);
    CHECK_INT(stage.fake.started, 1);
    bed_pass(&stage.bed, PL_SECOND);
    CHECK_INT(stage.fake.started, 2);
    end_run(&stage, PL_OUTCOME_ERROR); /* and after its period else */
    bed_pass(&stage.bed, 60 * PL_SECOND);
    CHECK_INT(stage.fake.started, 3);
    end_run(&stage, PL_OUTCOME_DONE);
    stage_deinit(&stage);
}

TEST(immediate_begins_at_once)
{
    struct stage stage;
    begin(&stage, every(60 * PL_SECOND, true));
    CHECK_INT(stage.fake.started, 1);
    end_run(&stage, PL_OUTCOME_DONE);
    CHECK_INT(stage.fake.running, 0);
    stage_deinit(&stage);
}

TEST(every_waits_for_its_period_also_when_it_failed)
{
    static const enum pl_outcome failures[] = {PL_OUTCOME_ERROR, PL_OUTCOME_TERMINAL,
                                               PL_OUTCOME_CONFLICT};
    struct stage stage;
    begin(&stage, every(60 * PL_SECOND, true));
    for (size_t i = 0; i < PL_ARRAY_LEN(failures); i++) {
        end_run(&stage, failures[i]);
        bed_pass(&stage.bed, 59 * PL_SECOND);
        CHECK_INT(stage.fake.running, 0);
        bed_pass(&stage.bed, PL_SECOND);
        CHECK_INT(stage.fake.started, (int)i + 2);
    }
    end_run(&stage, PL_OUTCOME_DONE);
    stage_deinit(&stage);
}

TEST(a_run_that_returned_is_over_and_one_that_failed_begins_again_with_backoff)
{
    struct stage stage;
    begin(&stage, once());
    CHECK_INT(stage.fake.started, 1);
    end_run(&stage, PL_OUTCOME_ERROR);
    CHECK_INT(stage.fake.running, 0);
    bed_pass(&stage.bed, PL_SECOND);
    CHECK_INT(stage.fake.started, 2);
    CHECK_INT(fake_run(&stage.fake, "tick")->attempt, 1);
    end_run(&stage, PL_OUTCOME_ERROR);
    bed_pass(&stage.bed, PL_SECOND);
    CHECK_INT(stage.fake.started, 2); /* 2 s by now */
    bed_pass(&stage.bed, PL_SECOND);
    CHECK_INT(stage.fake.started, 3);
    end_run(&stage, PL_OUTCOME_DONE);
    bed_pass(&stage.bed, 3600 * PL_SECOND);
    CHECK_INT(stage.fake.started, 3);
    stage_deinit(&stage);
}

TEST(a_failure_after_a_long_life_is_none_of_a_row)
{
    struct stage stage;
    begin(&stage, once());
    for (int i = 0; i < 5; i++) {
        end_run(&stage, PL_OUTCOME_ERROR);
        bed_pass(&stage.bed, 16 * PL_SECOND);
    }
    CHECK_INT(stage.fake.started, 6);
    bed_pass(&stage.bed, 120 * PL_SECOND);
    end_run(&stage, PL_OUTCOME_ERROR);
    bed_pass(&stage.bed, PL_SECOND);
    CHECK_INT(stage.fake.started, 7);
    end_run(&stage, PL_OUTCOME_DONE);
    stage_deinit(&stage);
}

TEST(a_terminal_error_ends_a_run_for_good)
{
    struct stage stage;
    begin(&stage, once());
    end_run(&stage, PL_OUTCOME_TERMINAL);
    bed_pass(&stage.bed, 3600 * PL_SECOND);
    CHECK_INT(stage.fake.started, 1);
    stage_deinit(&stage);
}

TEST(stopping_asks_a_task_to_end_and_cancels_it_at_last)
{
    struct stage stage;
    begin(&stage, once());
    check_log(&stage.fake, "start tick(ADDED);");
    pl_manager_stop(stage.manager);
    bed_run(&stage.bed);
    check_log(&stage.fake, "stop tick;");
    bed_pass(&stage.bed, 19 * PL_SECOND);
    check_log(&stage.fake, "");
    bed_pass(&stage.bed, PL_SECOND);
    check_log(&stage.fake, "cancel tick ECANCELED;");
    end_run(&stage, PL_OUTCOME_CANCELED);
    CHECK_INT(stage.stopped, 1);
    CHECK_INT(stage.exit_code, 0);
    stage_deinit(&stage);
}

TEST(a_lost_lead_cancels_a_run_and_the_next_one_begins_it_anew)
{
    struct stage stage;
    struct pl_controller *controller = begin(&stage, once());
    pl_controller_set_may_run(controller, false);
    check_log(&stage.fake, "start tick(ADDED);cancel tick ECANCELED;");
    end_run(&stage, PL_OUTCOME_CANCELED);
    bed_pass(&stage.bed, 60 * PL_SECOND);
    CHECK_INT(stage.fake.started, 1);
    pl_controller_set_may_run(controller, true);
    bed_run(&stage.bed);
    CHECK_INT(stage.fake.started, 2);
    end_run(&stage, PL_OUTCOME_DONE);
    /* Also a task that had returned: other replicas led meanwhile. */
    pl_controller_set_may_run(controller, false);
    bed_pass(&stage.bed, PL_SECOND);
    pl_controller_set_may_run(controller, true);
    bed_run(&stage.bed);
    CHECK_INT(stage.fake.started, 3);
    end_run(&stage, PL_OUTCOME_DONE);
    stage_deinit(&stage);
}

TEST(every_has_its_due_time_still_when_the_lead_is_back)
{
    struct stage stage;
    struct pl_controller *controller = begin(&stage, every(60 * PL_SECOND, true));
    end_run(&stage, PL_OUTCOME_DONE);
    bed_pass(&stage.bed, 30 * PL_SECOND);
    pl_controller_set_may_run(controller, false);
    bed_pass(&stage.bed, 10 * PL_SECOND);
    pl_controller_set_may_run(controller, true);
    bed_pass(&stage.bed, 19 * PL_SECOND);
    CHECK_INT(stage.fake.started, 1);
    bed_pass(&stage.bed, PL_SECOND);
    CHECK_INT(stage.fake.started, 2);
    end_run(&stage, PL_OUTCOME_DONE);
    stage_deinit(&stage);
}

TEST(what_a_task_reads_has_synced_before_it_begins)
{
    struct stage stage;
    struct pl_controller_spec spec = once();
    add_source(&spec, PL_SOURCE_READS, "v1/ConfigMap", PL_MAP_SELF);
    begin(&stage, spec);
    CHECK_INT(stage.fake.started, 0);
    stage_sync(&stage, "/api/v1/configmaps", BED_MAPS("10", BED_MAP("a", "1", "5", "")));
    CHECK_INT(stage.fake.started, 1);
    end_run(&stage, PL_OUTCOME_DONE);
    stage_deinit(&stage);
}

/* ---- reloading ---- */

static void reload(struct stage *stage, struct pl_controller_spec spec, bool changed)
{
    struct pl_controller_options options = {
        .cluster = stage->bed.cluster, .ops = &fake_ops, .self = &stage->fake};
    struct pl_edition *edition = pl_edition_create(&options, &spec);
    pl_edition_open(edition, NULL, NULL);
    struct pl_takeover all[] = {{edition, changed}};
    pl_manager_switch(stage->manager, all, 1);
    pl_edition_unref(edition);
    bed_run(&stage->bed);
}

TEST(every_keeps_its_due_time_over_a_reload)
{
    struct stage stage;
    begin(&stage, every(60 * PL_SECOND, true));
    end_run(&stage, PL_OUTCOME_DONE);
    bed_pass(&stage.bed, 50 * PL_SECOND);
    reload(&stage, every(60 * PL_SECOND, true), true);
    CHECK_INT(stage.fake.started, 1);
    bed_pass(&stage.bed, 10 * PL_SECOND);
    CHECK_INT(stage.fake.started, 2);
    end_run(&stage, PL_OUTCOME_DONE);
    /* A shorter period counts from the reload. */
    bed_pass(&stage.bed, 10 * PL_SECOND);
    reload(&stage, every(20 * PL_SECOND, true), true);
    bed_pass(&stage.bed, 19 * PL_SECOND);
    CHECK_INT(stage.fake.started, 2);
    bed_pass(&stage.bed, PL_SECOND);
    CHECK_INT(stage.fake.started, 3);
    end_run(&stage, PL_OUTCOME_DONE);
    stage_deinit(&stage);
}

TEST(a_run_is_asked_to_stop_by_a_reload_and_begins_anew_when_it_has_ended)
{
    struct stage stage;
    begin(&stage, once());
    reload(&stage, once(), false);
    check_log(&stage.fake, "start tick(ADDED);stop tick;");
    bed_pass(&stage.bed, 10 * PL_SECOND);
    CHECK_INT(stage.fake.started, 1);
    end_run(&stage, PL_OUTCOME_DONE);
    check_log(&stage.fake, "start tick(RELOAD);");
    end_run(&stage, PL_OUTCOME_DONE);
    /* It has returned: only changed code makes a new task. */
    reload(&stage, once(), false);
    CHECK_INT(stage.fake.started, 2);
    reload(&stage, once(), true);
    CHECK_INT(stage.fake.started, 3);
    /* A task that waits for its next try does not wait when the code is new. */
    end_run(&stage, PL_OUTCOME_ERROR);
    reload(&stage, once(), true);
    CHECK_INT(stage.fake.started, 4);
    end_run(&stage, PL_OUTCOME_DONE);
    stage_deinit(&stage);
}

TEST(a_run_is_asked_to_stop_by_a_reload_without_its_task)
{
    struct stage stage;
    begin(&stage, once());
    pl_manager_switch(stage.manager, NULL, 0);
    bed_run(&stage.bed);
    check_log(&stage.fake, "start tick(ADDED);stop tick;");
    end_run(&stage, PL_OUTCOME_DONE);
    CHECK(pl_manager_find(stage.manager, pl_slice_z("tick")) == NULL);
    stage_deinit(&stage);
}

TEST(a_name_may_become_another_kind_of_thing)
{
    struct stage stage;
    begin(&stage, once());
    reload(&stage, every(60 * PL_SECOND, false), true);
    end_run(&stage, PL_OUTCOME_DONE);
    bed_pass(&stage.bed, 59 * PL_SECOND);
    CHECK_INT(stage.fake.started, 1);
    bed_pass(&stage.bed, PL_SECOND);
    CHECK_INT(stage.fake.started, 2);
    end_run(&stage, PL_OUTCOME_DONE);
    struct pl_controller_spec spec = spec_of("tick");
    add_source(&spec, PL_SOURCE_FOR, "v1/ConfigMap", PL_MAP_SELF);
    reload(&stage, spec, true);
    stage_sync(&stage, "/api/v1/configmaps", BED_MAPS("10", BED_MAP("a", "1", "5", "")));
    bed_pass(&stage.bed, 600 * PL_SECOND);
    pl_buf_clear(&stage.fake.log);
    fake_finish(&stage.fake, "d/a", PL_OUTCOME_ERROR); /* waits for its next try */
    reload(&stage, once(), true);
    bed_pass(&stage.bed, 600 * PL_SECOND);
    check_log(&stage.fake, "start tick(ADDED);");
    end_run(&stage, PL_OUTCOME_DONE);
    stage_deinit(&stage);
}

/* ---- channels ---- */

TEST(what_is_sent_into_a_channel_is_queued_with_its_name)
{
    struct stage stage;
    struct pl_controller_spec spec = spec_of("maps");
    spec.channels = texts_of("hooks", "timers");
    struct pl_controller *controller = begin(&stage, spec);
    CHECK(pl_controller_watches_channel(controller, pl_slice_z("timers")));
    CHECK(!pl_controller_watches_channel(controller, pl_slice_z("hook")));
    pl_controller_send(controller, "hooks", pl_slice_z("d/x"));
    bed_run(&stage.bed);
    struct pl_run *run = fake_run(&stage.fake, "d/x");
    REQUIRE(run != NULL);
    CHECK_INT(run->cause_count, 1);
    CHECK_INT(run->causes[0].type, PL_CAUSE_CHANNEL);
    CHECK_STR(run->causes[0].kind, "hooks");
    fake_finish(&stage.fake, "d/x", PL_OUTCOME_DONE);
    stage_deinit(&stage);
}

TEST(a_deletion_that_a_predicate_drops_is_told_unless_a_run_will_see_it)
{
    struct stage stage;
    stage_init(&stage);
    struct pl_controller_spec spec = spec_of("maps");
    struct pl_predicate *parts[PL_EVENT_TYPES] = {0};
    struct pl_predicate *never =
        pl_predicate_none(&(struct pl_predicate *){pl_predicate_funcs(parts, NULL)}, 1, NULL);
    parts[PL_EVENT_DELETE] = never;
    add_source(&spec, PL_SOURCE_FOR, "v1/ConfigMap", PL_MAP_SELF)->predicate =
        pl_predicate_funcs(parts, NULL);
    stage_add(&stage, &spec);
    pl_manager_start(stage.manager);
    struct fake_request *watch =
        stage_sync(&stage, "/api/v1/configmaps",
                   BED_MAPS("10", BED_MAP("a", "1", "5", "") "," BED_MAP("b", "2", "6", "")));
    fake_finish(&stage.fake, "d/a", PL_OUTCOME_DONE);
    bed_run(&stage.bed);
    pl_buf_clear(&stage.fake.log);
    bed_stream(&stage.bed, watch, BED_EVENT("DELETED", BED_MAP("b", "2", "11", "")));
    check_log(&stage.fake, ""); /* d/b runs */
    fake_finish(&stage.fake, "d/b", PL_OUTCOME_DONE);
    bed_stream(&stage.bed, watch, BED_EVENT("DELETED", BED_MAP("a", "1", "12", "")));
    check_log(&stage.fake, "gone d/a;");
    stage_deinit(&stage);
}

TEST_MAIN()
