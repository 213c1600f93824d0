/* Paused objects: which keys are parked, what wakes them, and how it is reported. */
#include "unit/control/bed_controller.h"

#include "control/edition.h"
#include "write/pause.h"
#include "control/report.h"

#define MARKED_MAP(rv, value, more)                                                                \
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\",\"namespace\":"    \
    "\"d\",\"uid\":\"1\",\"resourceVersion\":\"" rv                                                \
    "\",\"annotations\":{\"perilune.dev/paused\":" value "}" more "}}"
#define PAUSED_MAP(rv, more) MARKED_MAP(rv, "\"true\"", more)

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

TEST(a_paused_object_is_parked_until_it_is_resumed)
{
    struct stage stage;
    struct fake_request *watch = begin(&stage);
    fake_finish(&stage.fake, "d/a", PL_OUTCOME_DONE);
    bed_stream(&stage.bed, watch, BED_EVENT("MODIFIED", PAUSED_MAP("11", "")));
    bed_stream(&stage.bed, watch, BED_EVENT("MODIFIED", PAUSED_MAP("12", "")));
    check_log(&stage.fake, "");
    struct pl_controller_report report;
    pl_controller_report(pl_manager_at(stage.manager, 0), &report);
    CHECK_INT(report.paused, 1);
    bool waits = false;
    for (const struct pl_wait *wait = pl_waits_next(&stage.bed.waits, NULL); wait != NULL;
         wait = pl_waits_next(&stage.bed.waits, wait))
        waits |= strcmp(wait->name, "paused") == 0 && strcmp(wait->owner, "maps d/a") == 0;
    CHECK(waits);
    bed_stream(&stage.bed, watch, BED_EVENT("MODIFIED", BED_MAP("a", "1", "13", "")));
    CHECK_INT(stage.fake.running, 1);
    fake_finish(&stage.fake, "d/a", PL_OUTCOME_DONE);
    stage_deinit(&stage);
}

TEST(a_paused_object_that_is_being_deleted_is_reconciled)
{
    struct stage stage;
    struct fake_request *watch = begin(&stage);
    fake_finish(&stage.fake, "d/a", PL_OUTCOME_DONE);
    bed_stream(&stage.bed, watch, BED_EVENT("MODIFIED", PAUSED_MAP("11", "")));
    check_log(&stage.fake, "");
    bed_stream(
        &stage.bed, watch,
        BED_EVENT("MODIFIED", PAUSED_MAP("12", ",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"")));
    CHECK_INT(stage.fake.running, 1);
    fake_finish(&stage.fake, "d/a", PL_OUTCOME_DONE);
    stage_deinit(&stage);
}

TEST(no_predicate_hides_that_an_object_was_resumed)
{
    struct stage stage;
    stage_init(&stage);
    struct pl_controller_spec spec = spec_of("maps");
    add_source(&spec, PL_SOURCE_FOR, "v1/ConfigMap", PL_MAP_SELF)->predicate =
        pl_predicate_generation_changed();
    struct pl_controller *controller = stage_add(&stage, &spec);
    pl_manager_start(stage.manager);
    struct fake_request *watch =
        stage_sync(&stage, "/api/v1/configmaps", BED_MAPS("10", PAUSED_MAP("5", "")));
    CHECK(pl_controller_is_running(controller));
    check_log(&stage.fake, "");
    bed_stream(&stage.bed, watch, BED_EVENT("MODIFIED", BED_MAP("a", "1", "11", "")));
    CHECK_INT(stage.fake.running, 1);
    fake_finish(&stage.fake, "d/a", PL_OUTCOME_DONE);
    stage_deinit(&stage);
}

TEST(every_value_but_false_pauses)
{
    static const struct {
        const char *value;
        bool paused;
    } cases[] = {{"\"true\"", true},  {"\"\"", true},       {"\"yes, by me\"", true},
                 {"\"False\"", true}, {"\"false\"", false}, {"null", false}};
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        char *json = pl_format("{\"metadata\":{\"annotations\":{\"perilune.dev/paused\":%s}}}",
                               cases[i].value);
        struct pl_doc *doc = bed_doc(json);
        if (pl_object_is_paused(pl_doc_root(doc)) != cases[i].paused)
            TEST_FAIL("%s", json);
        pl_doc_unref(doc);
        pl_free(json);
    }
}

TEST(false_resumes)
{
    struct stage stage;
    struct fake_request *watch = begin(&stage);
    fake_finish(&stage.fake, "d/a", PL_OUTCOME_DONE);
    bed_stream(&stage.bed, watch, BED_EVENT("MODIFIED", PAUSED_MAP("11", "")));
    CHECK_INT(stage.fake.running, 0);
    bed_stream(&stage.bed, watch, BED_EVENT("MODIFIED", MARKED_MAP("12", "\"false\"", "")));
    CHECK_INT(stage.fake.running, 1);
    fake_finish(&stage.fake, "d/a", PL_OUTCOME_DONE);
    stage_deinit(&stage);
}

TEST(a_run_that_has_begun_is_not_stopped_and_what_it_asks_for_is_parked)
{
    struct stage stage;
    struct fake_request *watch = begin(&stage);
    bed_stream(&stage.bed, watch, BED_EVENT("MODIFIED", PAUSED_MAP("11", "")));
    CHECK_INT(stage.fake.running, 1);
    fake_finish_with(&stage.fake, "d/a",
                     &(struct pl_outcome_of_run){.outcome = PL_OUTCOME_REQUEUE_AFTER,
                                                 .after_ns = 10 * PL_SECOND});
    pl_buf_clear(&stage.fake.log);
    bed_pass(&stage.bed, 60 * PL_SECOND);
    check_log(&stage.fake, "");
    CHECK_INT(stage.bed.waits.count > 0, 1);
    bed_stream(&stage.bed, watch, BED_EVENT("MODIFIED", BED_MAP("a", "1", "12", "")));
    CHECK_INT(stage.fake.started, 2);
    fake_finish(&stage.fake, "d/a", PL_OUTCOME_DONE);
    bed_pass(&stage.bed, 60 * PL_SECOND);
    CHECK_INT(stage.fake.started, 2);
    stage_deinit(&stage);
}

TEST(what_happened_while_it_was_paused_is_among_the_causes)
{
    struct stage stage;
    struct fake_request *watch = begin(&stage);
    fake_finish(&stage.fake, "d/a", PL_OUTCOME_DONE);
    pl_buf_clear(&stage.fake.log);
    bed_stream(&stage.bed, watch, BED_EVENT("MODIFIED", PAUSED_MAP("11", "")));
    bed_pass(&stage.bed, PL_SECOND);
    struct pl_add how = {.priority = 0};
    pl_controller_enqueue(pl_manager_at(stage.manager, 0), pl_slice_z("d/a"), &how,
                          PL_CAUSE_REQUEUE);
    bed_pass(&stage.bed, PL_SECOND);
    bed_stream(&stage.bed, watch, BED_EVENT("MODIFIED", BED_MAP("a", "1", "12", "")));
    check_log(&stage.fake, "start d/a(MODIFIED,REQUEUE,MODIFIED);");
    fake_finish(&stage.fake, "d/a", PL_OUTCOME_DONE);
    stage_deinit(&stage);
}

TEST(a_paused_object_that_is_gone_is_reconciled)
{
    struct stage stage;
    struct fake_request *watch = begin(&stage);
    fake_finish(&stage.fake, "d/a", PL_OUTCOME_DONE);
    bed_stream(&stage.bed, watch, BED_EVENT("MODIFIED", PAUSED_MAP("11", "")));
    bed_stream(&stage.bed, watch, BED_EVENT("DELETED", PAUSED_MAP("12", "")));
    CHECK_INT(stage.fake.started, 2);
    fake_finish(&stage.fake, "d/a", PL_OUTCOME_DONE);
    stage_deinit(&stage);
}

TEST(an_edition_without_the_source_frees_what_it_had_parked)
{
    struct stage stage;
    struct fake_request *watch = begin(&stage);
    fake_finish(&stage.fake, "d/a", PL_OUTCOME_DONE);
    bed_stream(&stage.bed, watch, BED_EVENT("MODIFIED", PAUSED_MAP("11", "")));
    CHECK_INT(stage.fake.running, 0);
    struct pl_controller_spec spec = spec_of("maps");
    add_source(&spec, PL_SOURCE_WATCHES, "v1/ConfigMap", PL_MAP_SELF);
    struct pl_controller_options options = {
        .cluster = stage.bed.cluster, .ops = &fake_ops, .self = &stage.fake};
    struct pl_edition *edition = pl_edition_create(&options, &spec);
    pl_edition_open(edition, NULL, NULL);
    pl_controller_adopt(pl_manager_at(stage.manager, 0), edition, false);
    bed_run(&stage.bed);
    CHECK_INT(stage.fake.running, 1);
    fake_finish(&stage.fake, "d/a", PL_OUTCOME_DONE);
    pl_edition_unref(edition);
    stage_deinit(&stage);
}

/* ---- pl_pause_object ---- */

static void on_paused(void *arg, const struct pl_written *written)
{
    *(int *)arg = written->err != NULL ? written->err->code : 1;
}

TEST(pausing_is_one_patch_of_the_annotation)
{
    struct stage stage;
    struct fake_request *watch = begin(&stage);
    fake_finish(&stage.fake, "d/a", PL_OUTCOME_DONE);
    struct pl_pause pause = {.kind = kind_of("v1/ConfigMap"),
                             .ns = pl_slice_z("d"),
                             .name = pl_slice_z("a"),
                             .paused = true};
    int ended = 0;
    pl_pause_object(pl_cluster_gate(stage.bed.cluster), &pause, on_paused, &ended);
    struct fake_request *patch =
        bed_expect(&stage.bed, "PATCH", "/api/v1/namespaces/d/configmaps/a");
    CHECK_STR(fake_header(patch, "content-type"), "application/merge-patch+json");
    CHECK_STR(pl_buf_z(&patch->body),
              "{\"metadata\":{\"annotations\":{\"perilune.dev/paused\":\"true\"}}}");
    bed_reply(&stage.bed, patch, 200, PAUSED_MAP("11", ""));
    CHECK_INT(ended, 1);
    CHECK_INT(stage.fake.running, 0); /* the answer is in the cache before any watch event */
    pause.paused = false;
    pl_pause_object(pl_cluster_gate(stage.bed.cluster), &pause, on_paused, &ended);
    patch = bed_expect(&stage.bed, "PATCH", "/api/v1/namespaces/d/configmaps/a");
    CHECK_STR(pl_buf_z(&patch->body),
              "{\"metadata\":{\"annotations\":{\"perilune.dev/paused\":null}}}");
    bed_reply(&stage.bed, patch, 200, BED_MAP("a", "1", "12", ""));
    CHECK_INT(stage.fake.started, 2);
    fake_finish(&stage.fake, "d/a", PL_OUTCOME_DONE);
    pause.name = pl_slice_z("nobody");
    pl_pause_object(pl_cluster_gate(stage.bed.cluster), &pause, on_paused, &ended);
    bed_reply(&stage.bed, bed_expect(&stage.bed, "PATCH", "/api/v1/namespaces/d/configmaps/nobody"),
              404, BED_STATUS(404, "NotFound"));
    CHECK_INT(ended, PL_EAPI);
    bed_stream(&stage.bed, watch, BED_BOOKMARK("ConfigMap", "12"));
    stage_deinit(&stage);
}

TEST_MAIN()
