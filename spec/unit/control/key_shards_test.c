#include "control/key_shards.h"

#include "bed_controller.h"
#include "control/report.h"
#include "control/shard_key_count.h"

/* Of 4 shards. Namespaces: e is in 0, b in 1, a in 2, f in 3. Uids: ba. is in 0, ja. in 1, 8a. in
 * 2, aa. in 3. */
#define IN(ns, name, uid, rv)                                                                      \
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"" name                 \
    "\",\"namespace\":\"" ns "\",\"uid\":\"" uid "\",\"resourceVersion\":\"" rv "\"}}"
#define POD                                                                                        \
    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\",\"namespace\":\"f\","    \
    "\"uid\":\"aab\",\"resourceVersion\":\"5\"}}"
#define MAPS "/api/v1/configmaps"
#define ALL  IN("e", "x", "baa", "5") "," IN("f", "x", "aaa", "8")

struct shared {
    struct stage stage;
    struct pl_shards *shards;
    struct fake_request *watch;
};

static void set(struct shared *t, unsigned shard, enum pl_shard_state state)
{
    struct pl_shard_set which = {{0}};
    pl_shard_set_add(&which, shard);
    pl_shards_set(t->shards, &which, state);
    bed_run(&t->stage.bed);
}

static void open_shared(struct shared *t, enum pl_shard_by by)
{
    *t = (struct shared){.shards = pl_shards_create(4, by)};
    stage_init_sharded(&t->stage, NULL, false, t->shards);
}

static void close_shared(struct shared *t)
{
    stage_deinit(&t->stage);
    pl_shards_destroy(t->shards);
}

static struct pl_controller *add_maps(struct shared *t)
{
    struct pl_controller_spec spec = spec_of("maps");
    spec.leader_election = true;
    spec.max_concurrent = 4;
    add_source(&spec, PL_SOURCE_FOR, "v1/ConfigMap", PL_MAP_SELF);
    return stage_add(&t->stage, &spec);
}

/* A controller For ConfigMaps that has shard 0. */
static struct pl_controller *begin(struct shared *t, enum pl_shard_by by)
{
    open_shared(t, by);
    struct pl_controller *controller = add_maps(t);
    set(t, 0, PL_SHARD_COMING);
    pl_manager_start(t->stage.manager);
    t->watch = stage_sync(&t->stage, MAPS, BED_MAPS("10", ALL));
    set(t, 0, PL_SHARD_OURS);
    check_log(&t->stage.fake, "start e/x(RESYNC);");
    fake_finish(&t->stage.fake, "e/x", PL_OUTCOME_DONE);
    return controller;
}

static void add_shard_3(struct shared *t)
{
    set(t, 3, PL_SHARD_COMING);
    bed_reply(&t->stage.bed, bed_expect(&t->stage.bed, "GET", MAPS), 200, BED_MAPS("10", ALL));
    check_log(&t->stage.fake, ""); /* not before it is ours */
    set(t, 3, PL_SHARD_OURS);
    check_log(&t->stage.fake, "start f/x(RESYNC);");
}

TEST(a_shard_that_comes_has_each_of_its_keys_run_once)
{
    static const enum pl_shard_by ways[] = {PL_SHARD_BY_NAMESPACE, PL_SHARD_BY_UID};
    for (size_t i = 0; i < PL_ARRAY_LEN(ways); i++) {
        struct shared t;
        begin(&t, ways[i]);
        add_shard_3(&t);
        fake_finish(&t.stage.fake, "f/x", PL_OUTCOME_DONE);
        bed_stream(&t.stage.bed, t.watch, BED_EVENT("MODIFIED", IN("f", "x", "aaa", "11")));
        check_log(&t.stage.fake, "start f/x(MODIFIED);");
        fake_finish(&t.stage.fake, "f/x", PL_OUTCOME_DONE);
        close_shared(&t);
    }
}

TEST(a_shard_that_goes_drains_and_takes_everything_of_its_keys_along)
{
    static const enum pl_shard_by ways[] = {PL_SHARD_BY_NAMESPACE, PL_SHARD_BY_UID};
    for (size_t i = 0; i < PL_ARRAY_LEN(ways); i++) {
        struct shared t;
        struct pl_controller *controller = begin(&t, ways[i]);
        add_shard_3(&t);
        set(&t, 3, PL_SHARD_GOING);
        CHECK(!pl_shards_is_settled(t.shards, 3));
        bed_stream(&t.stage.bed, t.watch, BED_EVENT("MODIFIED", IN("f", "x", "aaa", "11")));
        fake_finish(&t.stage.fake, "f/x", PL_OUTCOME_ERROR); /* is tried again by the next */
        bed_run(&t.stage.bed);
        CHECK(pl_shards_is_settled(t.shards, 3));
        bed_pass(&t.stage.bed, PL_SECOND);
        check_log(&t.stage.fake, "");
        set(&t, 3, PL_SHARD_ELSEWHERE);
        check_log(&t.stage.fake, "gone f/x;");
        CHECK_INT(pl_workqueue_len(pl_controller_queue(controller), 0), 0);
        CHECK_INT(pl_workqueue_requeues(pl_controller_queue(controller), pl_slice_z("f/x")), 0);
        close_shared(&t);
    }
}

TEST(runs_that_last_too_long_are_cancelled_when_their_shard_goes)
{
    struct shared t;
    begin(&t, PL_SHARD_BY_NAMESPACE);
    add_shard_3(&t);
    set(&t, 3, PL_SHARD_GOING);
    bed_pass(&t.stage.bed, 26 * PL_SECOND);
    check_log(&t.stage.fake, "cancel f/x ECANCELED;");
    fake_finish(&t.stage.fake, "f/x", PL_OUTCOME_CANCELED);
    bed_run(&t.stage.bed);
    CHECK(pl_shards_is_settled(t.shards, 3));
    close_shared(&t);
}

TEST(a_shard_that_is_lost_has_its_runs_cancelled_and_the_others_untouched)
{
    struct shared t;
    begin(&t, PL_SHARD_BY_UID);
    add_shard_3(&t);
    bed_stream(&t.stage.bed, t.watch, BED_EVENT("MODIFIED", IN("e", "x", "baa", "11")));
    check_log(&t.stage.fake, "start e/x(MODIFIED);");
    CHECK_INT(fake_run(&t.stage.fake, "f/x")->shard, 4);
    CHECK_INT(fake_run(&t.stage.fake, "e/x")->shard, 1);
    set(&t, 3, PL_SHARD_ELSEWHERE);
    check_log(&t.stage.fake, "cancel f/x ECANCELED;gone f/x;");
    fake_finish(&t.stage.fake, "f/x", PL_OUTCOME_CANCELED);
    fake_finish(&t.stage.fake, "e/x", PL_OUTCOME_DONE);
    bed_pass(&t.stage.bed, PL_SECOND);
    check_log(&t.stage.fake, "");
    close_shared(&t);
}

TEST(by_uid_an_object_that_went_is_run_and_a_key_without_one_is_not_queued)
{
    struct shared t;
    struct pl_controller *controller = begin(&t, PL_SHARD_BY_UID);
    struct pl_add how = {.priority = 0};
    bed_stream(&t.stage.bed, t.watch, BED_EVENT("DELETED", IN("e", "x", "baa", "11")));
    check_log(&t.stage.fake, "start e/x(DELETED);");
    fake_finish(&t.stage.fake, "e/x", PL_OUTCOME_DONE);
    pl_controller_enqueue(controller, pl_slice_z("e/other"), &how, PL_CAUSE_CHANNEL);
    bed_run(&t.stage.bed);
    check_log(&t.stage.fake, "");
    CHECK_INT(pl_controller_shard_of(controller, pl_slice_z("e/other")), PL_NO_SHARD);
    CHECK(!pl_controller_is_foreign(controller, pl_slice_z("e/other")));
    close_shared(&t);
}

/* The replica that has the key has the object, too, and sees the same event. */
TEST(by_uid_maps_and_channels_wake_only_what_is_cached)
{
    struct shared t;
    open_shared(&t, PL_SHARD_BY_UID);
    struct pl_controller_spec spec = spec_of("maps");
    spec.leader_election = true;
    add_source(&spec, PL_SOURCE_FOR, "v1/ConfigMap", PL_MAP_SELF);
    add_source(&spec, PL_SOURCE_WATCHES, "v1/Pod", PL_MAP_EXTERNAL);
    struct pl_controller *controller = stage_add(&t.stage, &spec);
    set(&t, 0, PL_SHARD_COMING);
    pl_manager_start(t.stage.manager);
    stage_sync(&t.stage, "/api/v1/pods", BED_LIST("Pod", "10", "", POD));
    stage_sync(&t.stage, MAPS, BED_MAPS("10", ALL));
    set(&t, 0, PL_SHARD_OURS);
    check_log(&t.stage.fake, "start e/x(RESYNC);");
    fake_finish(&t.stage.fake, "e/x", PL_OUTCOME_DONE);
    bed_run(&t.stage.bed);
    struct pl_question *question = fake_question(&t.stage.fake);
    pl_question_request(question, pl_slice_z("f"), pl_slice_z("x"));
    pl_question_request(question, pl_slice_z("e"), pl_slice_z("other"));
    pl_question_request(question, pl_slice_z("e"), pl_slice_z("x"));
    pl_question_done(question);
    pl_controller_send(controller, "hook", pl_slice_z("f/x"));
    bed_run(&t.stage.bed);
    check_log(&t.stage.fake, "start e/x(ADDED);");
    fake_finish(&t.stage.fake, "e/x", PL_OUTCOME_DONE);
    bed_run(&t.stage.bed);
    check_log(&t.stage.fake, "");
    struct pl_buf text = PL_BUF_INIT;
    pl_metrics_write(t.stage.bed.metrics, &text);
    CHECK(strstr(pl_buf_z(&text), "perilune_shard_foreign_keys_total") == NULL);
    pl_buf_deinit(&text);
    close_shared(&t);
}

/* The name is still queued, from the object before. */
TEST(by_uid_a_name_whose_object_is_now_in_a_shard_that_is_not_ours_is_not_run)
{
    struct shared t;
    begin(&t, PL_SHARD_BY_UID);
    CHECK_INT(pl_shards_of_uid(t.shards, pl_slice_z("aab")), 3);
    add_shard_3(&t);
    fake_finish(&t.stage.fake, "f/x", PL_OUTCOME_DONE);
    bed_stream(&t.stage.bed, t.watch, BED_EVENT("MODIFIED", IN("e", "x", "baa", "11")));
    check_log(&t.stage.fake, "start e/x(MODIFIED);");
    bed_stream(&t.stage.bed, t.watch, BED_EVENT("MODIFIED", IN("e", "x", "baa", "12")));
    set(&t, 3, PL_SHARD_GOING);
    bed_stream(&t.stage.bed, t.watch, BED_EVENT("DELETED", IN("e", "x", "baa", "13")));
    bed_stream(&t.stage.bed, t.watch, BED_EVENT("ADDED", IN("e", "x", "aab", "14")));
    fake_finish(&t.stage.fake, "e/x", PL_OUTCOME_DONE);
    bed_pass(&t.stage.bed, PL_SECOND);
    check_log(&t.stage.fake, "");
    set(&t, 3, PL_SHARD_OURS); /* its receiver has gone */
    bed_pass(&t.stage.bed, PL_SECOND);
    CHECK(fake_run(&t.stage.fake, "e/x") != NULL);
    fake_finish(&t.stage.fake, "e/x", PL_OUTCOME_DONE);
    bed_run(&t.stage.bed);
    if (fake_run(&t.stage.fake, "f/x") != NULL)
        fake_finish(&t.stage.fake, "f/x", PL_OUTCOME_DONE);
    close_shared(&t);
}

/* One worker: events of the kept keys go first. */
TEST(the_keys_of_a_shard_that_comes_have_low_priority)
{
    struct shared t;
    open_shared(&t, PL_SHARD_BY_NAMESPACE);
    struct pl_controller_spec spec = spec_of("maps");
    spec.leader_election = true;
    add_source(&spec, PL_SOURCE_FOR, "v1/ConfigMap", PL_MAP_SELF);
    stage_add(&t.stage, &spec);
    set(&t, 0, PL_SHARD_COMING);
    pl_manager_start(t.stage.manager);
    t.watch = stage_sync(&t.stage, MAPS, BED_MAPS("10", ALL));
    set(&t, 0, PL_SHARD_OURS);
    check_log(&t.stage.fake, "start e/x(RESYNC);");
    set(&t, 3, PL_SHARD_COMING);
    bed_reply(&t.stage.bed, bed_expect(&t.stage.bed, "GET", MAPS), 200, BED_MAPS("10", ALL));
    set(&t, 3, PL_SHARD_OURS);
    bed_stream(&t.stage.bed, t.watch, BED_EVENT("ADDED", IN("e", "y", "bab", "11")));
    fake_finish(&t.stage.fake, "e/x", PL_OUTCOME_DONE);
    bed_run(&t.stage.bed);
    check_log(&t.stage.fake, "start e/y(ADDED);");
    fake_finish(&t.stage.fake, "e/y", PL_OUTCOME_DONE);
    bed_run(&t.stage.bed);
    check_log(&t.stage.fake, "start f/x(RESYNC);");
    fake_finish(&t.stage.fake, "f/x", PL_OUTCOME_DONE);
    close_shared(&t);
}

TEST(by_namespace_a_key_lies_where_its_namespace_does_whether_it_is_there_or_not)
{
    struct shared t;
    struct pl_controller *controller = begin(&t, PL_SHARD_BY_NAMESPACE);
    struct pl_add how = {.priority = 0};
    CHECK_INT(pl_controller_shard_of(controller, pl_slice_z("f/other")), 3);
    CHECK(pl_controller_is_foreign(controller, pl_slice_z("f/other")));
    CHECK(!pl_controller_is_foreign(controller, pl_slice_z("e/other")));
    pl_controller_enqueue(controller, pl_slice_z("f/other"), &how, PL_CAUSE_CHANNEL);
    pl_controller_enqueue(controller, pl_slice_z("e/other"), &how, PL_CAUSE_CHANNEL);
    bed_run(&t.stage.bed);
    check_log(&t.stage.fake, "start e/other(CHANNEL);");
    fake_finish(&t.stage.fake, "e/other", PL_OUTCOME_DONE);
    close_shared(&t);
}

static struct pl_controller *add_watching(struct shared *t, unsigned workers)
{
    struct pl_controller_spec spec = spec_of("watching");
    spec.leader_election = true;
    spec.max_concurrent = workers;
    add_source(&spec, PL_SOURCE_WATCHES, "v1/ConfigMap", PL_MAP_SELF);
    return stage_add(&t->stage, &spec);
}

static struct pl_controller *add_task(struct shared *t)
{
    struct pl_controller_spec spec = spec_of("task");
    spec.leader_election = true;
    spec.task.form = PL_TASK_RUN;
    return stage_add(&t->stage, &spec);
}

TEST(tasks_and_controllers_without_for_act_where_shard_0_is)
{
    struct shared t;
    open_shared(&t, PL_SHARD_BY_NAMESPACE);
    add_watching(&t, 1);
    add_task(&t);
    set(&t, 3, PL_SHARD_OURS);
    pl_manager_start(t.stage.manager);
    stage_sync(&t.stage, MAPS, BED_MAPS("10", ALL)); /* the whole, everywhere */
    check_log(&t.stage.fake, "");
    set(&t, 0, PL_SHARD_OURS);
    check_log(&t.stage.fake, "start e/x(ADDED);start task(ADDED);");
    set(&t, 0, PL_SHARD_GOING);
    check_log(&t.stage.fake, "stop e/x;stop task;");
    fake_finish(&t.stage.fake, "task", PL_OUTCOME_DONE);
    fake_finish(&t.stage.fake, "e/x", PL_OUTCOME_DONE);
    bed_run(&t.stage.bed);
    CHECK(pl_shards_is_settled(t.shards, 0));
    check_log(&t.stage.fake, "");
    set(&t, 0, PL_SHARD_ELSEWHERE);
    check_log(&t.stage.fake, "gone f/x;");
    set(&t, 0, PL_SHARD_OURS);
    const char *first = fake_run(&t.stage.fake, "e/x") != NULL ? "e/x" : "f/x";
    const char *second = first[0] == 'e' ? "f/x" : "e/x";
    CHECK_INT(t.stage.fake.running, 2);
    fake_finish(&t.stage.fake, "task", PL_OUTCOME_DONE);
    fake_finish(&t.stage.fake, first, PL_OUTCOME_DONE);
    bed_run(&t.stage.bed);
    CHECK_INT(t.stage.fake.running, 1);
    fake_finish(&t.stage.fake, second, PL_OUTCOME_DONE);
    bed_pass(&t.stage.bed, 60 * PL_SECOND);
    CHECK_INT(t.stage.fake.running, 0);
    close_shared(&t);
}

static size_t queued(struct pl_controller *controller)
{
    struct pl_workqueue *queue = pl_controller_queue(controller);
    return pl_workqueue_len(queue, 0) + pl_workqueue_waiting(queue);
}

static size_t failing(const struct pl_controller *controller)
{
    struct pl_controller_report report;
    pl_controller_report(controller, &report);
    return report.failing;
}

TEST(without_for_the_queue_delays_and_failure_counts_go_with_shard_0)
{
    static const enum pl_shard_state ways[] = {PL_SHARD_GOING, PL_SHARD_ELSEWHERE};
    for (size_t i = 0; i < PL_ARRAY_LEN(ways); i++) {
        struct shared t;
        open_shared(&t, PL_SHARD_BY_NAMESPACE);
        struct pl_controller *controller = add_watching(&t, 2);
        pl_manager_start(t.stage.manager);
        t.watch = stage_sync(&t.stage, MAPS, BED_MAPS("10", ALL));
        set(&t, 0, PL_SHARD_OURS);
        fake_finish(&t.stage.fake, "e/x", PL_OUTCOME_ERROR); /* waits for its next attempt */
        fake_finish(&t.stage.fake, "f/x", PL_OUTCOME_DONE);
        pl_buf_clear(&t.stage.fake.log);
        bed_stream(&t.stage.bed, t.watch, BED_EVENT("MODIFIED", IN("f", "x", "aaa", "11")));
        CHECK_INT(queued(controller), 1);
        set(&t, 0, ways[i]);
        fake_finish(&t.stage.fake, "f/x", PL_OUTCOME_ERROR);
        set(&t, 0, PL_SHARD_ELSEWHERE);
        bed_run(&t.stage.bed);
        CHECK_INT(queued(controller), 0);
        CHECK_INT(pl_workqueue_requeues(pl_controller_queue(controller), pl_slice_z("e/x")), 0);
        CHECK_INT(pl_workqueue_requeues(pl_controller_queue(controller), pl_slice_z("f/x")), 0);
        CHECK_INT(failing(controller), 0);
        close_shared(&t);
    }
}

/* The receiver died before it got the shard: the remaining keys are run here. */
TEST(what_waits_while_shard_0_goes_is_done_when_it_stays)
{
    struct shared t;
    open_shared(&t, PL_SHARD_BY_NAMESPACE);
    add_watching(&t, 1);
    add_task(&t);
    pl_manager_start(t.stage.manager);
    stage_sync(&t.stage, MAPS, BED_MAPS("10", ALL));
    set(&t, 0, PL_SHARD_OURS);
    set(&t, 0, PL_SHARD_GOING);
    fake_finish(&t.stage.fake, "task", PL_OUTCOME_DONE); /* it was asked to stop */
    fake_finish(&t.stage.fake, "e/x", PL_OUTCOME_DONE);
    bed_run(&t.stage.bed);
    pl_buf_clear(&t.stage.fake.log);
    set(&t, 0, PL_SHARD_OURS);
    check_log(&t.stage.fake, "start f/x(ADDED);start task(ADDED);");
    fake_finish(&t.stage.fake, "task", PL_OUTCOME_DONE);
    fake_finish(&t.stage.fake, "f/x", PL_OUTCOME_DONE);
    close_shared(&t);
}

TEST(a_task_leaves_nothing_behind_where_shard_0_was_lost)
{
    struct shared t;
    open_shared(&t, PL_SHARD_BY_NAMESPACE);
    struct pl_controller *task = add_task(&t);
    pl_manager_start(t.stage.manager);
    set(&t, 0, PL_SHARD_OURS);
    set(&t, 0, PL_SHARD_ELSEWHERE);
    check_log(&t.stage.fake, "start task(ADDED);cancel task ECANCELED;gone task;");
    fake_finish(&t.stage.fake, "task", PL_OUTCOME_ERROR);
    bed_run(&t.stage.bed);
    CHECK_INT(queued(task), 0);
    CHECK_INT(pl_workqueue_requeues(pl_controller_queue(task), pl_slice_z("task")), 0);
    CHECK_INT(failing(task), 0);
    close_shared(&t);
}

/* Meanwhile another replica ran the keys, and may have died while one of them was failing. */
TEST(without_for_everything_is_run_again_when_shard_0_comes_back)
{
    struct shared t;
    open_shared(&t, PL_SHARD_BY_NAMESPACE);
    add_watching(&t, 2);
    pl_manager_start(t.stage.manager);
    stage_sync(&t.stage, MAPS, BED_MAPS("10", ALL));
    for (int i = 0; i < 2; i++) {
        set(&t, 0, PL_SHARD_OURS);
        CHECK_INT(t.stage.fake.running, 2);
        pl_buf_clear(&t.stage.fake.log);
        fake_finish(&t.stage.fake, "e/x", PL_OUTCOME_DONE);
        fake_finish(&t.stage.fake, "f/x", PL_OUTCOME_DONE);
        set(&t, 0, PL_SHARD_GOING);
        set(&t, 0, PL_SHARD_ELSEWHERE);
    }
    bed_pass(&t.stage.bed, 60 * PL_SECOND);
    check_log(&t.stage.fake, "");
    close_shared(&t);
}

static const char *state_of(const struct pl_controller *controller)
{
    struct pl_controller_report report;
    pl_controller_report(controller, &report);
    return pl_controller_state_name(report.state);
}

TEST(what_runs_where_shard_0_is_is_shown_as_elsewhere_on_the_others)
{
    struct shared t;
    open_shared(&t, PL_SHARD_BY_NAMESPACE);
    struct pl_controller *task = add_task(&t), *watching = add_watching(&t, 1);
    set(&t, 3, PL_SHARD_OURS);
    pl_manager_start(t.stage.manager);
    stage_sync(&t.stage, MAPS, BED_MAPS("10", ALL));
    CHECK_STR(state_of(task), "elsewhere");
    CHECK_STR(state_of(watching), "elsewhere");
    set(&t, 0, PL_SHARD_OURS);
    CHECK_STR(state_of(task), "running");
    CHECK_STR(state_of(watching), "running");
    set(&t, 0, PL_SHARD_GOING); /* it is asked to stop, and still runs */
    CHECK_STR(state_of(task), "running");
    fake_finish(&t.stage.fake, "task", PL_OUTCOME_DONE);
    fake_finish(&t.stage.fake, "e/x", PL_OUTCOME_DONE);
    set(&t, 0, PL_SHARD_ELSEWHERE);
    CHECK_STR(state_of(task), "elsewhere");
    close_shared(&t);
}

TEST(without_for_all_keys_are_in_shard_0)
{
    struct shared t;
    open_shared(&t, PL_SHARD_BY_NAMESPACE);
    struct pl_controller *controller = add_watching(&t, 1);
    pl_manager_start(t.stage.manager);
    set(&t, 3, PL_SHARD_OURS);
    CHECK(pl_controller_is_foreign(controller, pl_slice_z("f/x")));
    set(&t, 0, PL_SHARD_OURS);
    CHECK(!pl_controller_is_foreign(controller, pl_slice_z("f/x")));
    close_shared(&t);
}

TEST(what_acts_on_every_replica_is_sharded_by_nothing)
{
    struct shared t;
    open_shared(&t, PL_SHARD_BY_NAMESPACE);
    struct pl_controller_spec spec = spec_of("everywhere");
    spec.max_concurrent = 2;
    add_source(&spec, PL_SOURCE_FOR, "v1/ConfigMap", PL_MAP_SELF);
    stage_add(&t.stage, &spec);
    pl_manager_start(t.stage.manager);
    stage_sync(&t.stage, MAPS, BED_MAPS("10", ALL));
    check_log(&t.stage.fake, "start e/x(ADDED);start f/x(ADDED);");
    fake_finish(&t.stage.fake, "e/x", PL_OUTCOME_DONE);
    fake_finish(&t.stage.fake, "f/x", PL_OUTCOME_DONE);
    close_shared(&t);
}

static enum pl_source_part part_of(struct pl_controller *controller, size_t source)
{
    return pl_controller_spec(controller)->sources[source].options.part;
}

TEST(the_for_kinds_scope_decides_what_of_other_kinds_is_kept)
{
    struct shared t;
    open_shared(&t, PL_SHARD_BY_NAMESPACE);
    struct pl_controller_spec spec = spec_of("nodes");
    spec.leader_election = true;
    add_source(&spec, PL_SOURCE_FOR, "v1/Node", PL_MAP_SELF);
    add_source(&spec, PL_SOURCE_OWNS, "v1/ConfigMap", PL_MAP_OWNER);
    add_source(&spec, PL_SOURCE_READS, "v1/Pod", PL_MAP_SELF);
    struct pl_controller *nodes = stage_add(&t.stage, &spec);
    struct pl_controller_spec sites = spec_of("sites");
    sites.leader_election = true;
    add_source(&sites, PL_SOURCE_FOR, "example.com/v1/Website", PL_MAP_SELF);
    add_source(&sites, PL_SOURCE_OWNS, "v1/ConfigMap", PL_MAP_OWNER);
    add_source(&sites, PL_SOURCE_READS, "v1/Pod", PL_MAP_SELF)->options.shared = true;
    struct pl_controller *websites = stage_add(&t.stage, &sites);
    pl_manager_start(t.stage.manager);
    bed_run(&t.stage.bed);
    CHECK_INT(part_of(nodes, 0), PL_PART_FOR);
    CHECK_INT(part_of(nodes, 1), PL_PART_CONTROLLER);
    CHECK_INT(part_of(nodes, 2), PL_PART_WHOLE);
    CHECK_INT(part_of(websites, 1), PL_PART_NAMESPACE);
    CHECK_INT(part_of(websites, 2), PL_PART_WHOLE);
    CHECK(pl_controller_informer(nodes, 2) == pl_controller_informer(websites, 2));
    CHECK(pl_controller_informer(nodes, 1) != pl_controller_informer(websites, 1));
    stage_sync(&t.stage, "/api/v1/pods", BED_LIST("Pod", "10", "", ));
    CHECK(bed_is_quiet(&t.stage.bed)); /* no other shard is ours */
    close_shared(&t);
}

TEST(a_foreign_key_of_a_part_is_a_mistake_and_of_the_whole_none)
{
    for (int whole = 0; whole < 2; whole++) {
        struct shared t;
        open_shared(&t, PL_SHARD_BY_NAMESPACE);
        struct pl_controller_spec spec = spec_of("maps");
        spec.leader_election = true;
        add_source(&spec, PL_SOURCE_FOR, "v1/Pod", PL_MAP_SELF);
        add_source(&spec, PL_SOURCE_WATCHES, "v1/ConfigMap", PL_MAP_EXTERNAL)->options.shared =
            whole;
        stage_add(&t.stage, &spec);
        set(&t, 0, PL_SHARD_OURS);
        pl_manager_start(t.stage.manager);
        stage_sync(&t.stage, "/api/v1/pods", BED_LIST("Pod", "10", "", ));
        stage_sync(&t.stage, MAPS, BED_MAPS("10", IN("e", "x", "baa", "5")));
        struct pl_question *question = fake_question(&t.stage.fake);
        pl_question_request(question, pl_slice_z("f"), pl_slice_z("p"));
        pl_question_request(question, pl_slice_z("e"), pl_slice_z("p"));
        pl_question_done(question);
        bed_run(&t.stage.bed);
        check_log(&t.stage.fake, "start e/p(ADDED);");
        struct pl_buf text = PL_BUF_INIT;
        pl_metrics_write(t.stage.bed.metrics, &text);
        CHECK(
            (strstr(pl_buf_z(&text), "perilune_shard_foreign_keys_total{controller=\"maps\"} 1") !=
             NULL) == !whole);
        pl_buf_deinit(&text);
        fake_finish(&t.stage.fake, "e/p", PL_OUTCOME_DONE);
        close_shared(&t);
    }
}

static void sync_many(struct shared *t, int many)
{
    struct pl_buf list = PL_BUF_INIT;
    pl_buf_add_f(&list, "{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",\"metadata\":"
                        "{\"resourceVersion\":\"10\"},\"items\":[");
    for (int i = 0; i < many; i++)
        pl_buf_add_f(&list, "%s" IN("b", "m%d", "u%d", "5"), i > 0 ? "," : "", i, i);
    pl_buf_add_f(&list, "]}");
    stage_sync(&t->stage, MAPS, pl_buf_z(&list));
    pl_buf_deinit(&list);
}

static void list_many(struct shared *t, int many)
{
    sync_many(t, many);
    for (int i = 0; i < many; i++) {
        char key[16];
        snprintf(key, sizeof key, "b/m%d", i);
        fake_finish(&t->stage.fake, key, PL_OUTCOME_DONE);
        bed_run(&t->stage.bed);
    }
}

/* All keys are in one of three shards: a warning for twelve, none for nine. */
TEST(a_shard_with_far_more_keys_than_others_is_named_with_advice)
{
    for (int many = 9; many <= 12; many += 3) {
        struct shared t;
        struct pl_buf advice = PL_BUF_INIT;
        open_shared(&t, PL_SHARD_BY_NAMESPACE);
        add_maps(&t);
        struct pl_shard_key_count *key_count = pl_shard_key_count_create(t.stage.manager);
        for (unsigned shard = 0; shard < 3; shard++)
            set(&t, shard, PL_SHARD_OURS);
        pl_manager_start(t.stage.manager);
        list_many(&t, many);
        bed_pass(&t.stage.bed, 20 * PL_SECOND);
        pl_shard_key_count_advise(key_count, &advice);
        CHECK_INT(pl_shard_key_count_keys(key_count, 1), many);
        CHECK_INT(pl_shard_key_count_keys(key_count, 3), -1);
        CHECK_SLICE(pl_buf_slice(&advice), many == 12 ? "shard 1 has 12 keys, more than twice the "
                                                        "mean of 4: --shard-by uid spreads them"
                                                      : "");
        pl_shard_key_count_destroy(key_count);
        pl_buf_deinit(&advice);
        close_shared(&t);
    }
}

/* Neither zero nor its number from before. */
TEST(a_shard_has_no_count_before_its_keys_are_counted)
{
    struct shared t;
    begin(&t, PL_SHARD_BY_NAMESPACE);
    struct pl_shard_key_count *key_count = pl_shard_key_count_create(t.stage.manager);
    bed_pass(&t.stage.bed, 20 * PL_SECOND);
    CHECK_INT(pl_shard_key_count_keys(key_count, 0), 1);
    for (int i = 0; i < 2; i++) {
        add_shard_3(&t);
        fake_finish(&t.stage.fake, "f/x", PL_OUTCOME_DONE);
        CHECK_INT(pl_shard_key_count_keys(key_count, 3), -1);
        bed_pass(&t.stage.bed, 2 * PL_SECOND);
        CHECK_INT(pl_shard_key_count_keys(key_count, 3), 1);
        CHECK_INT(pl_shard_key_count_keys(key_count, 0), 1);
        set(&t, 3, PL_SHARD_GOING);
        CHECK_INT(pl_shard_key_count_keys(key_count, 3), 1);
        set(&t, 3, PL_SHARD_ELSEWHERE);
        CHECK_INT(pl_shard_key_count_keys(key_count, 3), -1);
        pl_buf_clear(&t.stage.fake.log);
    }
    pl_shard_key_count_destroy(key_count);
    close_shared(&t);
}

/* The objects that are listed so far say nothing. */
TEST(shards_that_are_still_listed_are_no_reason_for_advice)
{
    struct shared t;
    struct pl_buf advice = PL_BUF_INIT;
    open_shared(&t, PL_SHARD_BY_NAMESPACE);
    add_maps(&t);
    struct pl_shard_key_count *key_count = pl_shard_key_count_create(t.stage.manager);
    set(&t, 0, PL_SHARD_OURS);
    set(&t, 2, PL_SHARD_OURS);
    set(&t, 1, PL_SHARD_COMING);
    pl_manager_start(t.stage.manager);
    sync_many(&t, 12);
    bed_pass(&t.stage.bed, 20 * PL_SECOND);
    CHECK_INT(pl_shard_key_count_keys(key_count, 1), 12);
    pl_shard_key_count_advise(key_count, &advice);
    CHECK_SLICE(pl_buf_slice(&advice), "");
    pl_shard_key_count_destroy(key_count);
    pl_buf_deinit(&advice);
    close_shared(&t);
}

TEST_MAIN()
