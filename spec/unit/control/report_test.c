#include "control/report.h"

#include "bed_controller.h"

static struct fake_request *begin(struct stage *stage, const char *more)
{
    stage_init(stage);
    struct pl_controller_spec spec = spec_of("maps");
    add_source(&spec, PL_SOURCE_FOR, "v1/ConfigMap", PL_MAP_SELF);
    stage_add(stage, &spec);
    pl_manager_start(stage->manager);
    char list[1024];
    snprintf(list, sizeof list, BED_MAPS("10", "%s"), more);
    return stage_sync(stage, "/api/v1/configmaps", list);
}

static struct pl_controller_report report(struct stage *stage)
{
    struct pl_controller_report out;
    pl_controller_report(pl_manager_at(stage->manager, 0), &out);
    return out;
}

static struct pl_key_report report_key(struct stage *stage, const char *key)
{
    struct pl_key_report out;
    pl_controller_report_key(pl_manager_at(stage->manager, 0), pl_slice_z(key), &out);
    return out;
}

TEST(a_controller_reports_its_numbers_and_its_last_error)
{
    struct stage stage;
    begin(&stage, BED_MAP("a", "1", "5", "") "," BED_MAP("b", "2", "6", ""));
    CHECK_STR(pl_controller_state_name(report(&stage).state), "running");
    CHECK_INT(report(&stage).in_flight, 1);
    CHECK_INT(report(&stage).ready, 1);
    CHECK(report(&stage).last_error == NULL);
    bool a_first = fake_run(&stage.fake, "d/a") != NULL;
    fake_finish(&stage.fake, a_first ? "d/a" : "d/b", PL_OUTCOME_ERROR);
    bed_run(&stage.bed);
    fake_finish(&stage.fake, a_first ? "d/b" : "d/a", PL_OUTCOME_DONE);
    CHECK_STR(report(&stage).last_error, "it went wrong");
    CHECK_SLICE(report(&stage).last_key, a_first ? "d/a" : "d/b");
    CHECK_INT(report(&stage).failing, 1);
    CHECK_INT(report(&stage).delayed, 1);
    struct pl_key_report key = report_key(&stage, a_first ? "d/a" : "d/b");
    CHECK_INT(key.failures, 1);
    CHECK_STR(key.last_error, "it went wrong");
    CHECK(key.queued.delayed);
    CHECK(report_key(&stage, a_first ? "d/b" : "d/a").last_error == NULL);
    pl_buf_clear(&stage.fake.log);
    stage_deinit(&stage);
}

TEST(a_key_that_is_tried_again_keeps_its_priority) /* rule 109 */
{
    struct stage stage;
    struct fake_request *watch = begin(&stage, BED_MAP("a", "1", "5", ""));
    fake_finish(&stage.fake, "d/a", PL_OUTCOME_ERROR);
    CHECK(report_key(&stage, "d/a").queued.delayed);
    CHECK_INT(report_key(&stage, "d/a").queued.priority, PL_PRIORITY_LOW);
    bed_pass(&stage.bed, 20 * PL_MS);
    fake_finish(&stage.fake, "d/a", PL_OUTCOME_DONE);
    bed_stream(&stage.bed, watch, BED_EVENT("MODIFIED", BED_MAP("a", "1", "11", "")));
    fake_finish(&stage.fake, "d/a", PL_OUTCOME_ERROR);
    CHECK(report_key(&stage, "d/a").queued.delayed);
    CHECK_INT(report_key(&stage, "d/a").queued.priority, 0);
    pl_buf_clear(&stage.fake.log);
    stage_deinit(&stage);
}

TEST(a_standby_says_so)
{
    struct stage stage;
    begin(&stage, BED_MAP("a", "1", "5", ""));
    fake_finish(&stage.fake, "d/a", PL_OUTCOME_DONE);
    pl_controller_set_may_run(pl_manager_at(stage.manager, 0), false);
    CHECK_STR(pl_controller_state_name(report(&stage).state), "standby");
    pl_buf_clear(&stage.fake.log);
    stage_deinit(&stage);
}

TEST(a_paused_key_is_reported_with_its_start)
{
    struct stage stage;
    begin(&stage, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"p\","
                  "\"namespace\":\"d\",\"uid\":\"9\",\"resourceVersion\":\"5\",\"annotations\":{"
                  "\"perilune.dev/paused\":\"true\"}}}");
    CHECK(report_key(&stage, "d/p").paused);
    CHECK(report_key(&stage, "d/p").paused_ns > 0);
    CHECK_INT(report(&stage).paused, 1);
    CHECK(!report_key(&stage, "d/q").paused);
    pl_buf_clear(&stage.fake.log);
    stage_deinit(&stage);
}

TEST(a_dropped_key_is_not_run_and_forgets_its_failures)
{
    struct stage stage;
    struct fake_request *watch = begin(&stage, BED_MAP("a", "1", "5", ""));
    struct pl_controller *controller = pl_manager_at(stage.manager, 0);
    fake_finish(&stage.fake, "d/a", PL_OUTCOME_ERROR);
    CHECK(pl_controller_drop(controller, pl_slice_z("d/a")));
    CHECK(!pl_controller_drop(controller, pl_slice_z("d/a")));
    CHECK_INT(report_key(&stage, "d/a").queued.requeues, 0);
    pl_buf_clear(&stage.fake.log);
    bed_pass(&stage.bed, 60 * PL_SECOND);
    check_log(&stage.fake, "");
    /* Nor is the next run told of what was dropped. */
    bed_stream(&stage.bed, watch, BED_EVENT("MODIFIED", BED_MAP("a", "1", "11", "")));
    check_log(&stage.fake, "start d/a(MODIFIED);");
    fake_finish(&stage.fake, "d/a", PL_OUTCOME_DONE);
    stage_deinit(&stage);
}

static void add_key(void *arg, struct pl_slice key)
{
    pl_buf_add_f(arg, "%.*s;", PL_FMT(key));
}

TEST(the_keys_that_an_object_wakes_are_named)
{
    struct stage stage;
    begin(&stage, BED_MAP("a", "1", "5", ""));
    struct pl_doc *object = bed_doc(BED_MAP("z", "3", "7", ""));
    struct pl_buf keys = PL_BUF_INIT;
    pl_controller_each_woken(pl_manager_at(stage.manager, 0), 0, object, add_key, &keys);
    CHECK_STR(pl_buf_z(&keys), "d/z;");
    pl_buf_deinit(&keys);
    pl_doc_unref(object);
    fake_finish(&stage.fake, "d/a", PL_OUTCOME_DONE);
    pl_buf_clear(&stage.fake.log);
    stage_deinit(&stage);
}

TEST_MAIN()
