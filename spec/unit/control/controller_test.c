#include "bed_controller.h"

#include "object/selector.h"

static struct pl_controller *maps(struct stage *stage, struct pl_controller_spec *spec)
{
    add_source(spec, PL_SOURCE_FOR, "v1/ConfigMap", PL_MAP_SELF);
    return stage_add(stage, spec);
}

/* A controller for ConfigMaps. It has synced with one object, d/a, whose run is under way. */
static struct fake_request *begin_with(struct stage *stage, struct pl_controller_spec *spec)
{
    maps(stage, spec);
    pl_manager_start(stage->manager);
    struct fake_request *watch =
        stage_sync(stage, "/api/v1/configmaps", BED_MAPS("10", BED_MAP("a", "1", "5", "")));
    check_log(&stage->fake, "start d/a(ADDED);");
    return watch;
}

static struct fake_request *begin(struct stage *stage)
{
    stage_init(stage);
    struct pl_controller_spec spec = spec_of("maps");
    return begin_with(stage, &spec);
}

TEST(every_object_of_the_first_list_is_reconciled_and_then_every_change)
{
    struct stage stage;
    struct fake_request *watch = begin(&stage);
    fake_finish(&stage.fake, "d/a", PL_OUTCOME_DONE);
    bed_stream(&stage.bed, watch, BED_EVENT("ADDED", BED_MAP("b", "2", "11", "")));
    check_log(&stage.fake, "start d/b(ADDED);");
    fake_finish(&stage.fake, "d/b", PL_OUTCOME_DONE);
    bed_stream(&stage.bed, watch, BED_EVENT("DELETED", BED_MAP("b", "2", "12", "")));
    check_log(&stage.fake, "start d/b(DELETED);");
    fake_finish(&stage.fake, "d/b", PL_OUTCOME_DONE);
    bed_pass(&stage.bed, 60 * PL_SECOND);
    check_log(&stage.fake, "");
    stage_deinit(&stage);
}

TEST(a_burst_during_a_run_leads_to_exactly_one_more) /* rules 88, 126, F38 */
{
    struct stage stage;
    struct fake_request *watch = begin(&stage);
    bed_stream(&stage.bed, watch, BED_EVENT("MODIFIED", BED_MAP("a", "1", "11", "")));
    bed_stream(&stage.bed, watch, BED_EVENT("MODIFIED", BED_MAP("a", "1", "12", "")));
    bed_stream(&stage.bed, watch, BED_EVENT("MODIFIED", BED_MAP("a", "1", "13", "")));
    check_log(&stage.fake, "");
    fake_finish(&stage.fake, "d/a", PL_OUTCOME_DONE);
    bed_run(&stage.bed);
    check_log(&stage.fake, "start d/a(MODIFIED,MODIFIED,MODIFIED);");
    fake_finish(&stage.fake, "d/a", PL_OUTCOME_DONE);
    bed_pass(&stage.bed, 60 * PL_SECOND);
    check_log(&stage.fake, "");
    stage_deinit(&stage);
}

TEST(no_more_runs_at_once_than_declared)
{
    struct stage stage;
    stage_init(&stage);
    struct pl_controller_spec spec = spec_of("maps");
    spec.max_concurrent = 2;
    maps(&stage, &spec);
    pl_manager_start(stage.manager);
    stage_sync(&stage, "/api/v1/configmaps",
               BED_MAPS("10", BED_MAP("a", "1", "5", "") "," BED_MAP("b", "2", "6", "") "," BED_MAP(
                                  "c", "3", "7", "")));
    CHECK_INT(stage.fake.running, 2);
    pl_buf_clear(&stage.fake.log);
    fake_finish(&stage.fake, fake_run(&stage.fake, "d/a") != NULL ? "d/a" : "d/b", PL_OUTCOME_DONE);
    bed_run(&stage.bed);
    CHECK_INT(stage.fake.running, 2);
    while (stage.fake.running > 0) {
        const char *keys[] = {"d/a", "d/b", "d/c"};
        for (int i = 0; i < 3; i++)
            if (fake_run(&stage.fake, keys[i]) != NULL)
                fake_finish(&stage.fake, keys[i], PL_OUTCOME_DONE);
        bed_run(&stage.bed);
    }
    CHECK_INT(stage.fake.started, 3);
    stage_deinit(&stage);
}

TEST(workers_are_tuned_for_a_while)
{
    struct stage stage;
    stage_init(&stage);
    struct pl_controller_spec spec = spec_of("maps");
    spec.max_concurrent = 1;
    struct pl_controller *c = maps(&stage, &spec);
    pl_manager_start(stage.manager);
    stage_sync(&stage, "/api/v1/configmaps",
               BED_MAPS("10", BED_MAP("a", "1", "5", "") "," BED_MAP("b", "2", "6", "") "," BED_MAP(
                                  "c", "3", "7", "")));
    CHECK_INT(stage.fake.running, 1);
    struct pl_err err;
    struct pl_tuning tuned;
    int64_t left;
    CHECK(!pl_controller_tuned(c, &tuned, &left));
    REQUIRE(pl_controller_tune(c, &(struct pl_tuning){.workers = 2}, 60 * PL_SECOND, &err) == 0);
    bed_run(&stage.bed);
    CHECK_INT(stage.fake.running, 2);
    bed_pass(&stage.bed, 20 * PL_SECOND);
    CHECK(pl_controller_tuned(c, &tuned, &left));
    CHECK_INT(left, 40 * PL_SECOND);
    bed_pass(&stage.bed, 41 * PL_SECOND);
    CHECK(!pl_controller_tuned(c, &tuned, &left));
    while (stage.fake.running > 0) {
        const char *keys[] = {"d/a", "d/b", "d/c"};
        for (int i = 0; i < 3; i++)
            if (fake_run(&stage.fake, keys[i]) != NULL)
                fake_finish(&stage.fake, keys[i], PL_OUTCOME_DONE);
        bed_run(&stage.bed);
        CHECK(stage.fake.running <= 1);
    }
    CHECK_INT(stage.fake.started, 3);
    stage_deinit(&stage);
}

TEST(delays_are_tuned_until_they_are_reset)
{
    struct stage stage;
    stage_init(&stage);
    struct pl_controller_spec spec = spec_of("maps");
    struct pl_controller *c = maps(&stage, &spec);
    pl_manager_start(stage.manager);
    stage_sync(&stage, "/api/v1/configmaps", BED_MAPS("10", BED_MAP("a", "1", "5", "")));
    struct pl_err err;
    REQUIRE(pl_controller_tune(c, &(struct pl_tuning){.base_ns = 100 * PL_SECOND}, 3600 * PL_SECOND,
                               &err) == 0);
    pl_buf_clear(&stage.fake.log);
    fake_finish(&stage.fake, "d/a", PL_OUTCOME_ERROR);
    bed_pass(&stage.bed, 99 * PL_SECOND);
    check_log(&stage.fake, "");
    bed_pass(&stage.bed, 2 * PL_SECOND);
    CHECK_INT(stage.fake.running, 1);
    pl_controller_untune(c);
    fake_finish(&stage.fake, "d/a", PL_OUTCOME_ERROR);
    bed_pass(&stage.bed, PL_SECOND);
    CHECK_INT(stage.fake.running, 1);
    fake_finish(&stage.fake, "d/a", PL_OUTCOME_DONE);
    stage_deinit(&stage);
}

TEST(a_tuning_that_makes_no_sense_is_refused)
{
    struct stage stage;
    stage_init(&stage);
    struct pl_controller_spec spec = spec_of("maps");
    struct pl_controller *c = maps(&stage, &spec);
    static const struct {
        struct pl_tuning tuning;
        int64_t for_ns;
    } wrong[] = {{{.workers = -1}, PL_SECOND},
                 {{.workers = PL_TUNE_WORKERS_MAX + 1}, PL_SECOND},
                 {{.base_ns = 2, .max_ns = 1}, PL_SECOND},
                 {{.burst = 1}, PL_SECOND},
                 {{.qps = -1}, PL_SECOND},
                 {{.workers = 1}, 0},
                 {{.workers = 1}, PL_TUNE_FOR_MAX + 1}};
    for (size_t i = 0; i < PL_ARRAY_LEN(wrong); i++) {
        struct pl_err err;
        CHECK_INT(pl_controller_tune(c, &wrong[i].tuning, wrong[i].for_ns, &err), PL_EINVAL);
    }
    struct pl_tuning tuned;
    int64_t left;
    CHECK(!pl_controller_tuned(c, &tuned, &left));
    stage_deinit(&stage);
}

TEST(each_result_leads_to_what_the_table_says) /* rules 127-130 */
{
    static const struct {
        enum pl_outcome outcome;
        int64_t after_ns, at_least_ns, at_most_ns; /* at_most 0: never again */
        const char *cause;
    } cases[] = {
        {PL_OUTCOME_DONE, 0, 0, 0, ""},
        {PL_OUTCOME_REQUEUE_AFTER, 30 * PL_SECOND, 30 * PL_SECOND, 31 * PL_SECOND, "REQUEUE"},
        {PL_OUTCOME_REQUEUE_AFTER, -1, PL_MS, 20 * PL_MS, "REQUEUE"},
        {PL_OUTCOME_REQUEUE, 0, PL_MS, 20 * PL_MS, "REQUEUE"},
        {PL_OUTCOME_ERROR, 0, PL_MS, 20 * PL_MS, "RETRY"},
        {PL_OUTCOME_TIMEOUT, 0, PL_MS, 20 * PL_MS, "RETRY"},
        {PL_OUTCOME_CONFLICT, 0, PL_MS, 20 * PL_MS, "RETRY"},
        {PL_OUTCOME_TERMINAL, 0, 0, 0, ""},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        struct stage stage;
        begin(&stage);
        struct pl_outcome_of_run result = {
            .outcome = cases[i].outcome, .after_ns = cases[i].after_ns, .message = "why"};
        fake_finish_with(&stage.fake, "d/a", &result);
        if (cases[i].at_most_ns == 0) {
            bed_pass(&stage.bed, 2000 * PL_SECOND);
            check_log(&stage.fake, "");
        } else {
            bed_pass(&stage.bed, cases[i].at_least_ns);
            if (cases[i].at_least_ns < cases[i].after_ns)
                check_log(&stage.fake, "");
            bed_pass(&stage.bed, cases[i].at_most_ns - cases[i].at_least_ns);
            char want[64];
            snprintf(want, sizeof want, "start d/a(%s);", cases[i].cause);
            check_log(&stage.fake, want);
            fake_finish(&stage.fake, "d/a", PL_OUTCOME_DONE);
        }
        stage_deinit(&stage);
    }
}

TEST(errors_back_off_and_success_forgets_them) /* rules 96, 128 */
{
    struct stage stage;
    struct fake_request *watch = begin(&stage);
    for (int i = 0; i < 5; i++) {
        CHECK_INT(fake_run(&stage.fake, "d/a")->attempt, i);
        fake_finish(&stage.fake, "d/a", PL_OUTCOME_ERROR);
        bed_pass(&stage.bed, (5 << i) * PL_MS - PL_MS);
        CHECK_INT(stage.fake.running, 0);
        bed_pass(&stage.bed, PL_MS);
        CHECK_INT(stage.fake.running, 1);
    }
    fake_finish(&stage.fake, "d/a", PL_OUTCOME_DONE);
    bed_stream(&stage.bed, watch, BED_EVENT("MODIFIED", BED_MAP("a", "1", "11", "")));
    CHECK_INT(fake_run(&stage.fake, "d/a")->attempt, 0);
    fake_finish(&stage.fake, "d/a", PL_OUTCOME_ERROR);
    bed_pass(&stage.bed, 5 * PL_MS);
    CHECK_INT(stage.fake.running, 1);
    fake_finish(&stage.fake, "d/a", PL_OUTCOME_DONE);
    stage_deinit(&stage);
}

TEST(a_key_that_is_due_while_no_worker_is_free_waits_without_work)
{
    struct stage stage;
    struct fake_request *watch = begin(&stage);
    bed_stream(&stage.bed, watch, BED_EVENT("ADDED", BED_MAP("b", "2", "11", "")));
    fake_finish_with(
        &stage.fake, "d/a",
        &(struct pl_outcome_of_run){.outcome = PL_OUTCOME_REQUEUE_AFTER, .after_ns = PL_SECOND});
    bed_pass(&stage.bed, 60 * PL_SECOND); /* bed_run ends a loop that never rests */
    check_log(&stage.fake, "start d/b(ADDED);");
    fake_finish(&stage.fake, "d/b", PL_OUTCOME_DONE);
    bed_run(&stage.bed);
    check_log(&stage.fake, "start d/a(REQUEUE);");
    fake_finish(&stage.fake, "d/a", PL_OUTCOME_DONE);
    stage_deinit(&stage);
}

TEST(requeue_grows_the_delay_but_is_no_failure) /* rule 128 */
{
    struct stage stage;
    begin(&stage);
    for (int i = 0; i < 4; i++) {
        CHECK_INT(fake_run(&stage.fake, "d/a")->attempt, 0);
        fake_finish(&stage.fake, "d/a", PL_OUTCOME_REQUEUE);
        bed_pass(&stage.bed, (5 << i) * PL_MS - PL_MS);
        CHECK_INT(stage.fake.running, 0);
        bed_pass(&stage.bed, PL_MS);
        REQUIRE(stage.fake.running == 1);
    }
    fake_finish(&stage.fake, "d/a", PL_OUTCOME_DONE);
    stage_deinit(&stage);
}

TEST(after_max_retries_a_key_is_dropped_until_the_next_event)
{
    struct stage stage;
    stage_init(&stage);
    struct pl_controller_spec spec = spec_of("maps");
    spec.max_retries = 2;
    begin_with(&stage, &spec);
    for (int i = 0; i < 3; i++) {
        fake_finish(&stage.fake, "d/a", PL_OUTCOME_ERROR);
        bed_pass(&stage.bed, PL_SECOND);
        CHECK_INT(stage.fake.running, i < 2);
    }
    bed_pass(&stage.bed, 2000 * PL_SECOND); /* the watch was silent: the version is checked */
    CHECK_INT(stage.fake.started, 3);
    bed_reply(&stage.bed, bed_expect(&stage.bed, "GET", "/api/v1/configmaps"), 200,
              BED_MAPS("10", ));
    struct fake_request *watch = bed_expect(&stage.bed, "GET", "/api/v1/configmaps");
    bed_stream(&stage.bed, watch, BED_EVENT("MODIFIED", BED_MAP("a", "1", "11", "")));
    CHECK_INT(fake_run(&stage.fake, "d/a")->attempt, 0);
    fake_finish(&stage.fake, "d/a", PL_OUTCOME_DONE);
    stage_deinit(&stage);
}

TEST(a_run_over_its_time_is_cancelled_and_counted) /* rule 131 */
{
    struct stage stage;
    stage_init(&stage);
    struct pl_controller_spec spec = spec_of("maps");
    spec.reconcile_timeout_ns = 5 * PL_SECOND;
    begin_with(&stage, &spec);
    CHECK_INT(fake_run(&stage.fake, "d/a")->deadline_ns, stage.bed.clock.now_ns + 5 * PL_SECOND);
    bed_pass(&stage.bed, 5 * PL_SECOND);
    check_log(&stage.fake, "cancel d/a ETIMEOUT;");
    fake_finish(&stage.fake, "d/a", PL_OUTCOME_ERROR);
    struct pl_buf text = PL_BUF_INIT;
    pl_metrics_write(stage.bed.metrics, &text);
    CHECK(strstr(text.ptr, "controller_runtime_reconcile_timeouts_total{controller=\"maps\"} 1") !=
          NULL);
    CHECK(strstr(text.ptr, "controller_runtime_reconcile_total{controller=\"maps\",result="
                           "\"error\"} 1") != NULL);
    CHECK(strstr(text.ptr, "workqueue_depth{name=\"maps\",controller=\"maps\"}") != NULL);
    CHECK(strstr(text.ptr, "perilune_informer_objects{kind=\"v1/ConfigMap\"} 1") != NULL);
    pl_buf_deinit(&text);
    bed_pass(&stage.bed, PL_SECOND);
    fake_finish(&stage.fake, "d/a", PL_OUTCOME_DONE);
    stage_deinit(&stage);
}

TEST(resync_enqueues_every_for_object)
{
    struct stage stage;
    stage_init(&stage);
    struct pl_controller_spec spec = spec_of("maps");
    spec.resync_period_ns = 60 * PL_SECOND;
    struct fake_request *watch = begin_with(&stage, &spec);
    PL_UNUSED(watch);
    fake_finish(&stage.fake, "d/a", PL_OUTCOME_DONE);
    bed_pass(&stage.bed, 61 * PL_SECOND);
    check_log(&stage.fake, "start d/a(RESYNC);");
    fake_finish(&stage.fake, "d/a", PL_OUTCOME_DONE);
    stage_deinit(&stage);
}

/* ---- sources ---- */

#define OWNED_POD(name, uid, rv, owner)                                                            \
    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"" name                       \
    "\",\"namespace\":\"d\",\"uid\":\"" uid "\",\"resourceVersion\":\"" rv                         \
    "\",\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"" owner      \
    "\",\"uid\":\"1\",\"controller\":true}]}}"

TEST(an_update_of_a_child_wakes_the_old_and_the_new_owner) /* rules 135, 136 */
{
    struct stage stage;
    stage_init(&stage);
    struct pl_controller_spec spec = spec_of("maps");
    spec.max_concurrent = 4;
    add_source(&spec, PL_SOURCE_OWNS, "v1/Pod", PL_MAP_OWNER);
    maps(&stage, &spec);
    pl_manager_start(stage.manager);
    struct fake_request *watch = stage_sync(
        &stage, "/api/v1/pods", BED_LIST("Pod", "10", "", OWNED_POD("p", "7", "5", "a")));
    check_log(&stage.fake, "");
    stage_sync(&stage, "/api/v1/configmaps", BED_MAPS("10", ));
    check_log(&stage.fake, "start d/a(ADDED);");
    fake_finish(&stage.fake, "d/a", PL_OUTCOME_DONE);
    bed_stream(&stage.bed, watch, BED_EVENT("MODIFIED", OWNED_POD("p", "7", "11", "b")));
    CHECK(fake_run(&stage.fake, "d/a") != NULL && fake_run(&stage.fake, "d/b") != NULL);
    fake_finish(&stage.fake, "d/a", PL_OUTCOME_DONE);
    fake_finish(&stage.fake, "d/b", PL_OUTCOME_DONE);
    stage_deinit(&stage);
}

TEST(a_predicate_keeps_events_from_the_queue)
{
    struct stage stage;
    stage_init(&stage);
    struct pl_controller_spec spec = spec_of("maps");
    struct pl_source_spec *source = add_source(&spec, PL_SOURCE_FOR, "v1/ConfigMap", PL_MAP_SELF);
    source->predicate = pl_predicate_generation_changed();
    stage_add(&stage, &spec);
    pl_manager_start(stage.manager);
    struct fake_request *watch =
        stage_sync(&stage, "/api/v1/configmaps", BED_MAPS("10", BED_MAP("a", "1", "5", "")));
    check_log(&stage.fake, "start d/a(ADDED);");
    fake_finish(&stage.fake, "d/a", PL_OUTCOME_DONE);
    bed_stream(&stage.bed, watch, BED_EVENT("MODIFIED", BED_MAP("a", "1", "11", "")));
    check_log(&stage.fake, "");
    stage_deinit(&stage);
}

TEST(a_map_function_is_asked_only_when_every_source_has_synced_and_again_when_it_fails)
{
    struct stage stage;
    stage_init(&stage);
    struct pl_controller_spec spec = spec_of("maps");
    add_source(&spec, PL_SOURCE_WATCHES, "v1/ConfigMap", PL_MAP_EXTERNAL);
    add_source(&spec, PL_SOURCE_READS, "v1/Pod", PL_MAP_SELF);
    struct pl_controller *controller = stage_add(&stage, &spec);
    pl_manager_start(stage.manager);
    stage_sync(&stage, "/api/v1/configmaps", BED_MAPS("10", BED_MAP("a", "1", "5", "")));
    CHECK_INT(stage.fake.asked, 0);
    stage_sync(&stage, "/api/v1/pods", BED_LIST("Pod", "10", "", ));
    CHECK_INT(stage.fake.asked, 1);
    CHECK(!pl_controller_is_running(controller)); /* until the first list's answers are back */
    struct pl_question *question = fake_question(&stage.fake);
    CHECK(question->ask_map && !question->ask_predicates);
    CHECK_STR(question->kind, "v1/ConfigMap");
    pl_question_request(question, pl_slice_z("x"), pl_slice_z("y"));
    pl_question_map_failed(question, "boom", NULL);
    pl_question_done(question);
    bed_run(&stage.bed);
    CHECK(pl_controller_is_running(controller));
    check_log(&stage.fake, "");
    bed_pass(&stage.bed, 2 * PL_SECOND);
    question = fake_question(&stage.fake);
    pl_question_request(question, pl_slice_z("d"), pl_slice_z("x"));
    pl_question_request(question, pl_slice_z("d"), pl_slice_z("x")); /* rule 136 */
    pl_question_done(question);
    bed_run(&stage.bed);
    check_log(&stage.fake, "start d/x(ADDED);");
    fake_finish(&stage.fake, "d/x", PL_OUTCOME_DONE);
    stage_deinit(&stage);
}

TEST(a_leaf_of_a_script_decides_and_without_a_verdict_passes)
{
    struct stage stage;
    stage_init(&stage);
    struct pl_controller_spec spec = spec_of("maps");
    struct pl_source_spec *source = add_source(&spec, PL_SOURCE_FOR, "v1/ConfigMap", PL_MAP_SELF);
    source->predicate = pl_predicate_external(3);
    stage_add(&stage, &spec);
    pl_manager_start(stage.manager);
    stage_sync(&stage, "/api/v1/configmaps",
               BED_MAPS("10", BED_MAP("a", "1", "5", "") "," BED_MAP("b", "2", "6", "")));
    for (int i = 0; i < 2; i++) {
        struct pl_question *question = fake_question(&stage.fake);
        struct pl_scratch scratch;
        CHECK(question->ask_predicates && !question->ask_map);
        if (pl_slice_eqz(pl_meta_name(pl_doc_root(question->event.object), &scratch), "a"))
            pl_question_verdict(question, 3, false);
        pl_question_done(question);
    }
    bed_run(&stage.bed);
    check_log(&stage.fake, "start d/b(ADDED);");
    fake_finish(&stage.fake, "d/b", PL_OUTCOME_DONE);
    stage_deinit(&stage);
}

TEST(at_most_1024_answers_are_outstanding_and_the_store_does_not_wait) /* F7 */
{
    struct stage stage;
    stage_init(&stage);
    struct pl_controller_spec spec = spec_of("maps");
    add_source(&spec, PL_SOURCE_WATCHES, "v1/ConfigMap", PL_MAP_EXTERNAL);
    struct pl_controller *controller = stage_add(&stage, &spec);
    pl_manager_start(stage.manager);
    struct fake_request *watch = stage_sync(&stage, "/api/v1/configmaps", BED_MAPS("10", ));
    struct pl_buf text = PL_BUF_INIT;
    int rv = 11;
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 1500; i++, rv++) {
            pl_buf_clear(&text);
            pl_buf_add_f(&text,
                         "{\"type\":\"%s\",\"object\":{\"apiVersion\":\"v1\",\"kind\":"
                         "\"ConfigMap\",\"metadata\":{\"name\":\"m%d\",\"namespace\":\"d\","
                         "\"uid\":\"u%d\",\"resourceVersion\":\"%d\"}}}\n",
                         round == 0 ? "ADDED" : "MODIFIED", i, i, rv);
            fake_stream(watch, text.ptr);
        }
    bed_run(&stage.bed);
    CHECK_INT(stage.fake.asked, 1024);
    struct pl_store *store = pl_informer_store(pl_controller_informer(controller, 0));
    CHECK_INT(pl_store_count(store), 1500);
    struct pl_doc *last = pl_store_get(store, pl_slice_z("d/m1499"));
    struct pl_scratch scratch;
    CHECK_SLICE(pl_meta_rv(pl_doc_root(last), &scratch), "4510");
    pl_doc_unref(last);
    /* 1,024 creates first; then the changes that had to wait: 476 creates and 1,024 updates. */
    while (!pl_list_empty(&stage.fake.questions)) {
        pl_question_done(fake_question(&stage.fake));
        bed_run(&stage.bed);
    }
    CHECK_INT(stage.fake.asked, 1024 + 476 + 1024);
    pl_buf_deinit(&text);
    stage_deinit(&stage);
}

/* ---- starting and stopping ---- */

#define MANY 500 /* more than one turn delivers */

/* Syncs with many ConfigMaps, whose runs end at once. Returns the number of runs that began. */
static int begin_with_many(struct stage *stage)
{
    struct pl_buf list = PL_BUF_INIT;
    pl_buf_add_z(&list, "{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",\"metadata\":"
                        "{\"resourceVersion\":\"1000\"},\"items\":[");
    for (int i = 0; i < MANY; i++)
        pl_buf_add_f(&list,
                     "%s{\"metadata\":{\"name\":\"m%d\",\"namespace\":\"d\",\"uid\":\"u%d\","
                     "\"resourceVersion\":\"%d\"}}",
                     i > 0 ? "," : "", i, i, i + 1);
    pl_buf_add_z(&list, "]}");
    stage->fake.ends_at_once = true;
    stage_sync(stage, "/api/v1/configmaps", pl_buf_z(&list));
    pl_buf_deinit(&list);
    return stage->fake.started;
}

TEST(runs_begin_while_a_long_first_list_is_still_told)
{
    struct stage stage;
    stage_init(&stage);
    struct pl_controller_spec spec = spec_of("maps");
    add_source(&spec, PL_SOURCE_READS, "v1/Pod", PL_MAP_SELF);
    struct pl_controller *controller = maps(&stage, &spec);
    pl_manager_start(stage.manager);
    CHECK_INT(begin_with_many(&stage), 0); /* rule 132 */
    stage_sync(&stage, "/api/v1/pods", BED_LIST("Pod", "10", "", ));
    CHECK(!stage.fake.began_synced);
    CHECK_INT(stage.fake.started, MANY);
    CHECK(pl_controller_has_synced(controller));
    stage_deinit(&stage);
}

TEST(where_a_key_may_have_several_events_all_first_lists_are_told_before_runs_begin)
{
    struct stage stage;
    stage_init(&stage);
    struct pl_controller_spec spec = spec_of("maps");
    add_source(&spec, PL_SOURCE_OWNS, "v1/Pod", PL_MAP_OWNER);
    maps(&stage, &spec);
    pl_manager_start(stage.manager);
    stage_sync(&stage, "/api/v1/pods", BED_LIST("Pod", "10", "", ));
    CHECK_INT(begin_with_many(&stage), MANY); /* each once */
    CHECK(stage.fake.began_synced);
    stage_deinit(&stage);
}

TEST(a_missing_kind_holds_up_only_its_controller) /* rule 134, F43 */
{
    struct stage stage;
    stage_init(&stage);
    stage.bed.no_websites = true;
    struct pl_controller_spec spec = spec_of("sites"), other = spec_of("maps");
    add_source(&spec, PL_SOURCE_FOR, "example.com/v1/Website", PL_MAP_SELF);
    struct pl_controller *sites = stage_add(&stage, &spec);
    struct pl_controller *maps_controller = maps(&stage, &other);
    pl_manager_start(stage.manager);
    stage_sync(&stage, "/api/v1/configmaps", BED_MAPS("10", ));
    CHECK(pl_controller_is_running(maps_controller));
    bed_pass(&stage.bed, 10 * PL_SECOND);
    CHECK(!pl_controller_is_running(sites));
    const struct pl_err *trouble = pl_informer_trouble(pl_controller_informer(sites, 0));
    REQUIRE(trouble != NULL);
    CHECK_INT(trouble->code, PL_ENOTFOUND);
    struct pl_buf why = PL_BUF_INIT;
    pl_controller_explain(sites, &why);
    CHECK(strstr(pl_buf_z(&why), "source example.com/v1/Website: ") != NULL);
    CHECK(strstr(pl_buf_z(&why), "; next look for the kind of example.com/v1/Website: for ") !=
          NULL);
    CHECK(strstr(pl_buf_z(&why), "v1/ConfigMap") == NULL);
    pl_buf_deinit(&why);
    stage.bed.no_websites = false;
    bed_pass(&stage.bed, 20 * PL_SECOND);
    stage_sync(&stage, "/apis/example.com/v1/websites", BED_LIST("Website", "20", "", ));
    CHECK(pl_controller_is_running(sites));
    bed_pass(&stage.bed, 2 * PL_SECOND);
    CHECK(pl_informer_trouble(pl_controller_informer(sites, 0)) == NULL);
    stage_deinit(&stage);
}

TEST(when_no_controller_can_start_in_time_the_host_ends_with_4)
{
    struct stage stage;
    stage_init(&stage);
    struct pl_controller_spec spec = spec_of("maps");
    spec.cache_sync_timeout_ns = 30 * PL_SECOND;
    maps(&stage, &spec);
    pl_manager_start(stage.manager);
    bed_reply(&stage.bed, bed_expect(&stage.bed, "GET", "/api/v1/configmaps"), 403,
              BED_STATUS(403, "Forbidden"));
    CHECK_INT(stage.stopped, 0);
    bed_pass(&stage.bed, 31 * PL_SECOND);
    CHECK_INT(stage.stopped, 1);
    CHECK_INT(stage.exit_code, 4);
    stage_deinit(&stage);
}

TEST(a_stop_lets_running_reconciles_finish_and_starts_no_new_one)
{
    struct stage stage;
    struct fake_request *watch = begin(&stage);
    pl_manager_stop(stage.manager);
    bed_stream(&stage.bed, watch, BED_EVENT("ADDED", BED_MAP("b", "2", "11", "")));
    bed_pass(&stage.bed, 10 * PL_SECOND);
    CHECK_INT(stage.stopped, 0);
    fake_finish(&stage.fake, "d/a", PL_OUTCOME_ERROR);
    bed_run(&stage.bed);
    CHECK_INT(stage.stopped, 1);
    CHECK_INT(stage.exit_code, 0);
    check_log(&stage.fake, "");
    stage_deinit(&stage);
}

TEST(five_seconds_before_the_grace_ends_runs_are_cancelled)
{
    struct stage stage;
    begin(&stage);
    pl_manager_stop(stage.manager);
    bed_pass(&stage.bed, 19 * PL_SECOND);
    check_log(&stage.fake, "");
    bed_pass(&stage.bed, 2 * PL_SECOND);
    check_log(&stage.fake, "cancel d/a ECANCELED;");
    fake_finish(&stage.fake, "d/a", PL_OUTCOME_CANCELED);
    bed_run(&stage.bed);
    CHECK_INT(stage.exit_code, 0);
    stage_deinit(&stage);
}

TEST(half_of_a_short_grace_is_for_runs)
{
    struct stage stage;
    stage_init(&stage);
    pl_manager_destroy(stage.manager);
    stage.manager = pl_manager_create(&(struct pl_manager_options){.cluster = stage.bed.cluster,
                                                                   .grace_ns = 4 * PL_SECOND,
                                                                   .stopped = on_manager_stopped,
                                                                   .arg = &stage});
    struct pl_controller_spec spec = spec_of("maps");
    begin_with(&stage, &spec);
    pl_manager_stop(stage.manager);
    bed_pass(&stage.bed, 2 * PL_SECOND - PL_MS);
    check_log(&stage.fake, "");
    bed_pass(&stage.bed, 2 * PL_MS);
    check_log(&stage.fake, "cancel d/a ECANCELED;");
    fake_finish(&stage.fake, "d/a", PL_OUTCOME_CANCELED);
    bed_run(&stage.bed);
    stage_deinit(&stage);
}

TEST(a_grace_period_that_runs_out_ends_with_1)
{
    struct stage stage;
    begin(&stage);
    pl_manager_stop(stage.manager);
    bed_pass(&stage.bed, 26 * PL_SECOND);
    CHECK_INT(stage.exit_code, 1);
    CHECK(!pl_manager_is_clean(stage.manager));
    CHECK(!pl_gate_is_open(pl_cluster_gate(stage.bed.cluster)));
    fake_finish(&stage.fake, "d/a", PL_OUTCOME_CANCELED);
    stage_deinit(&stage);
}

TEST(without_grace_a_stop_is_clean_when_nothing_runs)
{
    struct stage stage;
    stage_init(&stage);
    pl_manager_destroy(stage.manager);
    stage.manager = pl_manager_create(&(struct pl_manager_options){
        .cluster = stage.bed.cluster, .stopped = on_manager_stopped, .arg = &stage});
    struct pl_controller_spec spec = spec_of("maps");
    begin_with(&stage, &spec);
    fake_finish(&stage.fake, "d/a", PL_OUTCOME_DONE);
    pl_manager_stop(stage.manager);
    bed_pass(&stage.bed, 0);
    CHECK_INT(stage.stopped, 1);
    CHECK_INT(stage.exit_code, 0);
    stage_deinit(&stage);
}

TEST(a_stop_does_not_wait_for_those_who_still_read)
{
    struct stage stage;
    begin(&stage);
    struct pl_controller *controller = pl_manager_find(stage.manager, pl_slice_z("maps"));
    struct pl_informer *informer = pl_informer_ref(pl_controller_informer(controller, 0));
    fake_finish(&stage.fake, "d/a", PL_OUTCOME_DONE);
    pl_manager_stop(stage.manager);
    bed_run(&stage.bed);
    CHECK_INT(stage.stopped, 1);
    CHECK(pl_manager_is_clean(stage.manager));
    CHECK_INT(stage.bed.net.open_count, 0);
    CHECK_INT(pl_store_count(pl_informer_store(informer)), 1);
    pl_informer_unref(informer);
    stage_deinit(&stage);
}

TEST(losing_the_lead_cancels_runs_and_gaining_it_resumes_them)
{
    struct stage stage;
    begin(&stage);
    struct pl_controller *controller = pl_manager_find(stage.manager, pl_slice_z("maps"));
    pl_controller_set_may_run(controller, false);
    check_log(&stage.fake, "cancel d/a ECANCELED;");
    fake_finish(&stage.fake, "d/a", PL_OUTCOME_CANCELED);
    bed_pass(&stage.bed, 60 * PL_SECOND);
    check_log(&stage.fake, "");
    pl_controller_set_may_run(controller, true);
    bed_run(&stage.bed);
    check_log(&stage.fake, "start d/a(RETRY);");
    fake_finish(&stage.fake, "d/a", PL_OUTCOME_DONE);
    stage_deinit(&stage);
}

/* Another leader ran the key meanwhile, and may have died while the key was failing. */
TEST(who_leads_again_runs_all_keys_again)
{
    struct stage stage;
    begin(&stage);
    struct pl_controller *controller = pl_manager_find(stage.manager, pl_slice_z("maps"));
    fake_finish(&stage.fake, "d/a", PL_OUTCOME_DONE);
    pl_controller_set_may_run(controller, false);
    bed_pass(&stage.bed, 60 * PL_SECOND);
    check_log(&stage.fake, "");
    pl_controller_set_may_run(controller, true);
    bed_run(&stage.bed);
    check_log(&stage.fake, "start d/a(RESYNC);");
    fake_finish(&stage.fake, "d/a", PL_OUTCOME_DONE);
    bed_pass(&stage.bed, 60 * PL_SECOND);
    check_log(&stage.fake, ""); /* once */
    stage_deinit(&stage);
}

TEST(mistakes_in_declarations_are_refused) /* rule 142 */
{
    static const char *const wants[] = {"For twice", "needs For", "nothing wakes",
                                        "not a controller name", "at least 1"};
    for (size_t i = 0; i < PL_ARRAY_LEN(wants); i++) {
        struct pl_controller_spec spec = spec_of(i == 3 ? "Not_a_name" : "x");
        if (i == 0 || i == 3 || i == 4)
            add_source(&spec, PL_SOURCE_FOR, "v1/Pod", PL_MAP_SELF);
        if (i == 0)
            add_source(&spec, PL_SOURCE_FOR, "v1/Node", PL_MAP_SELF);
        if (i == 1)
            add_source(&spec, PL_SOURCE_OWNS, "v1/Pod", PL_MAP_OWNER);
        if (i == 2)
            add_source(&spec, PL_SOURCE_READS, "v1/Pod", PL_MAP_SELF);
        if (i == 4)
            spec.max_concurrent = 0;
        struct pl_err err = {0};
        CHECK_INT(pl_controller_spec_check(&spec, &err), PL_EINVAL);
        if (strstr(err.message, wants[i]) == NULL)
            TEST_FAIL("\"%s\" does not say \"%s\"", err.message, wants[i]);
        pl_controller_spec_deinit(&spec);
    }
}

TEST_MAIN()
