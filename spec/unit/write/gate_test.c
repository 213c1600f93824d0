#include "unit/control/bed_controller.h"

#include "kube/status.h"
#include "value/write.h"

/* A controller "maps" for ConfigMaps that owns Pods, synced: d/a is a ConfigMap at version 5, d/p
 * its Pod at 6, and d/q a Pod without a controller. */
struct scene {
    struct stage stage;
    struct pl_controller *controller;
    struct fake_request *maps, *pods; /* watches */
    /* The arguments of on_written. */
    int written;
    struct pl_err err;
    struct pl_doc *object;
    bool skipped, gone;
};

#define POD(name, uid, rv, more)                                                                   \
    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"" name                       \
    "\",\"namespace\":\"d\",\"uid\":\"" uid "\",\"resourceVersion\":\"" rv                         \
    "\",\"creationTimestamp\":\"2026-01-01T00:00:00Z\"" more
#define OWNED                                                                                      \
    ",\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"a\",\"uid\":"  \
    "\"1\",\"controller\":true,\"blockOwnerDeletion\":true}]"
#define OWNED_POD(rv, spec) POD("p", "7", rv, OWNED) "},\"spec\":{" spec "}}"

static void on_written(void *arg, const struct pl_written *written)
{
    struct scene *scene = arg;
    scene->written++;
    pl_err_clear(&scene->err);
    if (written->err != NULL)
        scene->err = *written->err;
    pl_doc_unref(scene->object);
    scene->object = pl_doc_ref(written->object);
    scene->skipped = written->skipped;
    scene->gone = written->gone;
}

static void begin_with(struct scene *scene, char **finalizers, struct pl_predicate *predicate,
                       bool dry_run)
{
    *scene = (struct scene){0};
    stage_init_with(&scene->stage, NULL, dry_run);
    struct pl_controller_spec spec = spec_of("maps");
    spec.max_concurrent = 8;
    add_source(&spec, PL_SOURCE_FOR, "v1/ConfigMap", PL_MAP_SELF)->finalizers = finalizers;
    add_source(&spec, PL_SOURCE_OWNS, "v1/Pod", PL_MAP_OWNER)->predicate = predicate;
    scene->controller = stage_add(&scene->stage, &spec);
    pl_manager_start(scene->stage.manager);
    scene->maps = stage_sync(&scene->stage, "/api/v1/configmaps",
                             BED_MAPS("10", BED_MAP("a", "1", "5", ",\"data\":{\"x\":\"1\"}")));
    scene->pods = stage_sync(&scene->stage, "/api/v1/pods",
                             BED_LIST("Pod", "10", "",
                                      OWNED_POD("6", "\"nodeName\":\"n\",\"priority\":1") "," POD(
                                          "q", "8", "7", "") "},\"spec\":{}}"));
    fake_finish(&scene->stage.fake, "d/a", PL_OUTCOME_DONE);
    pl_buf_clear(&scene->stage.fake.log);
}

static void begin(struct scene *scene)
{
    begin_with(scene, NULL, NULL, false);
}

static void finish(struct scene *scene)
{
    pl_doc_unref(scene->object);
    scene->object = NULL;
    bed_run(&scene->stage.bed);
    while (fake_run(&scene->stage.fake, "d/a") != NULL) {
        fake_finish(&scene->stage.fake, "d/a", PL_OUTCOME_DONE);
        bed_run(&scene->stage.bed);
    }
    stage_deinit(&scene->stage);
}

static struct pl_write write_of(struct scene *scene, enum pl_verb verb, const char *kind,
                                const char *name)
{
    return (struct pl_write){.verb = verb,
                             .kind = kind_of(kind),
                             .ns = pl_slice_z("d"),
                             .name = pl_slice_z(name),
                             .grace_period = -1,
                             .controller = pl_controller_writer(scene->controller)};
}

/* Sends it; the texts become documents for the call. */
static void send(struct scene *scene, struct pl_write *write, const char *body, const char *base,
                 const char *owner)
{
    scene->written = 0;
    write->body = body != NULL ? bed_doc(body) : NULL;
    write->base = base != NULL ? bed_doc(base) : NULL;
    write->owner = owner != NULL ? bed_doc(owner) : NULL;
    pl_gate_write(pl_cluster_gate(scene->stage.bed.cluster), write, on_written, scene);
    CHECK_INT(scene->written, 0); /* never from inside */
    pl_doc_unref(write->body);
    pl_doc_unref(write->base);
    pl_doc_unref(write->owner);
    bed_run(&scene->stage.bed);
}

static void check_refused(struct scene *scene, const char *rule)
{
    CHECK_INT(scene->written, 1);
    CHECK_INT(scene->err.code, PL_EREFUSED);
    CHECK_STR(scene->err.reason, rule);
    CHECK(bed_is_quiet(&scene->stage.bed)); /* before any request */
}

static void check_skipped(struct scene *scene, bool skipped)
{
    if (skipped) {
        CHECK_INT(scene->written, 1);
        CHECK_INT(scene->err.code, 0);
        CHECK(scene->skipped && scene->object != NULL);
        CHECK(bed_is_quiet(&scene->stage.bed));
        return;
    }
    CHECK_INT(scene->written, 0);
    struct fake_request *request = fake_next(&scene->stage.bed.net);
    if (request == NULL)
        TEST_FAIL("nothing was sent");
    else
        bed_reply(&scene->stage.bed, request, 500, BED_STATUS(500, "InternalError"));
}

static const char *const owner_a = BED_MAP("a", "1", "5", "");
static const char *const owner_b = BED_MAP("b", "99", "5", "");

/* ---- 1: may we write now? ---- */

TEST(a_closed_gate_refuses_and_cancels_what_is_in_flight)
{
    struct scene scene;
    begin(&scene);
    struct pl_gate *gate = pl_cluster_gate(scene.stage.bed.cluster);
    struct pl_write write = write_of(&scene, PL_VERB_CREATE, "v1/ConfigMap", "n");
    send(&scene, &write, "{\"metadata\":{\"name\":\"n\",\"namespace\":\"d\"}}", NULL, NULL);
    struct fake_request *post =
        bed_expect(&scene.stage.bed, "POST", "/api/v1/namespaces/d/configmaps?");
    pl_gate_close(gate, "leader", "the lead was lost");
    bed_run(&scene.stage.bed);
    CHECK(post->canceled);
    CHECK_INT(scene.written, 1);
    CHECK_STR(scene.err.reason, "leader");
    send(&scene, &write, "{\"metadata\":{\"name\":\"n\",\"namespace\":\"d\"}}", NULL, NULL);
    check_refused(&scene, "leader");
    struct pl_gate_stats stats;
    pl_gate_stats(gate, &stats);
    CHECK_INT(stats.refused, 2);
    CHECK_INT(stats.sent, 0);
    finish(&scene);
}

TEST(a_write_can_be_cancelled_at_each_of_its_steps)
{
    for (int step = 0; step < 3; step++) {
        struct scene scene;
        begin(&scene);
        struct pl_doc *body = bed_doc("{\"metadata\":{\"name\":\"n\",\"namespace\":\"d\"}}");
        struct pl_write write = write_of(&scene, PL_VERB_CREATE, "v1/ConfigMap", "n");
        write.body = body;
        struct pl_gate *gate = pl_cluster_gate(scene.stage.bed.cluster);
        struct pl_gate_op *op = pl_gate_write(gate, &write, on_written, &scene);
        pl_doc_unref(body);
        if (step > 0)
            bed_run(&scene.stage.bed);
        if (step == 2)
            bed_expect(&scene.stage.bed, "POST", "/api/v1/namespaces/d/configmaps?");
        pl_gate_op_cancel(op);
        pl_gate_op_cancel(op);
        bed_run(&scene.stage.bed);
        CHECK_INT(scene.written, 1);
        CHECK_INT(scene.err.code, PL_ECANCELED);
        finish(&scene);
    }
}

#define UNKNOWN_OWNER                                                                              \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"code\":403,"              \
    "\"reason\":\"Forbidden\",\"message\":\"pods \\\"n\\\" is forbidden: cannot set "              \
    "blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion x/v1 Kind "    \
    "X: no matches for kind\"}"

TEST(an_owner_whose_kind_the_server_does_not_know_yet_is_asked_for_again)
{
    for (int way = 0; way < 3; way++) { /* with on_written, without it, the write is cancelled */
        struct scene scene;
        begin(&scene);
        struct bed *bed = &scene.stage.bed;
        struct pl_doc *body = bed_doc("{\"metadata\":{\"name\":\"n\",\"namespace\":\"d\"}}");
        struct pl_write write = write_of(&scene, PL_VERB_CREATE, "v1/Pod", "n");
        write.body = body;
        struct pl_gate_op *op =
            pl_gate_write(pl_cluster_gate(bed->cluster), &write, on_written, &scene);
        pl_doc_unref(body);
        bed_run(bed);
        int sent = 0;
        for (; scene.written == 0 && sent < 100; sent++) {
            struct fake_request *post = bed_expect(bed, "POST", "/api/v1/namespaces/d/pods?");
            if (way == 0 && sent == 3)
                bed_reply(bed, post, 201, POD("n", "9", "11", "") "}}");
            else
                bed_reply(bed, post, 403, UNKNOWN_OWNER);
            if (way == 2 && sent == 1)
                pl_gate_op_cancel(op);
            bed_pass(bed, PL_SECOND / 2);
        }
        CHECK_INT(scene.written, 1);
        CHECK_INT(scene.err.code, way == 0 ? 0 : way == 1 ? PL_EAPI : PL_ECANCELED);
        CHECK_INT(sent, way == 0 ? 4 : way == 1 ? 31 : 2); /* for 15 s */
        finish(&scene);
    }
}

TEST(a_write_after_its_deadline_is_not_sent)
{
    struct scene scene;
    begin(&scene);
    struct pl_write write = write_of(&scene, PL_VERB_DELETE, "v1/ConfigMap", "a");
    write.deadline_ns = scene.stage.bed.clock.now_ns;
    send(&scene, &write, NULL, NULL, NULL);
    CHECK_INT(scene.written, 1);
    CHECK_INT(scene.err.code, PL_ETIMEOUT);
    CHECK(bed_is_quiet(&scene.stage.bed));
    finish(&scene);
}

/* ---- 2: is the document whole? ---- */

TEST(updates_and_applies_of_partial_objects_and_applies_of_read_ones_are_refused)
{
    struct scene scene;
    begin(&scene);
    struct pl_write write = write_of(&scene, PL_VERB_UPDATE, "v1/Pod", "p");
    write.partial = true;
    send(&scene, &write, OWNED_POD("6", ""), NULL, NULL);
    check_refused(&scene, "partial");
    write = write_of(&scene, PL_VERB_PATCH, "v1/Pod", "p");
    write.patch_type = PL_PATCH_APPLY;
    write.partial = true;
    send(&scene, &write, "{\"metadata\":{\"name\":\"p\"}}", NULL, NULL);
    check_refused(&scene, "partial");
    write.partial = false;
    send(&scene, &write, OWNED_POD("6", ""), NULL, NULL);
    check_refused(&scene, "partial");
    finish(&scene);
}

TEST(a_creation_time_that_is_null_is_none)
{
    struct scene scene;
    begin(&scene);
    struct pl_write write = write_of(&scene, PL_VERB_PATCH, "v1/Pod", "p");
    write.patch_type = PL_PATCH_APPLY;
    send(&scene, &write, "{\"metadata\":{\"name\":\"p\",\"creationTimestamp\":null}}", NULL, NULL);
    struct fake_request *patch =
        bed_expect(&scene.stage.bed, "PATCH", "/api/v1/namespaces/d/pods/p?");
    bed_reply(&scene.stage.bed, patch, 500, BED_STATUS(500, "InternalError"));
    CHECK_INT(scene.err.code, PL_EAPI);
    finish(&scene);
}

/* ---- 3: is it allowed by scope? ---- */

TEST(scopes_and_names_that_do_not_fit_are_errors_before_any_request)
{
    struct scene scene;
    begin(&scene);
    struct pl_write write = write_of(&scene, PL_VERB_DELETE, "v1/Node", "n");
    send(&scene, &write, NULL, NULL, NULL);
    CHECK_INT(scene.err.code, PL_EINVAL);
    write = write_of(&scene, PL_VERB_DELETE, "v1/Pod", "n");
    write.ns = pl_slice_z("");
    send(&scene, &write, NULL, NULL, NULL);
    CHECK_INT(scene.err.code, PL_EINVAL);
    write = write_of(&scene, PL_VERB_UPDATE, "v1/Pod", "n");
    send(&scene, &write, OWNED_POD("6", ""), NULL, NULL);
    CHECK_INT(scene.err.code, PL_EINVAL);
    CHECK(bed_is_quiet(&scene.stage.bed));
    finish(&scene);
}

TEST(a_kind_that_is_not_served_is_a_clear_error)
{
    struct scene scene;
    begin(&scene);
    scene.stage.bed.no_websites = true;
    struct pl_write write = write_of(&scene, PL_VERB_DELETE, "example.com/v1/Website", "n");
    send(&scene, &write, NULL, NULL, NULL);
    bed_pass(&scene.stage.bed, 5 * PL_SECOND);
    CHECK_INT(scene.written, 1);
    CHECK_INT(scene.err.code, PL_ENOTFOUND);
    finish(&scene);
}

TEST(an_owner_is_set_and_fills_the_namespace) /* rule 143 */
{
    struct scene scene;
    begin(&scene);
    struct pl_write write = write_of(&scene, PL_VERB_CREATE, "v1/Pod", "n");
    write.ns = pl_slice_z("");
    send(&scene, &write, "{\"metadata\":{\"name\":\"n\"}}", NULL, owner_a);
    struct fake_request *post = bed_expect(&scene.stage.bed, "POST", "/api/v1/namespaces/d/pods?");
    struct pl_doc *sent = bed_doc(pl_buf_z(&post->body));
    struct pl_owner owner;
    REQUIRE(pl_meta_controller(pl_doc_root(sent), &owner));
    CHECK_SLICE(owner.uid, "1");
    struct pl_node ref =
        pl_node_at(pl_node_dig(pl_doc_root(sent), "metadata", "ownerReferences"), 0);
    CHECK(pl_node_bool(pl_node_getz(ref, "blockOwnerDeletion")));
    struct pl_scratch scratch;
    CHECK_SLICE(pl_meta_namespace(pl_doc_root(sent), &scratch), "d");
    pl_doc_unref(sent);
    bed_reply(&scene.stage.bed, post, 500, BED_STATUS(500, "InternalError"));
    finish(&scene);
}

TEST(an_applied_object_without_namespace_goes_to_its_owner)
{
    struct scene scene;
    begin(&scene);
    struct pl_write write = write_of(&scene, PL_VERB_PATCH, "example.com/v1/Website", "w");
    write.patch_type = PL_PATCH_APPLY;
    write.ns = pl_slice_z("");
    const char *path = "/apis/example.com/v1/namespaces/d/websites/w";
    send(&scene, &write, "{\"metadata\":{\"name\":\"w\"}}", NULL, owner_a);
    bed_reply(&scene.stage.bed, bed_expect(&scene.stage.bed, "GET", path), 404,
              BED_STATUS(404, "NotFound"));
    struct fake_request *patch = bed_expect(&scene.stage.bed, "PATCH", path);
    CHECK(strstr(pl_buf_z(&patch->body), "\"namespace\":\"d\"") != NULL);
    bed_reply(&scene.stage.bed, patch, 500, BED_STATUS(500, "InternalError"));
    /* An owner that is known is checked like any other. */
    write = write_of(&scene, PL_VERB_PATCH, "v1/Pod", "q");
    write.patch_type = PL_PATCH_APPLY;
    write.ns = pl_slice_z("");
    send(&scene, &write, "{\"metadata\":{\"name\":\"q\"}}", NULL, owner_a);
    check_refused(&scene, "adopt");
    finish(&scene);
}

TEST(owners_that_do_not_fit_are_refused) /* rule 143 */
{
    struct scene scene;
    begin(&scene);
    struct pl_write write = write_of(&scene, PL_VERB_CREATE, "v1/Pod", "n");
    write.ns = pl_slice_z("other");
    send(&scene, &write, "{\"metadata\":{\"name\":\"n\",\"namespace\":\"other\"}}", NULL, owner_a);
    check_refused(&scene, "scope");
    write = write_of(&scene, PL_VERB_CREATE, "v1/Node", "n");
    write.ns = pl_slice_z("");
    send(&scene, &write, "{\"metadata\":{\"name\":\"n\"}}", NULL, owner_a);
    check_refused(&scene, "scope");
    /* The reference that a script wrote itself. */
    send(&scene, &write, "{\"metadata\":{\"name\":\"n\"" OWNED "}}", NULL, NULL);
    check_refused(&scene, "scope");
    /* Another controller is there. */
    write = write_of(&scene, PL_VERB_UPDATE, "v1/Pod", "p");
    send(&scene, &write, OWNED_POD("6", ""), OWNED_POD("6", ""), owner_b);
    check_refused(&scene, "scope");
    write = write_of(&scene, PL_VERB_PATCH, "v1/Pod", "p");
    write.patch_type = PL_PATCH_APPLY;
    send(&scene, &write, "{\"metadata\":{\"name\":\"p\"}}", NULL, owner_b);
    check_refused(&scene, "scope");
    finish(&scene);
}

TEST(an_object_without_a_controller_is_taken_over_only_with_adopt)
{
    struct scene scene;
    begin(&scene);
    struct pl_write write = write_of(&scene, PL_VERB_PATCH, "v1/Pod", "q");
    write.patch_type = PL_PATCH_APPLY;
    send(&scene, &write, "{\"metadata\":{\"name\":\"q\"}}", NULL, owner_a);
    check_refused(&scene, "adopt");
    write.adopt = true;
    send(&scene, &write, "{\"metadata\":{\"name\":\"q\"}}", NULL, owner_a);
    check_skipped(&scene, false);
    finish(&scene);
}

TEST(what_an_apply_with_an_owner_takes_over_is_asked_where_no_cache_knows_it)
{
    struct scene scene;
    begin(&scene);
    struct pl_write write = write_of(&scene, PL_VERB_PATCH, "example.com/v1/Website", "w");
    write.patch_type = PL_PATCH_APPLY;
    const char *path = "/apis/example.com/v1/namespaces/d/websites/w";
    send(&scene, &write, "{\"metadata\":{\"name\":\"w\"}}", NULL, owner_a);
    bed_reply(&scene.stage.bed, bed_expect(&scene.stage.bed, "GET", path), 200,
              "{\"kind\":\"Website\",\"apiVersion\":\"example.com/v1\",\"metadata\":{\"name\":"
              "\"w\",\"namespace\":\"d\",\"uid\":\"3\"}}");
    check_refused(&scene, "adopt");
    send(&scene, &write, "{\"metadata\":{\"name\":\"w\"}}", NULL, owner_a);
    bed_reply(&scene.stage.bed, bed_expect(&scene.stage.bed, "GET", path), 404,
              BED_STATUS(404, "NotFound"));
    struct fake_request *patch = bed_expect(&scene.stage.bed, "PATCH", path);
    CHECK_STR(fake_header(patch, "content-type"), "application/apply-patch+yaml");
    CHECK(strstr(patch->path, "fieldManager=maps") != NULL);
    bed_reply(&scene.stage.bed, patch, 500, BED_STATUS(500, "InternalError"));
    finish(&scene);
}

/* d/p belongs to the ConfigMap d/a with the uid 1; the owner of the write has its name and another
 * uid. */
static void send_as_namesake(struct scene *scene, const char *base)
{
    struct pl_write write = write_of(scene, base ? PL_VERB_UPDATE : PL_VERB_PATCH, "v1/Pod", "p");
    write.patch_type = PL_PATCH_APPLY;
    send(scene, &write, base ? base : "{\"metadata\":{\"name\":\"p\"}}", base,
         BED_MAP("a", "2", "9", ""));
    CHECK_INT(scene->written, 0);
}

static void answer_for_owner(struct scene *scene, int status, const char *answer)
{
    struct fake_request *request =
        bed_expect(&scene->stage.bed, "GET", "/api/v1/namespaces/d/configmaps/a");
    bed_reply(&scene->stage.bed, request, status, answer);
}

TEST(the_reference_of_a_namesake_is_replaced_only_by_an_owner_that_exists) /* rule 143 */
{
    struct scene scene;
    begin(&scene);
    const char *const bases[] = {NULL, OWNED_POD("6", "")};
    for (size_t i = 0; i < 2; i++) {
        send_as_namesake(&scene, bases[i]);
        answer_for_owner(&scene, 200, BED_MAP("a", "1", "5", ""));
        CHECK_INT(scene.written, 1);
        CHECK(pl_err_is_conflict(&scene.err));
        CHECK(bed_is_quiet(&scene.stage.bed));
        send_as_namesake(&scene, bases[i]);
        answer_for_owner(&scene, 404, BED_STATUS(404, "NotFound"));
        CHECK(pl_err_is_conflict(&scene.err));
        send_as_namesake(&scene, bases[i]);
        answer_for_owner(&scene, 500, BED_STATUS(500, "InternalError"));
        CHECK_INT(scene.err.status, 500);
        send_as_namesake(&scene, bases[i]);
        answer_for_owner(&scene, 200, BED_MAP("a", "2", "9", ""));
        check_skipped(&scene, false);
        send_as_namesake(&scene, bases[i]);
        answer_for_owner(&scene, 403, BED_STATUS(403, "Forbidden"));
        check_skipped(&scene, false);
    }
    finish(&scene);
}

TEST(finalizers_that_were_not_declared_cannot_be_added)
{
    struct scene scene;
    begin_with(&scene, texts_of("example.com/mine", NULL), NULL, false);
    struct pl_write write = write_of(&scene, PL_VERB_PATCH, "v1/ConfigMap", "a");
    send(&scene, &write, "{\"metadata\":{\"finalizers\":[\"example.com/other\"]}}", NULL, NULL);
    check_refused(&scene, "finalizer");
    send(&scene, &write, "{\"metadata\":{\"finalizers\":[\"example.com/mine\"]}}", NULL, NULL);
    check_skipped(&scene, false);
    write.patch_type = PL_PATCH_JSON;
    send(&scene, &write,
         "[{\"op\":\"add\",\"path\":\"/metadata/finalizers/-\",\"value\":\"example.com/other\"}]",
         NULL, NULL);
    check_refused(&scene, "finalizer");
    finish(&scene);
}

/* ---- 4: which object? ---- */

TEST(updates_patches_and_deletes_of_what_was_read_carry_its_identity) /* F28 */
{
    struct scene scene;
    begin(&scene);
    struct bed *bed = &scene.stage.bed;
    struct pl_write write = write_of(&scene, PL_VERB_UPDATE, "v1/ConfigMap", "a");
    send(&scene, &write,
         "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\"},\"data\":{}}",
         BED_MAP("a", "1", "5", ""), NULL);
    struct fake_request *put = bed_expect(bed, "PUT", "/api/v1/namespaces/d/configmaps/a");
    CHECK(strstr(pl_buf_z(&put->body), "\"uid\":\"1\"") != NULL);
    CHECK(strstr(pl_buf_z(&put->body), "\"resourceVersion\":\"5\"") != NULL);
    bed_reply(bed, put, 409, BED_STATUS(409, "Conflict"));
    CHECK_INT(scene.err.status, 409);

    write = write_of(&scene, PL_VERB_PATCH, "v1/ConfigMap", "a");
    send(&scene, &write, "{\"data\":{\"y\":\"2\"}}", BED_MAP("a", "1", "5", ""), NULL);
    struct fake_request *patch = bed_expect(bed, "PATCH", "/api/v1/namespaces/d/configmaps/a");
    CHECK(strstr(pl_buf_z(&patch->body), "\"uid\":\"1\"") != NULL);
    CHECK(strstr(pl_buf_z(&patch->body), "resourceVersion") == NULL);
    bed_reply(bed, patch, 500, BED_STATUS(500, "InternalError"));

    write.patch_type = PL_PATCH_JSON;
    send(&scene, &write, "[{\"op\":\"remove\",\"path\":\"/data/x\"}]", BED_MAP("a", "1", "5", ""),
         NULL);
    patch = bed_expect(bed, "PATCH", "/api/v1/namespaces/d/configmaps/a");
    CHECK(strstr(pl_buf_z(&patch->body), "/metadata/uid") != NULL);
    bed_reply(bed, patch, 500, BED_STATUS(500, "InternalError"));

    write = write_of(&scene, PL_VERB_DELETE, "v1/ConfigMap", "a");
    send(&scene, &write, NULL, BED_MAP("a", "1", "5", ""), NULL);
    struct fake_request *delete = bed_expect(bed, "DELETE", "/api/v1/namespaces/d/configmaps/a");
    CHECK(strstr(pl_buf_z(&delete->body), "\"uid\":\"1\"") != NULL);
    CHECK(strstr(pl_buf_z(&delete->body), "resourceVersion") == NULL);
    bed_reply(bed, delete, 409, BED_STATUS(409, "Conflict"));
    CHECK_INT(scene.err.status, 409);
    finish(&scene);
}

/* For such a patch the server reports only that it does not fit. */
TEST(a_json_patch_that_does_not_fit_is_told_with_the_operation)
{
    static const struct {
        const char *live, *says;
    } cases[] = {
        {BED_MAP("a", "1", "6", ",\"data\":{\"x\":\"2\"}"),
         "operation 1 (test /data/x): the value is different: "},
        {BED_MAP("a", "2", "7", ",\"data\":{\"x\":\"1\"}"),
         "operation 0 (test /metadata/uid): the value is different: "},
        {BED_MAP("a", "1", "6", ",\"data\":{\"x\":\"1\"}"), ""}, /* it fits by now */
        {NULL, ""},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        struct scene scene;
        begin(&scene);
        struct bed *bed = &scene.stage.bed;
        struct pl_write write = write_of(&scene, PL_VERB_PATCH, "v1/ConfigMap", "a");
        write.patch_type = PL_PATCH_JSON;
        send(&scene, &write,
             "[{\"op\":\"add\",\"path\":\"/data/y\",\"value\":\"1\"},"
             "{\"op\":\"test\",\"path\":\"/data/x\",\"value\":\"1\"}]",
             BED_MAP("a", "1", "5", ""), NULL);
        bed_reply(bed, bed_expect(bed, "PATCH", "/api/v1/namespaces/d/configmaps/a"), 422,
                  BED_STATUS(422, "Invalid"));
        CHECK_INT(scene.written, 0);
        bed_reply(bed, bed_expect(bed, "GET", "/api/v1/namespaces/d/configmaps/a"),
                  cases[i].live != NULL ? 200 : 404,
                  cases[i].live != NULL ? cases[i].live : BED_STATUS(404, "NotFound"));
        CHECK_INT(scene.written, 1);
        CHECK_INT(scene.err.status, 422);
        CHECK_INT(strncmp(scene.err.message, cases[i].says, strlen(cases[i].says)), 0);
        CHECK(cases[i].says[0] != '\0' || strstr(scene.err.message, "operation") == NULL);
        finish(&scene);
    }
}

/* ---- 5: would it change anything? ---- */

TEST(an_update_that_changes_nothing_is_not_sent)
{
    struct scene scene;
    begin(&scene);
    static const struct {
        const char *body;
        const char *subresource;
        bool skipped;
    } cases[] = {
        {OWNED_POD("6", "\"priority\":1,\"nodeName\":\"n\""), "", true},
        {OWNED_POD("6", "\"priority\":2,\"nodeName\":\"n\""), "", false},
        {OWNED_POD("6", "\"nodeName\":\"n\""), "", false},
        {OWNED_POD("5", "\"priority\":1,\"nodeName\":\"n\""), "", false}, /* an older version */
        /* No generation and no status of the script's: the server owns them. */
        {POD("p", "7", "6",
             OWNED ",\"generation\":9") "},\"spec\":{\"nodeName\":\"n\",\"priority\":1},\"status\":"
                                        "{\"phase\":\"x\"}}",
         "", true},
        {OWNED_POD("6", "\"priority\":2"), "status", true},
        {POD("p", "7", "6", OWNED) "},\"status\":{\"phase\":\"x\"}}", "status", false},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        struct pl_write write = write_of(&scene, PL_VERB_UPDATE, "v1/Pod", "p");
        write.subresource = pl_slice_z(cases[i].subresource);
        send(&scene, &write, cases[i].body, NULL, NULL);
        check_skipped(&scene, cases[i].skipped);
        if (!cases[i].skipped)
            continue;
        write.force_write = true;
        send(&scene, &write, cases[i].body, NULL, NULL);
        check_skipped(&scene, false);
        write.force_write = false;
        write.live = true;
        send(&scene, &write, cases[i].body, NULL, NULL);
        check_skipped(&scene, false);
    }
    finish(&scene);
}

TEST(a_merge_patch_of_an_object_that_was_read_in_another_version_is_sent)
{
    struct scene scene;
    begin(&scene);
    struct pl_write write = write_of(&scene, PL_VERB_PATCH, "v1/Pod", "p");
    send(&scene, &write, "{\"spec\":{\"priority\":1}}", OWNED_POD("6", "\"priority\":1"), NULL);
    check_skipped(&scene, true);
    send(&scene, &write, "{\"spec\":{\"priority\":1}}", OWNED_POD("7", "\"priority\":2"), NULL);
    check_skipped(&scene, false);
    finish(&scene);
}

TEST(a_merge_patch_that_changes_nothing_is_not_sent_when_every_change_wakes_us)
{
    for (int blind = 0; blind < 2; blind++) {
        struct scene scene;
        begin_with(&scene, NULL, blind ? pl_predicate_generation_changed() : NULL, false);
        struct pl_write write = write_of(&scene, PL_VERB_PATCH, "v1/Pod", "p");
        send(&scene, &write, "{\"spec\":{\"priority\":1,\"gone\":null}}", NULL, NULL);
        check_skipped(&scene, !blind);
        send(&scene, &write, "{\"spec\":{\"priority\":2}}", NULL, NULL);
        check_skipped(&scene, false);
        write.patch_type = PL_PATCH_JSON;
        send(&scene, &write, "[{\"op\":\"add\",\"path\":\"/spec/priority\",\"value\":1}]", NULL,
             NULL);
        check_skipped(&scene, false);
        /* d/q is not ours: its events queue no key of ours. */
        write = write_of(&scene, PL_VERB_PATCH, "v1/Pod", "q");
        send(&scene, &write, "{\"spec\":{}}", NULL, NULL);
        check_skipped(&scene, false);
        finish(&scene);
    }
}

TEST(an_apply_is_skipped_only_when_the_same_was_applied_before_and_is_still_there)
{
    struct scene scene;
    begin(&scene);
    struct bed *bed = &scene.stage.bed;
    const char *path = "/api/v1/namespaces/d/pods/p";
    const char *body = "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"priority\":1}}";
    struct pl_write write = write_of(&scene, PL_VERB_PATCH, "v1/Pod", "p");
    write.patch_type = PL_PATCH_APPLY;
    write.force = true;
    send(&scene, &write, body, NULL, NULL);
    bed_reply(bed, bed_expect(bed, "PATCH", path), 200,
              OWNED_POD("11", "\"nodeName\":\"n\",\"priority\":1"));
    CHECK_INT(scene.written, 1);
    send(&scene, &write, body, NULL, NULL);
    check_skipped(&scene, true);
    /* Fewer fields than last time are a change. */
    send(&scene, &write, "{\"metadata\":{\"name\":\"p\"}}", NULL, NULL);
    check_skipped(&scene, false);
    send(&scene, &write, body, NULL, NULL); /* a failed write is forgotten */
    bed_reply(bed, bed_expect(bed, "PATCH", path), 200,
              OWNED_POD("12", "\"nodeName\":\"n\",\"priority\":1"));
    /* Another client has changed it. */
    bed_stream(bed, scene.pods, BED_EVENT("MODIFIED", OWNED_POD("13", "\"priority\":3")));
    send(&scene, &write, body, NULL, NULL);
    check_skipped(&scene, false);
    finish(&scene);
}

/* ---- 6: dry run ---- */

TEST(a_dry_run_is_sent_as_one_and_changes_no_cache)
{
    for (int host = 0; host < 2; host++) {
        struct scene scene;
        begin_with(&scene, NULL, NULL, host == 1);
        struct bed *bed = &scene.stage.bed;
        struct pl_write write = write_of(&scene, PL_VERB_PATCH, "v1/Pod", "p");
        write.dry_run = host == 0;
        send(&scene, &write, "{\"spec\":{\"priority\":2}}", NULL, NULL);
        struct fake_request *patch = bed_expect(bed, "PATCH", "/api/v1/namespaces/d/pods/p");
        CHECK(strstr(patch->path, "dryRun=All") != NULL);
        bed_reply(bed, patch, 200, OWNED_POD("11", "\"priority\":2"));
        CHECK_INT(scene.written, 1);
        struct pl_store *store = pl_informer_store(pl_controller_informer(scene.controller, 1));
        struct pl_doc *cached = pl_store_get(store, pl_slice_z("d/p"));
        struct pl_scratch scratch;
        CHECK_SLICE(pl_meta_rv(pl_doc_root(cached), &scratch), "6");
        pl_doc_unref(cached);
        finish(&scene);
    }
}

/* ---- 8: write through ---- */

static void check_cached(struct scene *scene, size_t source, const char *key, const char *rv)
{
    struct pl_store *store = pl_informer_store(pl_controller_informer(scene->controller, source));
    struct pl_doc *cached = pl_store_get(store, pl_slice_z(key));
    struct pl_scratch scratch;
    CHECK_SLICE(cached != NULL ? pl_meta_rv(pl_doc_root(cached), &scratch) : pl_slice_z("gone"),
                rv);
    pl_doc_unref(cached);
}

TEST(what_was_written_is_cached_before_the_writer_is_told_and_its_echo_wakes_nobody)
{
    struct scene scene;
    begin(&scene);
    struct bed *bed = &scene.stage.bed;
    struct pl_write write = write_of(&scene, PL_VERB_CREATE, "v1/Pod", "n");
    send(&scene, &write, "{\"metadata\":{\"name\":\"n\",\"namespace\":\"d\"}}", NULL, owner_a);
    bed_reply(bed, bed_expect(bed, "POST", "/api/v1/namespaces/d/pods"), 201,
              POD("n", "20", "11", OWNED) "},\"spec\":{}}");
    CHECK_INT(scene.written, 1);
    check_cached(&scene, 1, "d/n", "11");
    check_log(&scene.stage.fake, "start d/a(ADDED);");
    fake_finish(&scene.stage.fake, "d/a", PL_OUTCOME_DONE);
    bed_stream(bed, scene.pods, BED_EVENT("ADDED", POD("n", "20", "11", OWNED) "},\"spec\":{}}"));
    check_log(&scene.stage.fake, "");
    bed_stream(bed, scene.pods,
               BED_EVENT("MODIFIED", POD("n", "20", "12", OWNED) "},\"spec\":{\"x\":1}}"));
    check_log(&scene.stage.fake, "start d/a(MODIFIED);");
    finish(&scene);
}

TEST(deletes_are_absent_or_terminating_at_once)
{
    struct scene scene;
    begin(&scene);
    struct bed *bed = &scene.stage.bed;
    const char *path = "/api/v1/namespaces/d/pods/p";
    struct pl_write write = write_of(&scene, PL_VERB_DELETE, "v1/Pod", "p");
    send(&scene, &write, NULL, NULL, NULL);
    bed_reply(bed, bed_expect(bed, "DELETE", path), 200,
              POD("p", "7", "11",
                  OWNED ",\"deletionGracePeriodSeconds\":30"
                        ",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"") "},\"spec\":{}}");
    check_cached(&scene, 1, "d/p", "11");
    CHECK(!scene.gone && scene.err.code == 0);
    send(&scene, &write, NULL, NULL, NULL);
    bed_reply(bed, bed_expect(bed, "DELETE", path), 200,
              "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Success\",\"details\":{"
              "\"name\":\"p\",\"kind\":\"pods\",\"uid\":\"7\"}}");
    check_cached(&scene, 1, "d/p", "gone");
    /* A late event does not bring it back. */
    bed_stream(bed, scene.pods, BED_EVENT("MODIFIED", OWNED_POD("11", "")));
    check_cached(&scene, 1, "d/p", "gone");
    bed_stream(bed, scene.pods, BED_EVENT("DELETED", OWNED_POD("12", "")));
    send(&scene, &write, NULL, NULL, NULL);
    bed_reply(bed, bed_expect(bed, "DELETE", path), 404, BED_STATUS(404, "NotFound"));
    CHECK(scene.gone && scene.err.code == 0);
    finish(&scene);
}

TEST(a_write_that_takes_the_last_finalizer_of_a_terminating_object_ends_it)
{
    static const struct {
        const char *more, *cached;
    } cases[] = {
        {"\"finalizers\":[\"example.com/other\"]}}", "11"},
        {"\"finalizers\":[]},\"spec\":{\"finalizers\":[\"kubernetes\"]}}", "11"},
        {"\"deletionGracePeriodSeconds\":30}}", "11"},
        {"\"deletionGracePeriodSeconds\":0}}", "gone"},
        {"\"finalizers\":[]}}", "gone"},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        struct scene scene;
        begin(&scene);
        struct bed *bed = &scene.stage.bed;
        struct pl_write write = write_of(&scene, PL_VERB_PATCH, "v1/Pod", "p");
        write.patch_type = PL_PATCH_MERGE;
        write.force_write = true;
        send(&scene, &write, "{\"metadata\":{\"finalizers\":null}}", NULL, NULL);
        char answer[400];
        snprintf(answer, sizeof answer, "%s%s",
                 POD("p", "7", "11", OWNED ",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\","),
                 cases[i].more);
        bed_reply(bed, bed_expect(bed, "PATCH", "/api/v1/namespaces/d/pods/p"), 200, answer);
        CHECK_INT(scene.written, 1);
        CHECK_INT(scene.err.code, 0);
        check_cached(&scene, 1, "d/p", cases[i].cached);
        finish(&scene);
    }
}

TEST(a_subresource_of_another_kind_is_followed_by_a_look_at_its_object)
{
    struct scene scene;
    begin(&scene);
    struct bed *bed = &scene.stage.bed;
    struct pl_write write = write_of(&scene, PL_VERB_CREATE, "v1/Pod", "p");
    write.subresource = pl_slice_z("eviction");
    send(&scene, &write, "{\"apiVersion\":\"policy/v1\",\"kind\":\"Eviction\"}", NULL, NULL);
    bed_reply(bed, bed_expect(bed, "POST", "/api/v1/namespaces/d/pods/p/eviction"), 201,
              "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Success\"}");
    CHECK_INT(scene.written, 0);
    bed_reply(bed, bed_expect(bed, "GET", "/api/v1/namespaces/d/pods/p"), 404,
              BED_STATUS(404, "NotFound"));
    CHECK_INT(scene.written, 1);
    CHECK_INT(scene.err.code, 0);
    check_cached(&scene, 1, "d/p", "gone");
    finish(&scene);
}

TEST_MAIN()
