/* Writes of a shadow's scripts: answered, recorded, and never sent. */
#include "unit/control/bed_controller.h"

#include "write/capture.h"
#include "kube/status.h"

/* A controller "maps" for ConfigMaps that owns Pods: d/a at version 5 and its Pod d/p are cached;
 * Websites are not. */
struct scene {
    struct stage stage;
    struct pl_controller *controller;
    struct pl_capture *capture;
    int written;
    struct pl_err err;
    struct pl_doc *object;
    bool skipped, gone;
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
    scene->skipped = written->skipped;
    scene->gone = written->gone;
}

static void begin(struct scene *scene)
{
    *scene = (struct scene){.capture = pl_capture_create()};
    stage_init(&scene->stage);
    struct pl_controller_spec spec = spec_of("maps");
    add_source(&spec, PL_SOURCE_FOR, "v1/ConfigMap", PL_MAP_SELF)->finalizers =
        texts_of("x/mine", NULL);
    add_source(&spec, PL_SOURCE_OWNS, "v1/Pod", PL_MAP_OWNER);
    scene->controller = stage_add(&scene->stage, &spec);
    pl_manager_start(scene->stage.manager);
    stage_sync(&scene->stage, "/api/v1/configmaps",
               BED_MAPS("10", BED_MAP("a", "1", "5", ",\"data\":{\"x\":\"1\"}")));
    stage_sync(&scene->stage, "/api/v1/pods", BED_LIST("Pod", "10", "", ""));
    fake_finish(&scene->stage.fake, "d/a", PL_OUTCOME_DONE);
}

static void finish(struct scene *scene)
{
    pl_doc_unref(scene->object);
    pl_capture_unref(scene->capture);
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
                             .held = true,
                             .capture = scene->capture,
                             .edition =
                                 pl_edition_writer(pl_controller_edition(scene->controller))};
}

static void start(struct scene *scene, struct pl_write *write, const char *body)
{
    scene->written = 0;
    write->body = body != NULL ? bed_doc(body) : NULL;
    pl_gate_write(pl_cluster_gate(scene->stage.bed.cluster), write, on_written, scene);
    CHECK_INT(scene->written, 0); /* never from inside */
    pl_doc_unref(write->body);
    bed_run(&scene->stage.bed);
}

/* Answered without a request. */
static void hold(struct scene *scene, struct pl_write *write, const char *body)
{
    start(scene, write, body);
    CHECK_INT(scene->written, 1);
    CHECK(bed_is_quiet(&scene->stage.bed));
}

static struct pl_write patch_of(struct scene *scene, const char *name)
{
    return write_of(scene, PL_VERB_PATCH, "v1/ConfigMap", name);
}

static const struct pl_effect *effect(struct scene *scene, const char *name)
{
    const struct pl_effect *found = pl_capture_find(scene->capture, name);
    if (found == NULL)
        TEST_FAIL("no effect of %s", name);
    REQUIRE(found != NULL);
    return found;
}

TEST(a_held_write_is_answered_with_the_object_as_merged_and_changes_no_cache)
{
    struct scene scene;
    struct pl_scratch scratch;
    begin(&scene);
    struct pl_write write = patch_of(&scene, "a");
    hold(&scene, &write, "{\"data\":{\"y\":\"2\"}}");
    CHECK_INT(scene.err.code, 0);
    CHECK(pl_node_str_eq(pl_node_dig(pl_doc_root(scene.object), "data", "x"), pl_slice_z("1")));
    CHECK(pl_node_str_eq(pl_node_dig(pl_doc_root(scene.object), "data", "y"), pl_slice_z("2")));
    CHECK_SLICE(pl_meta_uid(pl_doc_root(scene.object), &scratch), "1");
    struct pl_slice rv = pl_meta_rv(pl_doc_root(scene.object), &scratch);
    CHECK(rv.len > 7 && memcmp(rv.ptr, PL_MADE_UP, 7) == 0);
    CHECK_STR(effect(&scene, "v1/ConfigMap d/a")->verb, "patch");
    struct pl_doc *cached = pl_store_get(
        pl_informer_store(pl_controller_informer(scene.controller, 0)), pl_slice_z("d/a"));
    CHECK(pl_node_is_missing(pl_node_dig(pl_doc_root(cached), "data", "y")));
    pl_doc_unref(cached);
    finish(&scene);
}

TEST(the_next_write_of_the_run_is_merged_onto_the_last_one)
{
    struct scene scene;
    begin(&scene);
    struct pl_write write = patch_of(&scene, "a");
    hold(&scene, &write, "{\"data\":{\"y\":\"2\"}}");
    write = patch_of(&scene, "a");
    hold(&scene, &write, "{\"data\":{\"z\":\"3\"}}");
    CHECK(pl_node_str_eq(pl_node_dig(pl_doc_root(scene.object), "data", "y"), pl_slice_z("2")));
    CHECK_INT(pl_capture_count(scene.capture), 1);
    write = write_of(&scene, PL_VERB_DELETE, "v1/ConfigMap", "a");
    hold(&scene, &write, NULL);
    CHECK_STR(effect(&scene, "v1/ConfigMap d/a")->verb, "delete");
    write = write_of(&scene, PL_VERB_DELETE, "v1/ConfigMap", "a");
    hold(&scene, &write, NULL);
    CHECK(scene.gone);
    write = patch_of(&scene, "a");
    hold(&scene, &write, "{\"data\":{\"z\":\"3\"}}");
    CHECK(pl_err_is_not_found(&scene.err));
    finish(&scene);
}

TEST(what_would_change_nothing_is_no_effect)
{
    struct scene scene;
    begin(&scene);
    struct pl_write write = patch_of(&scene, "a");
    hold(&scene, &write, "{\"data\":{\"x\":\"1\"}}");
    CHECK(scene.skipped);
    write = patch_of(&scene, "a");
    write.patch_type = PL_PATCH_APPLY;
    hold(&scene, &write, BED_MAP("a", "1", "5", ",\"data\":{\"x\":\"1\"}"));
    CHECK(scene.skipped);
    write = write_of(&scene, PL_VERB_UPDATE, "v1/ConfigMap", "a");
    hold(&scene, &write, BED_MAP("a", "1", "5", ",\"data\":{\"x\":\"1\"}"));
    CHECK(scene.skipped);
    CHECK_INT(pl_capture_count(scene.capture), 0);
    finish(&scene);
}

TEST(a_creation_has_a_made_up_identity_and_is_there_for_the_run)
{
    struct scene scene;
    struct pl_scratch scratch;
    begin(&scene);
    static const char *const pod =
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"n\"},\"spec\":{}}";
    struct pl_write write = write_of(&scene, PL_VERB_CREATE, "v1/Pod", "n");
    struct pl_doc *owner = bed_doc(BED_MAP("a", "1", "5", ""));
    write.owner = owner;
    hold(&scene, &write, pod);
    CHECK_INT(scene.err.code, 0);
    CHECK_INT(pl_meta_owner_count(pl_doc_root(scene.object)), 1);
    struct pl_slice uid = pl_meta_uid(pl_doc_root(scene.object), &scratch);
    CHECK(uid.len > 7 && memcmp(uid.ptr, PL_MADE_UP, 7) == 0);
    struct pl_kind kind = kind_of("v1/Pod");
    struct pl_doc *seen;
    CHECK(pl_capture_sees(scene.capture, &kind, pl_slice_z("d/n"), &seen));
    CHECK(seen == scene.object);
    pl_doc_unref(seen);
    write = write_of(&scene, PL_VERB_CREATE, "v1/Pod", "n");
    hold(&scene, &write, pod);
    CHECK(pl_err_is_already_exists(&scene.err));
    pl_doc_unref(owner);
    finish(&scene);
}

TEST(what_no_cache_knows_is_read_from_the_server_and_not_written)
{
    struct scene scene;
    begin(&scene);
    struct pl_write write = write_of(&scene, PL_VERB_PATCH, "example.com/v1/Website", "w");
    start(&scene, &write, "{\"spec\":{\"n\":2}}");
    CHECK_INT(scene.written, 0);
    struct fake_request *get =
        bed_expect(&scene.stage.bed, "GET", "/apis/example.com/v1/namespaces/d/websites/w");
    bed_reply(&scene.stage.bed, get, 200,
              "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Website\",\"metadata\":{\"name\":"
              "\"w\",\"namespace\":\"d\",\"uid\":\"9\",\"resourceVersion\":\"7\"},\"spec\":{\"n\":"
              "1}}");
    CHECK_INT(scene.written, 1);
    CHECK(bed_is_quiet(&scene.stage.bed));
    int64_t n = 0;
    CHECK(pl_node_int(pl_node_dig(pl_doc_root(scene.object), "spec", "n"), &n));
    CHECK_INT(n, 2);
    CHECK(effect(&scene, "example.com/v1/Website d/w")->before != NULL);
    finish(&scene);
}

TEST(every_verb_is_held)
{
    struct scene scene;
    begin(&scene);
    struct pl_write write = write_of(&scene, PL_VERB_CREATE, "v1/Pod", "p");
    write.subresource = pl_slice_z("eviction");
    hold(&scene, &write, "{\"apiVersion\":\"policy/v1\",\"kind\":\"Eviction\"}");
    CHECK_STR(effect(&scene, "v1/Pod d/p eviction")->verb, "create");
    write = write_of(&scene, PL_VERB_DELETE_COLLECTION, "v1/ConfigMap", "");
    write.labels = pl_slice_z("a=b");
    hold(&scene, &write, NULL);
    effect(&scene, "v1/ConfigMap d/* labels=a=b fields=");
    write = write_of(&scene, PL_VERB_UPDATE, "v1/ConfigMap", "a");
    write.force_write = write.live = true;
    hold(&scene, &write, BED_MAP("a", "1", "5", ",\"data\":{\"x\":\"9\"}"));
    effect(&scene, "v1/ConfigMap d/a");
    finish(&scene);
}

TEST(what_the_gate_refuses_is_refused_to_a_shadow_too)
{
    struct scene scene;
    begin(&scene);
    struct pl_write write = patch_of(&scene, "a");
    hold(&scene, &write, "{\"metadata\":{\"finalizers\":[\"x/other\"]}}");
    CHECK_INT(scene.err.code, PL_EREFUSED);
    CHECK_STR(scene.err.reason, "finalizer");
    write = patch_of(&scene, "a");
    hold(&scene, &write, "{\"metadata\":{\"finalizers\":[\"x/mine\"]}}");
    CHECK_INT(scene.err.code, 0);
    finish(&scene);
}

TEST(what_is_sent_is_written_down_with_what_was_there_before)
{
    struct scene scene;
    begin(&scene);
    struct pl_write write = patch_of(&scene, "a");
    write.held = false;
    write.edition = NULL;
    write.controller = pl_controller_writer(scene.controller);
    start(&scene, &write, "{\"data\":{\"x\":\"2\"}}");
    struct fake_request *request =
        bed_expect(&scene.stage.bed, "PATCH", "/api/v1/namespaces/d/configmaps/a");
    bed_reply(&scene.stage.bed, request, 200, BED_MAP("a", "1", "11", ",\"data\":{\"x\":\"2\"}"));
    const struct pl_effect *found = effect(&scene, "v1/ConfigMap d/a");
    CHECK(pl_node_str_eq(pl_node_dig(pl_doc_root(found->before), "data", "x"), pl_slice_z("1")));
    CHECK(pl_node_str_eq(pl_node_dig(pl_doc_root(found->after), "data", "x"), pl_slice_z("2")));
    struct pl_kind kind = kind_of("v1/ConfigMap");
    struct pl_doc *seen;
    struct pl_scratch scratch;
    CHECK(pl_capture_sees(scene.capture, &kind, pl_slice_z("d/a"), &seen));
    CHECK_SLICE(pl_meta_rv(pl_doc_root(seen), &scratch), "5");
    pl_doc_unref(seen);
    CHECK(!pl_capture_is_disturbed(scene.capture));
    fake_finish(&scene.stage.fake, "d/a", PL_OUTCOME_DONE); /* of the change */
    finish(&scene);
}

TEST(an_answer_that_holds_somebody_elses_change_disturbs_the_run)
{
    struct scene scene;
    begin(&scene);
    struct pl_write write = patch_of(&scene, "a");
    write.held = false;
    write.edition = NULL;
    write.controller = pl_controller_writer(scene.controller);
    start(&scene, &write, "{\"data\":{\"y\":\"2\"}}");
    struct fake_request *request =
        bed_expect(&scene.stage.bed, "PATCH", "/api/v1/namespaces/d/configmaps/a");
    bed_reply(&scene.stage.bed, request, 200,
              BED_MAP("a", "1", "12", ",\"data\":{\"x\":\"theirs\",\"y\":\"2\"}"));
    CHECK(pl_capture_is_disturbed(scene.capture));
    fake_finish(&scene.stage.fake, "d/a", PL_OUTCOME_DONE);
    finish(&scene);
}

TEST(an_object_that_changed_since_the_run_looked_disturbs_it_but_not_its_own_writes)
{
    for (int own = 0; own < 2; own++) {
        struct scene scene;
        begin(&scene);
        struct pl_kind kind = kind_of("v1/ConfigMap");
        struct pl_doc *found = bed_doc(BED_MAP("a", "1", "4", ",\"data\":{\"x\":\"0\"}"));
        struct pl_doc *answer = bed_doc(BED_MAP("a", "1", "5", ",\"data\":{\"x\":\"1\"}"));
        pl_capture_show(scene.capture, &kind, pl_slice_z("d/a"), found, true);
        if (own)
            pl_capture_answered(scene.capture, &kind, pl_slice_z("d/a"), answer);
        struct pl_write write = patch_of(&scene, "a");
        write.held = false;
        write.edition = NULL;
        write.controller = pl_controller_writer(scene.controller);
        start(&scene, &write, "{\"data\":{\"y\":\"2\"}}");
        struct fake_request *request =
            bed_expect(&scene.stage.bed, "PATCH", "/api/v1/namespaces/d/configmaps/a");
        bed_reply(&scene.stage.bed, request, 200,
                  BED_MAP("a", "1", "12", ",\"data\":{\"x\":\"1\",\"y\":\"2\"}"));
        CHECK_INT(pl_capture_is_disturbed(scene.capture), !own);
        fake_finish(&scene.stage.fake, "d/a", PL_OUTCOME_DONE);
        pl_doc_unref(found);
        pl_doc_unref(answer);
        finish(&scene);
    }
}

/* The running scripts apply x and y of d/a. */
static void apply_both(struct scene *scene)
{
    struct pl_write write = patch_of(scene, "a");
    write.patch_type = PL_PATCH_APPLY;
    write.held = false;
    write.edition = NULL;
    write.controller = pl_controller_writer(scene->controller);
    start(scene, &write, "{\"data\":{\"x\":\"1\",\"y\":\"2\"}}");
    struct fake_request *request =
        bed_expect(&scene->stage.bed, "PATCH", "/api/v1/namespaces/d/configmaps/a");
    bed_reply(&scene->stage.bed, request, 200,
              BED_MAP("a", "1", "11", ",\"data\":{\"x\":\"1\",\"y\":\"2\",\"z\":\"3\"}"));
    fake_finish(&scene->stage.fake, "d/a", PL_OUTCOME_DONE); /* of the change */
    pl_capture_unref(scene->capture);
    scene->capture = pl_capture_create();
}

TEST(an_apply_says_which_fields_only_when_their_set_has_changed)
{
    static const char *const less = "it no longer applies fields that are applied now";
    static const char *const more = "it also applies fields that are not applied now";
    static const struct {
        const char *data, *note;
        bool skipped;
    } cases[] = {
        {"{\"x\":\"2\",\"y\":\"2\"}", NULL, false},
        {"{\"y\":\"2\",\"x\":\"1\"}", NULL, true},
        {"{\"x\":\"1\"}", less, false},
        {"{\"x\":\"5\"}", less, false},
        {"{\"x\":\"1\",\"w\":\"2\"}", less, false},
        {"{\"x\":\"1\",\"y\":\"2\",\"w\":\"4\"}", NULL, false}, /* the change shows it */
        {"{\"x\":\"1\",\"y\":\"2\",\"z\":\"3\"}", more, false},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        struct scene scene;
        begin(&scene);
        apply_both(&scene);
        struct pl_write write = patch_of(&scene, "a");
        write.patch_type = PL_PATCH_APPLY;
        char *body = pl_format("{\"data\":%s}", cases[i].data);
        hold(&scene, &write, body);
        pl_free(body);
        CHECK_INT(scene.skipped, cases[i].skipped);
        if (!cases[i].skipped)
            CHECK_STR(effect(&scene, "v1/ConfigMap d/a")->note, cases[i].note);
        finish(&scene);
    }
}

TEST_MAIN()
