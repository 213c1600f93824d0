/* Writes to paths: they pass the gate and no cache. */
#include "unit/control/bed_controller.h"

#include "write/capture.h"

struct scene {
    struct stage stage;
    int written;
    struct pl_err err;
    struct pl_doc *object;
};

static void on_written(void *arg, const struct pl_written *written)
{
    struct scene *scene = arg;
    scene->written++;
    pl_err_clear(&scene->err);
    if (written->err != NULL)
        scene->err = *written->err;
    pl_doc_unref(scene->object);
    scene->object = pl_doc_ref(written->object);
}

static void begin(struct scene *scene, bool dry_run)
{
    *scene = (struct scene){0};
    stage_init_with(&scene->stage, NULL, dry_run);
    pl_manager_start(scene->stage.manager);
}

static void finish(struct scene *scene)
{
    pl_doc_unref(scene->object);
    bed_run(&scene->stage.bed);
    stage_deinit(&scene->stage);
}

static struct pl_write write_of(enum pl_verb verb, const char *path)
{
    return (struct pl_write){.verb = verb, .raw_path = pl_slice_z(path), .grace_period = -1};
}

static void send(struct scene *scene, struct pl_write *write, const char *body)
{
    scene->written = 0;
    write->body = body != NULL ? bed_doc(body) : NULL;
    pl_gate_write(pl_cluster_gate(scene->stage.bed.cluster), write, on_written, scene);
    CHECK_INT(scene->written, 0); /* never from inside */
    pl_doc_unref(write->body);
    bed_run(&scene->stage.bed);
}

TEST(a_raw_write_is_sent_as_it_is_and_answered)
{
    struct scene scene;
    begin(&scene, false);
    struct pl_write write = write_of(PL_VERB_CREATE, "/apis/x/v1/things?a=b");
    write.headers = pl_slice("x-one\0two\0", 10);
    send(&scene, &write, "{\"a\":1}");
    struct fake_request *post = bed_expect(&scene.stage.bed, "POST", "/apis/x/v1/things?a=b");
    CHECK_STR(fake_header(post, "x-one"), "two");
    CHECK_STR(pl_buf_z(&post->body), "{\"a\":1}");
    bed_reply(&scene.stage.bed, post, 201, "{\"kind\":\"Thing\"}");
    CHECK_INT(scene.written, 1);
    CHECK_INT(scene.err.code, 0);
    CHECK(pl_node_str_eq(pl_node_getz(pl_doc_root(scene.object), "kind"), pl_slice_z("Thing")));
    CHECK(bed_is_quiet(&scene.stage.bed));
    finish(&scene);
}

TEST(a_raw_delete_of_what_is_not_there_is_an_error)
{
    struct scene scene;
    begin(&scene, false);
    struct pl_write write = write_of(PL_VERB_DELETE, "/api/v1/namespaces/d/pods/p");
    send(&scene, &write, NULL);
    bed_reply(&scene.stage.bed, bed_expect(&scene.stage.bed, "DELETE", "/api/v1/namespaces/d/"),
              404, BED_STATUS(404, "NotFound"));
    CHECK_INT(scene.err.code, PL_EAPI);
    CHECK_INT(scene.err.status, 404);
    finish(&scene);
}

TEST(a_closed_gate_and_a_past_deadline_refuse_raw_writes)
{
    struct scene scene;
    begin(&scene, false);
    struct pl_write write = write_of(PL_VERB_UPDATE, "/x");
    write.deadline_ns = 1;
    send(&scene, &write, "{}");
    CHECK_INT(scene.written, 1);
    CHECK_INT(scene.err.code, PL_ETIMEOUT);
    pl_gate_close(pl_cluster_gate(scene.stage.bed.cluster), "leader", "the lead was lost");
    write.deadline_ns = 0;
    send(&scene, &write, "{}");
    CHECK_STR(scene.err.reason, "leader");
    CHECK(bed_is_quiet(&scene.stage.bed));
    finish(&scene);
}

TEST(a_dry_run_says_so_and_refuses_what_goes_on_to_others)
{
    struct scene scene;
    begin(&scene, true);
    struct pl_write write = write_of(PL_VERB_CREATE, "/x");
    send(&scene, &write, "{}");
    bed_reply(&scene.stage.bed, bed_expect(&scene.stage.bed, "POST", "/x?dryRun=All"), 201, "{}");
    write = write_of(PL_VERB_DELETE, "/x");
    send(&scene, &write, "{\"kind\":\"DeleteOptions\"}");
    struct fake_request *sent = bed_expect(&scene.stage.bed, "DELETE", "/x");
    CHECK_STR(pl_buf_z(&sent->body), "{\"kind\":\"DeleteOptions\",\"dryRun\":[\"All\"]}");
    bed_reply(&scene.stage.bed, sent, 200, "{}");
    static const char *const others[] = {
        "/api/v1/namespaces/d/services/s/proxy/do", "/api/v1/nodes/n/proxy",
        "/api/v1/namespaces/d/pods/p/exec?command=x", "/api/v1/namespaces/d/pods/p/attach"};
    for (size_t i = 0; i < PL_ARRAY_LEN(others); i++) {
        write = write_of(PL_VERB_CREATE, others[i]);
        send(&scene, &write, NULL);
        CHECK_STR(scene.err.reason, "dry-run");
        CHECK(bed_is_quiet(&scene.stage.bed));
    }
    write = write_of(PL_VERB_CREATE, "/api/v1/namespaces/d/configmaps/proxying");
    send(&scene, &write, "{}");
    bed_reply(&scene.stage.bed, bed_expect(&scene.stage.bed, "POST", "/api/v1/"), 201, "{}");
    finish(&scene);
}

TEST(a_shadow_keeps_a_raw_write_to_itself)
{
    struct scene scene;
    begin(&scene, false);
    struct pl_capture *capture = pl_capture_create();
    struct pl_write write = write_of(PL_VERB_CREATE, "/api/v1/namespaces/d/secrets");
    write.held = true;
    write.capture = capture;
    send(&scene, &write, "{\"a\":1}");
    CHECK_INT(scene.written, 1);
    CHECK_INT(scene.err.code, 0);
    CHECK(bed_is_quiet(&scene.stage.bed));
    const struct pl_effect *effect = pl_capture_find(capture, "raw /api/v1/namespaces/d/secrets");
    REQUIRE(effect != NULL);
    CHECK_STR(effect->verb, "create");
    CHECK(effect->is_secret);
    CHECK(effect->sent != NULL);
    pl_capture_unref(capture);
    finish(&scene);
}

TEST_MAIN()
