/* The fence of the gate: writes of leader-only controllers, while this replica leads and while it
 * does not. */
#include "unit/control/bed_controller.h"

#define MAPS "/api/v1/configmaps"

struct scene {
    struct stage stage;
    struct pl_gate *gate;
    struct pl_fence fence;
    bool open;
    struct pl_controller *leader_only, *everywhere;
    struct pl_shards *shards; /* NULL: none */
    unsigned shard;           /* of the run that writes */
    /* What on_written was told. */
    int written;
    struct pl_err err;
};

static bool may_write(void *arg)
{
    const struct scene *scene = arg;
    return scene->open;
}

static void on_written(void *arg, const struct pl_written *written)
{
    struct scene *scene = arg;
    scene->written++;
    pl_err_clear(&scene->err);
    if (written->err != NULL)
        scene->err = *written->err;
}

static struct pl_controller *add(struct scene *scene, const char *name, bool leader_election)
{
    struct pl_controller_spec spec = spec_of(name);
    spec.leader_election = leader_election;
    add_source(&spec, PL_SOURCE_FOR, "v1/ConfigMap", PL_MAP_SELF);
    return stage_add(&scene->stage, &spec);
}

static void begin_with(struct scene *scene, struct pl_shards *shards)
{
    *scene = (struct scene){.open = true, .shards = shards};
    stage_init_sharded(&scene->stage, NULL, false, shards);
    scene->leader_only = add(scene, "leads", true);
    scene->everywhere = add(scene, "anywhere", false);
    scene->gate = pl_cluster_gate(scene->stage.bed.cluster);
    scene->fence = (struct pl_fence){may_write, scene};
    pl_gate_fence(scene->gate, &scene->fence);
    pl_manager_start(scene->stage.manager);
    if (shards != NULL) /* one server has a part of the request, the other all of it */
        bed_reply(&scene->stage.bed, bed_expect(&scene->stage.bed, "GET", MAPS), 200,
                  BED_MAPS("10", ));
    stage_sync(&scene->stage, MAPS, BED_MAPS("10", ));
    if (shards != NULL)
        fake_begin(bed_expect(&scene->stage.bed, "GET", MAPS), 200);
    bed_run(&scene->stage.bed);
}

static void begin(struct scene *scene)
{
    begin_with(scene, NULL);
}

static void finish(struct scene *scene)
{
    bed_run(&scene->stage.bed);
    while (fake_run(&scene->stage.fake, "d/n") != NULL) { /* it was told of the write */
        fake_finish(&scene->stage.fake, "d/n", PL_OUTCOME_DONE);
        bed_run(&scene->stage.bed);
    }
    stage_deinit(&scene->stage);
    pl_shards_destroy(scene->shards);
}

static void create_as(struct scene *scene, struct pl_controller *who, bool any_replica)
{
    struct pl_write write = {.verb = PL_VERB_CREATE,
                             .kind = kind_of("v1/ConfigMap"),
                             .ns = pl_slice_z("d"),
                             .name = pl_slice_z("n"),
                             .grace_period = -1,
                             .controller = who != NULL ? pl_controller_writer(who) : NULL,
                             .any_replica = any_replica,
                             .shard = scene->shard};
    write.body = bed_doc("{\"metadata\":{\"name\":\"n\",\"namespace\":\"d\"}}");
    scene->written = 0;
    pl_gate_write(scene->gate, &write, on_written, scene);
    CHECK_INT(scene->written, 0); /* never from inside */
    pl_doc_unref(write.body);
    bed_run(&scene->stage.bed);
}

static struct fake_request *expect_post(struct scene *scene)
{
    return bed_expect(&scene->stage.bed, "POST", "/api/v1/namespaces/d/configmaps?");
}

static void check_refused(struct scene *scene)
{
    bed_run(&scene->stage.bed);
    CHECK_INT(scene->written, 1);
    CHECK_INT(scene->err.code, PL_EREFUSED);
    CHECK_STR(scene->err.reason, "leader");
    CHECK(bed_is_quiet(&scene->stage.bed));
}

static void check_made(struct scene *scene)
{
    bed_reply(&scene->stage.bed, expect_post(scene), 201, BED_MAP("n", "3", "20", ""));
    CHECK_INT(scene->written, 1);
    CHECK_INT(scene->err.code, 0);
}

TEST(who_leads_may_write_and_who_does_not_asks_nothing_of_the_server)
{
    struct scene scene;
    begin(&scene);
    create_as(&scene, scene.leader_only, false);
    CHECK_INT(scene.written, 0);
    check_made(&scene);
    scene.open = false;
    create_as(&scene, scene.leader_only, false);
    check_refused(&scene);
    struct pl_gate_stats stats;
    pl_gate_stats(scene.gate, &stats);
    CHECK_INT(stats.sent, 1);
    CHECK_INT(stats.refused, 1);
    finish(&scene);
}

TEST(controllers_that_run_on_every_replica_are_not_fenced)
{
    struct scene scene;
    begin(&scene);
    scene.open = false;
    create_as(&scene, scene.everywhere, false);
    check_made(&scene);
    finish(&scene);
}

TEST(a_write_without_a_controller_is_a_leaders_unless_it_says_otherwise)
{
    struct scene scene;
    begin(&scene);
    scene.open = false;
    create_as(&scene, NULL, false);
    check_refused(&scene);
    create_as(&scene, NULL, true);
    check_made(&scene);
    finish(&scene);
}

TEST(without_a_fence_every_write_is_this_replicas_to_make)
{
    struct stage stage;
    stage_init(&stage);
    struct scene scene = {.gate = pl_cluster_gate(stage.bed.cluster)};
    struct pl_write write = {.verb = PL_VERB_DELETE,
                             .kind = kind_of("v1/ConfigMap"),
                             .ns = pl_slice_z("d"),
                             .name = pl_slice_z("n"),
                             .grace_period = -1};
    pl_gate_write(scene.gate, &write, on_written, &scene);
    struct fake_request *request = bed_expect(&stage.bed, "DELETE", "/api/v1/namespaces/d/");
    CHECK(request->request.fence == NULL);
    CHECK_INT(request->request.lane, 0);
    bed_reply(&stage.bed, request, 200, BED_MAP("n", "3", "20", ""));
    CHECK_INT(scene.written, 1);
    stage_deinit(&stage);
}

TEST(what_is_behind_the_fence_has_connections_of_its_own)
{
    struct scene scene;
    begin(&scene);
    create_as(&scene, scene.leader_only, false);
    struct fake_request *post = expect_post(&scene);
    CHECK(post->request.fence == &scene.fence);
    CHECK_INT(post->request.lane, PL_HTTP_LANE_FENCED);
    bed_reply(&scene.stage.bed, post, 201, BED_MAP("n", "3", "20", ""));
    create_as(&scene, scene.everywhere, false);
    post = expect_post(&scene);
    CHECK(post->request.fence == NULL);
    CHECK_INT(post->request.lane, 0);
    bed_reply(&scene.stage.bed, post, 201, BED_MAP("n", "3", "20", ""));
    finish(&scene);
}

/* F45: the gate does not know it yet; only the connection became ready too late. */
TEST(a_write_that_waited_for_its_connection_is_refused_when_it_could_be_sent)
{
    struct scene scene;
    begin(&scene);
    create_as(&scene, scene.leader_only, false);
    scene.open = false; /* the transport asks when the test takes the request */
    CHECK(fake_take(&scene.stage.bed.net, "POST", "") == NULL);
    check_refused(&scene);
    finish(&scene);
}

TEST(a_retry_asks_the_fence_anew)
{
    struct scene scene;
    begin(&scene);
    create_as(&scene, scene.leader_only, false);
    struct pl_http_header soon = {"retry-after", "1"};
    fake_reply_with(expect_post(&scene), 429, &soon, 1,
                    pl_slice_z(BED_STATUS(429, "TooManyRequests")));
    bed_run(&scene.stage.bed);
    CHECK_INT(scene.written, 0);
    scene.open = false;
    bed_pass(&scene.stage.bed, 2 * PL_SECOND);
    CHECK(fake_take(&scene.stage.bed.net, "POST", "") == NULL);
    check_refused(&scene);
    finish(&scene);
}

/* d is in shard 3 of 4, and the run began when it was ours. */
TEST(a_write_of_a_run_leaves_while_the_shard_of_its_key_is_held_and_no_longer)
{
    static const enum pl_shard_state held[] = {PL_SHARD_OURS, PL_SHARD_GOING, PL_SHARD_COMING};
    struct scene scene;
    struct pl_shard_set which = {{1 << 3}};
    struct pl_shards *shards = pl_shards_create(4, PL_SHARD_BY_NAMESPACE);
    pl_shards_set(shards, &which, PL_SHARD_OURS);
    begin_with(&scene, shards);
    scene.shard = 3 + 1;
    for (size_t i = 0; i < PL_ARRAY_LEN(held); i++) {
        pl_shards_set(shards, &which, held[i]);
        create_as(&scene, scene.leader_only, false);
        check_made(&scene);
    }
    create_as(&scene, scene.leader_only, false);
    struct pl_http_header soon = {"retry-after", "1"};
    fake_reply_with(expect_post(&scene), 429, &soon, 1,
                    pl_slice_z(BED_STATUS(429, "TooManyRequests")));
    bed_run(&scene.stage.bed);
    pl_shards_set(shards, &which, PL_SHARD_ELSEWHERE);
    bed_pass(&scene.stage.bed, 2 * PL_SECOND);
    check_refused(&scene);
    create_as(&scene, scene.leader_only, false);
    check_refused(&scene);
    CHECK(strstr(scene.err.message, "does not hold the shard of the run's key") != NULL);
    pl_shards_set(shards, &which, PL_SHARD_COMING);
    bed_reply(&scene.stage.bed, bed_expect(&scene.stage.bed, "GET", MAPS), 200, BED_MAPS("20", ));
    create_as(&scene, scene.leader_only, false);
    struct fake_request *post = expect_post(&scene);
    pl_shards_set(shards, &which, PL_SHARD_ELSEWHERE);
    check_refused(&scene);
    CHECK(post->canceled);
    CHECK(strstr(scene.err.message, "the run's shard was lost while it was on its way") != NULL);
    create_as(&scene, scene.everywhere, false); /* is not sharded */
    check_made(&scene);
    scene.shard = 0; /* a key that belongs to no shard */
    create_as(&scene, scene.leader_only, false);
    check_made(&scene);
    finish(&scene);
}

TEST(closing_cancels_what_is_in_flight_behind_the_fence_and_nothing_else)
{
    struct scene scene, other = {0};
    begin(&scene);
    create_as(&scene, scene.leader_only, false);
    struct fake_request *fenced = expect_post(&scene);
    other = scene; /* another write, told elsewhere */
    struct pl_write write = {.verb = PL_VERB_DELETE,
                             .kind = kind_of("v1/ConfigMap"),
                             .ns = pl_slice_z("d"),
                             .name = pl_slice_z("n"),
                             .grace_period = -1,
                             .controller = pl_controller_writer(scene.everywhere)};
    pl_gate_write(scene.gate, &write, on_written, &other);
    struct fake_request *free = bed_expect(&scene.stage.bed, "DELETE", "/api/v1/");
    scene.open = false;
    pl_gate_cut(scene.gate);
    CHECK_INT(scene.written, 0); /* later */
    check_refused(&scene);
    CHECK(fenced->canceled);
    CHECK(strstr(scene.err.message, "is not known") != NULL);
    CHECK(!free->canceled);
    bed_reply(&scene.stage.bed, free, 200, BED_MAP("n", "3", "20", ""));
    CHECK_INT(other.written, 1);
    CHECK_INT(other.err.code, 0);
    finish(&scene);
}

TEST(closing_ends_a_write_that_was_not_sent_yet)
{
    struct scene scene;
    begin(&scene);
    struct pl_doc *body = bed_doc("{\"metadata\":{\"name\":\"n\",\"namespace\":\"d\"}}");
    struct pl_write write = {.verb = PL_VERB_CREATE,
                             .kind = kind_of("v1/ConfigMap"),
                             .ns = pl_slice_z("d"),
                             .grace_period = -1,
                             .body = body,
                             .controller = pl_controller_writer(scene.leader_only)};
    pl_gate_write(scene.gate, &write, on_written, &scene);
    pl_doc_unref(body);
    pl_gate_cut(scene.gate); /* still asking discovery */
    check_refused(&scene);
    CHECK(strstr(scene.err.message, "is not the leader") != NULL);
    finish(&scene);
}

TEST(a_fence_that_opens_again_lets_writes_pass)
{
    struct scene scene;
    begin(&scene);
    scene.open = false;
    pl_gate_cut(scene.gate);
    create_as(&scene, scene.leader_only, false);
    check_refused(&scene);
    scene.open = true;
    create_as(&scene, scene.leader_only, false);
    check_made(&scene);
    finish(&scene);
}

TEST(a_connection_cut_behind_a_closed_fence_is_a_refusal_and_an_answer_stays_one)
{
    struct scene scene;
    begin(&scene);
    create_as(&scene, scene.leader_only, false);
    struct fake_request *post = expect_post(&scene);
    scene.open = false;
    fake_fail(post, PL_ENETWORK, "ConnectionReset");
    check_refused(&scene);
    scene.open = true;
    create_as(&scene, scene.leader_only, false);
    post = expect_post(&scene);
    scene.open = false;
    bed_reply(&scene.stage.bed, post, 409, BED_STATUS(409, "AlreadyExists"));
    CHECK_INT(scene.err.code, PL_EAPI);
    finish(&scene);
}

TEST(a_host_past_its_grace_refuses_for_that_reason_also_behind_a_fence)
{
    struct scene scene;
    begin(&scene);
    scene.open = false;
    pl_gate_close(scene.gate, "stopping", "the grace period is over");
    create_as(&scene, scene.leader_only, false);
    CHECK_INT(scene.err.code, PL_EREFUSED);
    CHECK_STR(scene.err.reason, "stopping");
    finish(&scene);
}

static int refusal(struct scene *scene, struct pl_gate *gate)
{
    struct pl_write write = {.verb = PL_VERB_DELETE,
                             .kind = kind_of("v1/ConfigMap"),
                             .ns = pl_slice_z("d"),
                             .name = pl_slice_z("n"),
                             .grace_period = -1,
                             .controller = pl_controller_writer(scene->leader_only),
                             .shard = scene->shard};
    scene->written = 0;
    pl_gate_write(gate, &write, on_written, scene);
    bed_run(&scene->stage.bed);
    return scene->written == 1 ? scene->err.code : 0;
}

TEST(the_gate_of_another_cluster_has_the_fence_and_the_end_of_the_own_one)
{
    struct scene scene;
    begin(&scene);
    struct pl_cluster *home = scene.stage.bed.cluster;
    const struct pl_gate_options options = {.site = pl_cluster_site(home),
                                            .informers = pl_cluster_informers(home),
                                            .parent = scene.gate,
                                            .cluster = &scene};
    struct pl_gate *gate = pl_gate_create(&options);
    scene.open = false;
    CHECK_INT(refusal(&scene, gate), PL_EREFUSED);
    CHECK_STR(scene.err.reason, "leader");
    scene.open = true;
    CHECK_INT(refusal(&scene, gate), 0);
    struct fake_request *sent = bed_expect(&scene.stage.bed, "DELETE", "/api/v1/");
    scene.open = false;
    pl_gate_cut(scene.gate); /* cuts both */
    bed_run(&scene.stage.bed);
    CHECK(sent->canceled);
    CHECK_INT(scene.written, 1);
    pl_gate_close(scene.gate, "stopping", "the host is stopping");
    CHECK(!pl_gate_is_open(gate));
    CHECK_INT(refusal(&scene, gate), PL_EREFUSED);
    CHECK_STR(scene.err.reason, "stopping");
    pl_gate_destroy(gate);
    finish(&scene);
}

/* Another cluster, which has no shards. */
TEST(a_write_to_another_cluster_leaves_while_the_shard_of_the_runs_key_is_held_too)
{
    struct scene scene;
    struct bed other;
    struct pl_shard_set which = {{1 << 3}};
    struct pl_shards *shards = pl_shards_create(4, PL_SHARD_BY_NAMESPACE);
    pl_shards_set(shards, &which, PL_SHARD_OURS);
    begin_with(&scene, shards);
    scene.shard = 3 + 1;
    bed_init(&other);
    const struct pl_gate_options options = {.site = pl_cluster_site(other.cluster),
                                            .informers = pl_cluster_informers(other.cluster),
                                            .parent = scene.gate,
                                            .cluster = &scene};
    struct pl_gate *gate = pl_gate_create(&options);
    refusal(&scene, gate);
    struct fake_request *sent = bed_expect(&other, "DELETE", "/api/v1/");
    CHECK_INT(scene.written, 0);
    pl_shards_set(shards, &which, PL_SHARD_ELSEWHERE);
    bed_run(&other);
    CHECK(sent->canceled);
    CHECK_INT(scene.written, 1);
    CHECK_STR(scene.err.reason, "leader");
    refusal(&scene, gate);
    bed_run(&other);
    CHECK_INT(scene.written, 1);
    CHECK(strstr(scene.err.message, "does not hold the shard") != NULL);
    pl_gate_destroy(gate);
    bed_deinit(&other);
    finish(&scene);
}

TEST_MAIN()
