/* Keys whose script waits: for how long, for what, and when the wait ends. */
#include "bed_controller.h"

#include "control/report.h"

/* A controller "maps" for ConfigMaps; d/a runs. Its watch is returned. */
static struct fake_request *begin(struct stage *stage)
{
    stage_init(stage);
    struct pl_controller_spec spec = spec_of("maps");
    add_source(&spec, PL_SOURCE_FOR, "v1/ConfigMap", PL_MAP_SELF);
    stage_add(stage, &spec);
    pl_manager_start(stage->manager);
    struct fake_request *watch =
        stage_sync(stage, "/api/v1/configmaps", BED_MAPS("10", BED_MAP("a", "1", "5", "")));
    check_log(&stage->fake, "start d/a(ADDED);");
    return watch;
}

static void say(struct stage *stage, const char *reason)
{
    struct pl_outcome_of_run waits = {.outcome = PL_OUTCOME_WAITING, .message = reason};
    fake_finish_with(&stage->fake, "d/a", &waits);
    bed_run(&stage->bed);
}

static const struct pl_wait *wait_of(struct stage *stage)
{
    for (const struct pl_wait *wait = pl_waits_next(&stage->bed.waits, NULL); wait != NULL;
         wait = pl_waits_next(&stage->bed.waits, wait))
        if (strcmp(wait->name, "waiting") == 0 && strcmp(wait->owner, "maps d/a") == 0)
            return wait;
    return NULL;
}

static struct pl_key_report report_of(struct stage *stage)
{
    struct pl_key_report report;
    pl_controller_report_key(pl_manager_at(stage->manager, 0), pl_slice_z("d/a"), &report);
    return report;
}

static size_t count_waiting(struct stage *stage)
{
    struct pl_controller_report report;
    pl_controller_report(pl_manager_at(stage->manager, 0), &report);
    return report.waiting;
}

TEST(a_key_that_waits_is_woken_by_events_alone)
{
    struct stage stage;
    struct fake_request *watch = begin(&stage);
    say(&stage, "the volume is attached");
    struct pl_queued queued;
    struct pl_workqueue *queue = pl_controller_queue(pl_manager_at(stage.manager, 0));
    CHECK(!pl_workqueue_look(queue, pl_slice_z("d/a"), 0, &queued));
    CHECK_INT(queued.requeues, 0);
    bed_pass(&stage.bed, 60 * PL_SECOND);
    check_log(&stage.fake, "");
    CHECK_INT(count_waiting(&stage), 1);
    bed_stream(&stage.bed, watch, BED_EVENT("MODIFIED", BED_MAP("a", "1", "11", "")));
    check_log(&stage.fake, "start d/a(MODIFIED);");
    CHECK_INT(count_waiting(&stage), 1); /* not known otherwise yet */
    fake_finish(&stage.fake, "d/a", PL_OUTCOME_DONE);
    CHECK_INT(count_waiting(&stage), 0);
    CHECK(wait_of(&stage) == NULL);
    stage_deinit(&stage);
}

TEST(the_age_is_that_of_the_first_run_that_waited_and_the_reason_that_of_the_last)
{
    struct stage stage;
    struct fake_request *watch = begin(&stage);
    say(&stage, "2 pods are there");
    int64_t since_ns = report_of(&stage).waiting_ns;
    bed_pass(&stage.bed, 60 * PL_SECOND);
    bed_stream(&stage.bed, watch, BED_EVENT("MODIFIED", BED_MAP("a", "1", "11", "")));
    say(&stage, "1 pod is there");
    CHECK_STR(report_of(&stage).waits_for, "1 pod is there");
    CHECK_INT(report_of(&stage).waiting_ns, since_ns);
    const struct pl_wait *wait = wait_of(&stage);
    REQUIRE(wait != NULL);
    CHECK_STR(wait->no_deadline, "1 pod is there");
    CHECK(pl_wait_age_ns(wait) >= 60 * PL_SECOND);
    stage_deinit(&stage);
}

TEST(what_a_run_says_decides_and_failing_says_nothing)
{
    static const struct {
        enum pl_outcome outcome;
        bool waits;
    } cases[] = {
        {PL_OUTCOME_DONE, false},          {PL_OUTCOME_REQUEUE, false},
        {PL_OUTCOME_REQUEUE_AFTER, false}, {PL_OUTCOME_TERMINAL, false},
        {PL_OUTCOME_ERROR, true},          {PL_OUTCOME_TIMEOUT, true},
        {PL_OUTCOME_CONFLICT, true},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        struct stage stage;
        struct fake_request *watch = begin(&stage);
        say(&stage, "the volume is attached");
        bed_stream(&stage.bed, watch, BED_EVENT("MODIFIED", BED_MAP("a", "1", "11", "")));
        struct pl_outcome_of_run outcome = {
            .outcome = cases[i].outcome, .message = "so", .after_ns = 3600 * PL_SECOND};
        fake_finish_with(&stage.fake, "d/a", &outcome);
        CHECK_INT(count_waiting(&stage), cases[i].waits);
        stage_deinit(&stage);
    }
}

TEST(an_object_whose_end_a_predicate_hides_waits_no_more)
{
    struct stage stage;
    stage_init(&stage);
    struct pl_controller_spec spec = spec_of("maps");
    struct pl_predicate *parts[PL_EVENT_TYPES] = {NULL};
    parts[PL_EVENT_DELETE] = pl_predicate_constant(false);
    struct pl_err err = {0};
    add_source(&spec, PL_SOURCE_FOR, "v1/ConfigMap", PL_MAP_SELF)->predicate =
        pl_predicate_funcs(parts, &err);
    stage_add(&stage, &spec);
    pl_manager_start(stage.manager);
    struct fake_request *watch =
        stage_sync(&stage, "/api/v1/configmaps", BED_MAPS("10", BED_MAP("a", "1", "5", "")));
    say(&stage, "the volume is attached");
    CHECK_INT(count_waiting(&stage), 1);
    bed_stream(&stage.bed, watch, BED_EVENT("DELETED", BED_MAP("a", "1", "12", "")));
    CHECK_INT(count_waiting(&stage), 0);
    CHECK_INT(stage.fake.running, 0);
    stage_deinit(&stage);
}

TEST_MAIN()
