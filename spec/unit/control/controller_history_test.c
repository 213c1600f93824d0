/* The history of a key for `perilune why`. */
#include "bed_controller.h"

static void collect(void *arg, const struct pl_happened *happened)
{
    pl_buf_add_f(arg, "%s %.*s;", pl_happening_name(happened->what), PL_FMT(happened->detail));
}

static void check_history(struct stage *stage, const char *key, const char *want)
{
    struct pl_buf text = PL_BUF_INIT;
    pl_history_each(pl_cluster_history(stage->bed.cluster), pl_slice_z("maps"), pl_slice_z(key),
                    collect, &text);
    CHECK_STR(pl_buf_z(&text), want);
    pl_buf_deinit(&text);
}

static struct fake_request *begin(struct stage *stage, struct pl_predicate *predicate)
{
    stage_init(stage);
    struct pl_controller_spec spec = spec_of("maps");
    add_source(&spec, PL_SOURCE_FOR, "v1/ConfigMap", PL_MAP_SELF)->predicate = predicate;
    stage_add(stage, &spec);
    pl_manager_start(stage->manager);
    return stage_sync(stage, "/api/v1/configmaps", BED_MAPS("10", BED_MAP("a", "1", "5", "")));
}

static void finish(struct stage *stage, const char *key, enum pl_outcome outcome,
                   const char *message)
{
    struct pl_outcome_of_run result = {.outcome = outcome, .message = message};
    fake_finish_with(&stage->fake, key, &result);
}

TEST(events_runs_calls_and_outcomes_of_a_key_are_told_in_order)
{
    struct stage stage;
    begin(&stage, NULL);
    struct pl_run *run = fake_run(&stage.fake, "d/a");
    char want[512];
    char id[17];
    memcpy(id, run->id, sizeof id);
    pl_run_called(run, pl_slice_z("get v1/Secret d/s"), pl_slice_z("404 NotFound"), PL_MS);
    finish(&stage, "d/a", PL_OUTCOME_ERROR, "it went wrong");
    snprintf(want, sizeof want,
             "event ADDED v1/ConfigMap d/a;started %s;called get v1/Secret d/s: 404 NotFound;"
             "ended error: it went wrong;delayed RETRY;",
             id);
    check_history(&stage, "d/a", want);
    check_history(&stage, "d/b", "");
    pl_buf_clear(&stage.fake.log);
    stage_deinit(&stage);
}

TEST(what_a_change_changed_is_told)
{
    struct stage stage;
    struct fake_request *watch = begin(&stage, NULL);
    finish(&stage, "d/a", PL_OUTCOME_DONE, NULL);
    bed_stream(&stage.bed, watch,
               BED_EVENT("MODIFIED", BED_MAP("a", "1", "11", ",\"data\":{\"x\":\"1\"}")));
    struct pl_run *run = fake_run(&stage.fake, "d/a");
    REQUIRE(run != NULL);
    char want[512];
    snprintf(want, sizeof want, "event MODIFIED v1/ConfigMap d/a: data;started %s;", run->id);
    struct pl_buf text = PL_BUF_INIT;
    pl_history_each(pl_cluster_history(stage.bed.cluster), pl_slice_z("maps"), pl_slice_z("d/a"),
                    collect, &text);
    CHECK(strstr(pl_buf_z(&text), want) != NULL);
    pl_buf_deinit(&text);
    finish(&stage, "d/a", PL_OUTCOME_DONE, NULL);
    pl_buf_clear(&stage.fake.log);
    stage_deinit(&stage);
}

TEST(an_event_that_a_predicate_dropped_is_told)
{
    struct stage stage;
    struct pl_predicate *predicate = pl_predicate_generation_changed();
    struct fake_request *watch = begin(&stage, predicate);
    finish(&stage, "d/a", PL_OUTCOME_DONE, NULL);
    bed_stream(&stage.bed, watch, BED_EVENT("MODIFIED", BED_MAP("a", "1", "11", "")));
    struct pl_buf text = PL_BUF_INIT;
    pl_history_each(pl_cluster_history(stage.bed.cluster), pl_slice_z("maps"), pl_slice_z("d/a"),
                    collect, &text);
    CHECK(strstr(pl_buf_z(&text), "ended done;dropped MODIFIED v1/ConfigMap d/a;") != NULL);
    pl_buf_deinit(&text);
    pl_buf_clear(&stage.fake.log);
    stage_deinit(&stage);
}

TEST(keys_that_are_queued_by_hand_say_so)
{
    struct stage stage;
    begin(&stage, NULL);
    finish(&stage, "d/a", PL_OUTCOME_DONE, NULL);
    struct pl_add how = {.after_ns = 10 * PL_SECOND};
    pl_controller_enqueue(pl_manager_at(stage.manager, 0), pl_slice_z("d/new"), &how,
                          PL_CAUSE_RELOAD);
    check_history(&stage, "d/new", "queued RELOAD;");
    pl_buf_clear(&stage.fake.log);
    stage_deinit(&stage);
}

TEST_MAIN()
