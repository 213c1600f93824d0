/* The registrar's requests to an API server that the test plays, on virtual time: when it writes,
 * how often it retries, and what it leaves unchanged. registration_test.c tests the written
 * documents. */
#include "webhook/registrar.h"

#include "object/tree.h"

#include "../control/bed_controller.h"

#define VALIDATING "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
#define MUTATING   "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
#define CRDS       "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#define CRD        "websites.example.com"

struct scene {
    struct bed bed;
    struct fake_reconciler fake;
    struct pl_registrar *registrar;
    struct pl_edition *edition;
    bool removed;
};

static struct pl_edition *edition_of(struct scene *scene, enum pl_hook_sort sort)
{
    struct pl_controller_options options = {
        .cluster = scene->bed.cluster, .ops = &fake_ops, .self = &scene->fake};
    struct pl_controller_spec spec = spec_of("hook");
    struct pl_hook_spec *hook = PL_NEW(struct pl_hook_spec);
    hook->sort = sort;
    hook->kinds = PL_NEW(struct pl_hook_kind);
    hook->kind_count = 1;
    hook->timeout_s = 10;
    *hook->kinds = (struct pl_hook_kind){.kind = {"example.com", "v1", "Website"},
                                         .name = pl_strdup("x.website.example.com"),
                                         .path = pl_strdup("/x")};
    spec.hook = hook;
    return pl_edition_create(&options, &spec);
}

static void scene_init_without(struct scene *scene)
{
    *scene = (struct scene){.removed = false};
    bed_init(&scene->bed);
    fake_init(&scene->fake);
    const struct pl_registrar_options options = {
        .cluster = scene->bed.cluster, .name = "own", .url = "https://127.0.0.1:9443"};
    scene->registrar = pl_registrar_create(&options);
}

static void scene_init(struct scene *scene, enum pl_hook_sort sort)
{
    scene_init_without(scene);
    scene->edition = edition_of(scene, sort);
    pl_registrar_set(scene->registrar, &scene->edition, 1);
}

static void scene_deinit(struct scene *scene)
{
    pl_registrar_destroy(scene->registrar);
    pl_edition_unref(scene->edition);
    bed_run(&scene->bed);
    fake_deinit(&scene->fake);
    bed_deinit(&scene->bed);
}

/* Answers an apply, or a read after it, with what was applied, as the server shows it. */
static void answer_applied(struct scene *scene, struct fake_request *request,
                           const struct fake_request *apply)
{
    struct pl_doc *doc = bed_doc(pl_buf_z(&apply->body));
    struct pl_buf text = PL_BUF_INIT;
    struct pl_arena arena = {0};
    struct pl_tree *tree = pl_tree_from_node(&arena, pl_doc_root(doc));
    pl_tree_setz(&arena, pl_tree_getz(tree, "metadata"), "managedFields",
                 pl_tree_literal(&arena,
                                 "[{\"manager\":\"" PL_REGISTRATION_MANAGER
                                 "\",\"operation\":\"Apply\",\"time\":\"2026-01-01T00:00:00Z\"}]"));
    pl_tree_write(&text, tree);
    bed_reply(&scene->bed, request, 200, pl_buf_z(&text));
    pl_arena_deinit(&arena);
    pl_buf_deinit(&text);
    pl_doc_unref(doc);
}

static void take(struct scene *scene, struct fake_request *apply)
{
    answer_applied(scene, apply, apply);
}

static void gone(struct scene *scene, const char *path)
{
    struct fake_request *get = bed_expect(&scene->bed, "GET", path);
    bed_reply(&scene->bed, get, 404, BED_STATUS(404, "NotFound"));
}

/* A list of that path, which has no query; a watch has one. */
static struct fake_request *list_of(struct scene *scene, const char *path)
{
    bed_run(&scene->bed);
    PL_LIST_FOR (link, &scene->bed.net.started) {
        struct fake_request *request = PL_CONTAINER_OF(link, struct fake_request, link);
        if (strcmp(request->path, path) != 0)
            continue;
        pl_link_unlink(&request->link);
        pl_list_push(&scene->bed.net.taken, &request->link);
        return request;
    }
    return NULL;
}

static void answer_list(struct scene *scene, const char *path, const char *items)
{
    struct fake_request *list = list_of(scene, path);
    for (int passed = 0; list == NULL && passed < 100; passed++) {
        bed_pass(&scene->bed, 100 * PL_MS);
        list = list_of(scene, path);
    }
    REQUIRE(list != NULL);
    struct pl_buf text = PL_BUF_INIT;
    pl_buf_add_f(&text,
                 "{\"kind\":\"List\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":"
                 "\"1\"},\"items\":[%s]}",
                 items);
    bed_reply(&scene->bed, list, 200, pl_buf_z(&text));
    pl_buf_deinit(&text);
}

/* Neither configuration exists, and nothing of ours is elsewhere. */
static void nothing_is_there(struct scene *scene)
{
    gone(scene, VALIDATING "/own");
    gone(scene, MUTATING "/own");
    answer_list(scene, VALIDATING, "");
    answer_list(scene, MUTATING, "");
    answer_list(scene, CRDS, "");
}

/* The next request with that method within the time; its path must begin with that text. Watches
 * stay open. */
static struct fake_request *comes(struct scene *scene, const char *method, const char *path,
                                  int64_t within_ns)
{
    for (int64_t passed = 0; passed <= within_ns; passed += 10 * PL_MS) {
        bed_run(&scene->bed);
        PL_LIST_FOR (link, &scene->bed.net.started) {
            struct fake_request *request = PL_CONTAINER_OF(link, struct fake_request, link);
            if (strcmp(request->method, method) == 0 &&
                strncmp(request->path, path, strlen(path)) == 0)
                return FAKE_EXPECT(&scene->bed.net, method, path);
        }
        bed_pass(&scene->bed, 10 * PL_MS);
    }
    return NULL;
}

TEST(nothing_is_written_before_it_is_known_what_to_verify_with)
{
    struct scene scene;
    scene_init(&scene, PL_HOOK_VALIDATE);
    bed_pass(&scene.bed, 120 * PL_SECOND);
    CHECK(bed_is_quiet(&scene.bed));
    pl_registrar_set_ca(scene.registrar, NULL);
    nothing_is_there(&scene);
    struct fake_request *apply = comes(&scene, "PATCH", VALIDATING "/own", 0);
    REQUIRE(apply != NULL);
    CHECK_STR(fake_header(apply, "content-type"), "application/apply-patch+yaml");
    CHECK(strstr(apply->path, "fieldManager=" PL_REGISTRATION_MANAGER) != NULL);
    CHECK(strstr(apply->path, "force=true") != NULL);
    take(&scene, apply);
    CHECK(comes(&scene, "PATCH", "", 50 * PL_SECOND) == NULL);
    scene_deinit(&scene);
}

TEST(a_write_that_fails_is_tried_again_after_growing_pauses)
{
    struct scene scene;
    scene_init(&scene, PL_HOOK_VALIDATE);
    pl_registrar_set_ca(scene.registrar, "ca");
    nothing_is_there(&scene);
    int64_t pauses[8], last = scene.bed.clock.now_ns;
    for (size_t i = 0; i < PL_ARRAY_LEN(pauses); i++) {
        struct fake_request *apply = comes(&scene, "PATCH", VALIDATING "/own", 0);
        while (apply == NULL) {
            struct fake_request *get = comes(&scene, "GET", VALIDATING "/own", 40 * PL_SECOND);
            REQUIRE(get != NULL);
            bed_reply(&scene.bed, get, 404, BED_STATUS(404, "NotFound"));
            apply = comes(&scene, "PATCH", VALIDATING "/own", 0);
        }
        pauses[i] = scene.bed.clock.now_ns - last;
        last = scene.bed.clock.now_ns;
        bed_reply(&scene.bed, apply, 403, BED_STATUS(403, "Forbidden"));
    }
    CHECK(pauses[1] >= 200 * PL_MS && pauses[1] < 300 * PL_MS);
    for (size_t i = 2; i < PL_ARRAY_LEN(pauses); i++)
        CHECK(pauses[i] >= pauses[i - 1] && pauses[i] <= 31 * PL_SECOND);
    CHECK(pauses[7] > 10 * PL_SECOND);
    scene_deinit(&scene);
}

TEST(what_somebody_removes_is_written_again)
{
    struct scene scene;
    scene_init(&scene, PL_HOOK_MUTATE);
    pl_registrar_set_ca(scene.registrar, "ca");
    nothing_is_there(&scene);
    struct fake_request *apply = comes(&scene, "PATCH", MUTATING "/own", 0);
    REQUIRE(apply != NULL);
    take(&scene, apply);
    struct fake_request *watch = comes(&scene, "GET", MUTATING "?", 5 * PL_SECOND);
    REQUIRE(watch != NULL);
    CHECK(strstr(watch->path, "watch=") != NULL);
    bed_stream(&scene.bed, watch,
               BED_EVENT("DELETED",
                         "{\"kind\":\"MutatingWebhookConfiguration\",\"apiVersion\":"
                         "\"admissionregistration.k8s.io/v1\",\"metadata\":{\"name\":\"own\","
                         "\"resourceVersion\":\"9\"}}"));
    struct fake_request *get = comes(&scene, "GET", MUTATING "/own", PL_SECOND);
    REQUIRE(get != NULL);
    bed_reply(&scene.bed, get, 404, BED_STATUS(404, "NotFound"));
    CHECK(comes(&scene, "PATCH", MUTATING "/own", 0) != NULL);
    scene_deinit(&scene);
}

#define CRD_OBJECT                                                                                 \
    "{\"kind\":\"CustomResourceDefinition\",\"apiVersion\":\"apiextensions.k8s.io/v1\","           \
    "\"metadata\":{\"name\":\"" CRD "\",\"resourceVersion\":\"1\"},\"spec\":{\"group\":"           \
    "\"example.com\",\"names\":{\"kind\":\"Website\"},\"conversion\":{\"strategy\":\"None\"}}}"

static struct fake_request *first_conversion(struct scene *scene)
{
    pl_registrar_set_ca(scene->registrar, "ca");
    nothing_is_there(scene);
    answer_list(scene, CRDS, CRD_OBJECT);
    struct fake_request *get = comes(scene, "GET", CRDS "/" CRD, 0);
    REQUIRE(get != NULL);
    bed_reply(&scene->bed, get, 200, CRD_OBJECT);
    struct fake_request *apply = comes(scene, "PATCH", CRDS "/" CRD, 0);
    REQUIRE(apply != NULL);
    return apply;
}

static struct fake_request *first_validation(struct scene *scene)
{
    pl_registrar_set_ca(scene->registrar, "old");
    nothing_is_there(scene);
    struct fake_request *apply = comes(scene, "PATCH", VALIDATING "/own", 0);
    REQUIRE(apply != NULL);
    return apply;
}

TEST(what_changes_during_a_write_is_written_after_it)
{
    struct scene scene;
    scene_init(&scene, PL_HOOK_VALIDATE);
    struct fake_request *first = first_validation(&scene);
    pl_registrar_set_ca(scene.registrar, "new");
    CHECK(comes(&scene, "PATCH", VALIDATING "/own", PL_SECOND) == NULL);
    take(&scene, first);
    struct fake_request *get = comes(&scene, "GET", VALIDATING "/own", PL_SECOND);
    REQUIRE(get != NULL);
    answer_applied(&scene, get, first);
    struct fake_request *second = comes(&scene, "PATCH", VALIDATING "/own", 0);
    REQUIRE(second != NULL);
    CHECK(strstr(pl_buf_z(&first->body), "b2xk") != NULL);
    CHECK(strstr(pl_buf_z(&second->body), "bmV3") != NULL);
    take(&scene, second);
    CHECK(comes(&scene, "PATCH", "", 50 * PL_SECOND) == NULL);
    scene_deinit(&scene);
}

TEST(what_is_no_longer_wanted_during_a_write_is_removed_after_it)
{
    struct scene scene;
    scene_init(&scene, PL_HOOK_VALIDATE);
    struct fake_request *first = first_validation(&scene);
    pl_registrar_set(scene.registrar, NULL, 0);
    take(&scene, first);
    struct fake_request *get = comes(&scene, "GET", VALIDATING "/own", PL_SECOND);
    REQUIRE(get != NULL);
    answer_applied(&scene, get, first);
    CHECK(comes(&scene, "DELETE", VALIDATING "/own", 0) != NULL);
    scene_deinit(&scene);
}

TEST(a_conversion_that_is_no_longer_wanted_during_its_write_is_taken_back)
{
    struct scene scene;
    scene_init(&scene, PL_HOOK_CONVERT);
    struct fake_request *first = first_conversion(&scene);
    pl_registrar_set(scene.registrar, NULL, 0);
    take(&scene, first);
    struct fake_request *get = comes(&scene, "GET", CRDS "/" CRD, PL_SECOND);
    REQUIRE(get != NULL);
    answer_applied(&scene, get, first);
    struct fake_request *back = comes(&scene, "PATCH", CRDS "/" CRD, 0);
    REQUIRE(back != NULL);
    CHECK(strstr(pl_buf_z(&back->body), "conversion") == NULL);
    bed_reply(&scene.bed, back, 200, CRD_OBJECT);
    CHECK(comes(&scene, "PATCH", "", 50 * PL_SECOND) == NULL);
    scene_deinit(&scene);
}

static void check_missing(const struct scene *scene, const char *want)
{
    struct pl_buf why = PL_BUF_INIT;
    CHECK(pl_registrar_is_incomplete(scene->registrar, &why) == (*want != '\0'));
    CHECK_STR(pl_buf_z(&why), want);
    pl_buf_deinit(&why);
}

TEST(a_kind_that_is_not_served_is_told_and_registered_when_it_is)
{
    struct scene scene;
    scene_init(&scene, PL_HOOK_VALIDATE);
    scene.bed.no_websites = true;
    pl_registrar_set_ca(scene.registrar, "ca");
    nothing_is_there(&scene);
    CHECK(comes(&scene, "PATCH", "", 20 * PL_SECOND) == NULL);
    check_missing(&scene,
                  "x.website.example.com: the server does not serve example.com/v1/Website; there "
                  "is no API group example.com: is its CustomResourceDefinition installed?");
    scene.bed.no_websites = false;
    struct fake_request *get = comes(&scene, "GET", VALIDATING "/own", 60 * PL_SECOND);
    REQUIRE(get != NULL);
    bed_reply(&scene.bed, get, 404, BED_STATUS(404, "NotFound"));
    CHECK(comes(&scene, "PATCH", VALIDATING "/own", 0) != NULL);
    check_missing(&scene, "");
    scene_deinit(&scene);
}

TEST(a_crd_that_cannot_be_converted_is_told_by_an_event)
{
    struct scene scene;
    scene_init(&scene, PL_HOOK_CONVERT);
    bed_reply(
        &scene.bed, first_conversion(&scene), 422,
        "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"reason\":"
        "\"Invalid\",\"code\":422,\"message\":\"must be None if spec.preserveUnknownFields is "
        "true\"}");
    struct fake_request *event =
        comes(&scene, "POST", "/apis/events.k8s.io/v1/namespaces/default/events", 5 * PL_SECOND);
    REQUIRE(event != NULL);
    CHECK(strstr(pl_buf_z(&event->body), "WebhookConversionRefused") != NULL);
    CHECK(strstr(pl_buf_z(&event->body), "preserveUnknownFields") != NULL);
    bed_reply(&scene.bed, event, 201, "{\"kind\":\"Event\",\"apiVersion\":\"events.k8s.io/v1\"}");
    scene_deinit(&scene);
}

TEST(what_the_server_refuses_is_told_until_it_takes_it)
{
    struct scene scene;
    scene_init(&scene, PL_HOOK_VALIDATE);
    struct fake_request *apply = first_validation(&scene);
    check_missing(&scene, "");
    bed_reply(&scene.bed, apply, 422,
              "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"reason\":"
              "\"Invalid\",\"code\":422,\"message\":\"compilation failed\"}");
    bed_run(&scene.bed);
    check_missing(&scene, "ValidatingWebhookConfiguration own: compilation failed");
    struct fake_request *get = comes(&scene, "GET", VALIDATING "/own", PL_SECOND);
    REQUIRE(get != NULL);
    bed_reply(&scene.bed, get, 404, BED_STATUS(404, "NotFound"));
    apply = comes(&scene, "PATCH", VALIDATING "/own", 0);
    REQUIRE(apply != NULL);
    take(&scene, apply);
    bed_run(&scene.bed);
    check_missing(&scene, "");
    scene_deinit(&scene);
}

TEST(a_crd_that_is_not_there_is_told_and_looked_for_again)
{
    struct scene scene;
    scene_init(&scene, PL_HOOK_CONVERT);
    pl_registrar_set_ca(scene.registrar, "ca");
    nothing_is_there(&scene);
    answer_list(&scene, CRDS, "");
    bed_run(&scene.bed);
    check_missing(&scene, "x.website.example.com: there is no CRD of this kind");
    answer_list(&scene, CRDS, CRD_OBJECT);
    CHECK(comes(&scene, "GET", CRDS "/" CRD, 0) != NULL);
    check_missing(&scene, "");
    scene_deinit(&scene);
}

static void on_removed(void *arg)
{
    struct scene *scene = arg;
    CHECK(!scene->removed);
    scene->removed = true;
}

static const char stray[] =
    "{\"apiVersion\":\"admissionregistration.k8s.io/v1\",\"kind\":"
    "\"ValidatingWebhookConfiguration\",\"metadata\":{\"name\":\"former\",\"managedFields\":"
    "[{\"manager\":\"" PL_REGISTRATION_MANAGER "\",\"operation\":\"Apply\",\"time\":"
    "\"2026-01-01T00:00:00Z\"}]},\"webhooks\":[{\"name\":\"a\",\"clientConfig\":{\"url\":"
    "\"https://127.0.0.1:9443/x\"}}]}";

TEST(what_is_registered_under_another_name_goes_even_when_requests_fail)
{
    struct scene scene;
    scene_init(&scene, PL_HOOK_VALIDATE);
    pl_registrar_set_ca(scene.registrar, NULL);
    gone(&scene, VALIDATING "/own");
    gone(&scene, MUTATING "/own");
    struct fake_request *list = list_of(&scene, VALIDATING);
    REQUIRE(list != NULL);
    bed_reply(&scene.bed, list, 403, BED_STATUS(403, "Forbidden"));
    answer_list(&scene, MUTATING, "");
    answer_list(&scene, CRDS, "");
    answer_list(&scene, VALIDATING, stray);
    struct fake_request *removal = comes(&scene, "DELETE", VALIDATING "/former", 0);
    REQUIRE(removal != NULL);
    bed_reply(&scene.bed, removal, 403, BED_STATUS(403, "Forbidden"));
    answer_list(&scene, VALIDATING, stray);
    removal = comes(&scene, "DELETE", VALIDATING "/former", 0);
    REQUIRE(removal != NULL);
    bed_reply(&scene.bed, removal, 404, BED_STATUS(404, "NotFound"));
    bed_pass(&scene.bed, 60 * PL_SECOND);
    CHECK(list_of(&scene, VALIDATING) == NULL);
    CHECK(list_of(&scene, MUTATING) == NULL);
    CHECK(list_of(&scene, CRDS) == NULL);
    scene_deinit(&scene);
}

/* ---- what an earlier process has left ---- */

#define MANAGED(fields)                                                                            \
    "\"managedFields\":[{\"manager\":\"" PL_REGISTRATION_MANAGER                                   \
    "\",\"operation\":\"Apply\",\"time\":\"2026-01-01T00:00:00Z\",\"fieldsV1\":{" fields "}}]"
#define LEFT(name, url)                                                                            \
    "{\"apiVersion\":\"admissionregistration.k8s.io/v1\",\"kind\":"                                \
    "\"ValidatingWebhookConfiguration\",\"metadata\":{\"name\":\"" name                            \
    "\"," MANAGED("") "},\"webhooks\":[{\"name\":\"a\",\"clientConfig\":{\"url\":\"" url           \
                      "/x\"}}]}"
#define LEFT_CRD(name, managed, url)                                                               \
    "{\"kind\":\"CustomResourceDefinition\",\"apiVersion\":\"apiextensions.k8s.io/v1\","           \
    "\"metadata\":{\"name\":\"" name "\"," managed "},\"spec\":{\"group\":\"example.com\","        \
    "\"names\":{\"kind\":\"Website\"},\"conversion\":{\"strategy\":\"Webhook\",\"webhook\":"       \
    "{\"clientConfig\":{\"url\":\"" url "/convert\"}}}}}"
#define DELETED    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Success\"}"
#define OURS       "https://127.0.0.1:9443"
#define OTHERS     "https://127.0.0.1:94431"
#define CONVERSION MANAGED("\"f:spec\":{\"f:conversion\":{\"f:strategy\":{}}}")
#define MUCH_ELSE  MANAGED("\"f:spec\":{\"f:scope\":{}}")

static void replies(struct scene *scene, const char *path, const char *body)
{
    struct fake_request *get = comes(scene, "GET", path, PL_SECOND);
    REQUIRE(get != NULL);
    bed_reply(&scene->bed, get, 200, body);
}

TEST(without_handlers_what_an_earlier_process_left_goes)
{
    struct scene scene;
    scene_init_without(&scene);
    CHECK(bed_is_quiet(&scene.bed));
    pl_registrar_set(scene.registrar, NULL, 0);
    answer_list(&scene, VALIDATING, LEFT("own", OURS) "," LEFT("foreign", OTHERS));
    answer_list(&scene, MUTATING, "");
    answer_list(&scene, CRDS, "");
    replies(&scene, VALIDATING "/own", LEFT("own", OURS));
    struct fake_request *removal = comes(&scene, "DELETE", VALIDATING, 0);
    REQUIRE(removal != NULL);
    CHECK_STR(removal->path, VALIDATING "/own");
    bed_reply(&scene.bed, removal, 200, DELETED);
    CHECK(comes(&scene, "DELETE", "", 50 * PL_SECOND) == NULL);
    scene_deinit(&scene);
}

TEST(a_kind_that_cannot_be_asked_for_stays_registered)
{
    struct scene scene;
    scene_init(&scene, PL_HOOK_VALIDATE);
    scene.bed.no_discovery = true;
    pl_registrar_set_ca(scene.registrar, "ca");
    struct fake_request *group = comes(&scene, "GET", "/apis/example.com/v1", 0);
    REQUIRE(group != NULL);
    bed_reply(&scene.bed, group, 503, BED_STATUS(503, "ServiceUnavailable"));
    struct fake_request *get = comes(&scene, "GET", VALIDATING "/own", 2 * PL_SECOND);
    if (get != NULL)
        bed_reply(&scene.bed, get, 200, LEFT("own", OURS));
    CHECK(comes(&scene, "DELETE", "", 2 * PL_SECOND) == NULL);
    check_missing(&scene,
                  "x.website.example.com: discovery of example.com/v1: ServiceUnavailable!");
    scene.bed.no_discovery = false;
    get = comes(&scene, "GET", VALIDATING "/own", 60 * PL_SECOND);
    REQUIRE(get != NULL);
    bed_reply(&scene.bed, get, 200, LEFT("own", OURS));
    CHECK(comes(&scene, "PATCH", VALIDATING "/own", 0) != NULL);
    scene_deinit(&scene);
}

TEST(what_other_replicas_write_again_is_removed_again_later_but_not_for_ever)
{
    struct scene scene;
    scene_init_without(&scene);
    pl_registrar_set(scene.registrar, NULL, 0);
    answer_list(&scene, VALIDATING, LEFT("own", OURS));
    answer_list(&scene, MUTATING, "");
    answer_list(&scene, CRDS, "");
    int removals = 0;
    int64_t last_ns = 0;
    for (int looks = 0; looks < 20; looks++) {
        struct fake_request *get = comes(&scene, "GET", VALIDATING "/own", 90 * PL_SECOND);
        REQUIRE(get != NULL);
        bed_reply(&scene.bed, get, 200, LEFT("own", OURS));
        struct fake_request *removal = comes(&scene, "DELETE", VALIDATING "/own", 0);
        if (removal == NULL)
            continue;
        CHECK(removals == 0 || scene.bed.clock.now_ns - last_ns >= 50 * PL_SECOND);
        last_ns = scene.bed.clock.now_ns;
        removals++;
        bed_reply(&scene.bed, removal, 200, DELETED);
    }
    CHECK_INT(removals, 5);
    scene_deinit(&scene);
}

TEST(conversions_that_an_earlier_process_left_are_taken_back)
{
    struct scene scene;
    scene_init(&scene, PL_HOOK_VALIDATE);
    pl_registrar_set_ca(scene.registrar, "ca");
    gone(&scene, VALIDATING "/own");
    gone(&scene, MUTATING "/own");
    answer_list(&scene, VALIDATING, "");
    answer_list(&scene, MUTATING, "");
    answer_list(&scene, CRDS,
                LEFT_CRD(CRD, CONVERSION, OURS) "," LEFT_CRD("foreign.example.com", CONVERSION,
                                                             OTHERS) "," LEFT_CRD("by.example.com",
                                                                                  MUCH_ELSE, OURS));
    replies(&scene, CRDS "/" CRD, LEFT_CRD(CRD, CONVERSION, OURS));
    replies(&scene, CRDS "/foreign", LEFT_CRD("foreign.example.com", CONVERSION, OTHERS));
    replies(&scene, CRDS "/" CRD, LEFT_CRD(CRD, CONVERSION, OURS));
    struct fake_request *back = comes(&scene, "PATCH", CRDS, 0);
    REQUIRE(back != NULL);
    CHECK(strncmp(back->path, CRDS "/" CRD "?", strlen(CRDS "/" CRD "?")) == 0);
    CHECK(strstr(pl_buf_z(&back->body), "conversion") == NULL);
    bed_reply(&scene.bed, back, 200, CRD_OBJECT);
    CHECK(comes(&scene, "PATCH", CRDS, 10 * PL_SECOND) == NULL);
    CHECK(comes(&scene, "GET", CRDS "/by", 0) == NULL);
    CHECK(comes(&scene, "GET", CRDS "/foreign", 0) == NULL);
    scene_deinit(&scene);
}

TEST(a_conversion_that_is_declared_stays_at_a_start)
{
    struct scene scene;
    scene_init(&scene, PL_HOOK_CONVERT);
    pl_registrar_set_ca(scene.registrar, "ca");
    gone(&scene, VALIDATING "/own");
    gone(&scene, MUTATING "/own");
    answer_list(&scene, VALIDATING, "");
    answer_list(&scene, MUTATING, "");
    answer_list(&scene, CRDS, LEFT_CRD(CRD, CONVERSION, OURS));
    replies(&scene, CRDS "/" CRD, LEFT_CRD(CRD, CONVERSION, OURS));
    CHECK(comes(&scene, "PATCH", CRDS, 0) == NULL);
    answer_list(&scene, CRDS, LEFT_CRD(CRD, CONVERSION, OURS));
    replies(&scene, CRDS "/" CRD, LEFT_CRD(CRD, CONVERSION, OURS));
    struct fake_request *apply = comes(&scene, "PATCH", CRDS "/" CRD, 0);
    REQUIRE(apply != NULL);
    CHECK(strstr(pl_buf_z(&apply->body), "conversion") != NULL);
    scene_deinit(&scene);
}

TEST(without_handlers_nothing_is_asked_twice)
{
    for (int forbidden = 0; forbidden < 2; forbidden++) {
        struct scene scene;
        scene_init_without(&scene);
        pl_registrar_set(scene.registrar, NULL, 0);
        static const char *const paths[] = {VALIDATING, MUTATING, CRDS};
        for (size_t i = 0; i < PL_ARRAY_LEN(paths); i++) {
            if (!forbidden) {
                answer_list(&scene, paths[i], "");
                continue;
            }
            struct fake_request *list = list_of(&scene, paths[i]);
            REQUIRE(list != NULL);
            bed_reply(&scene.bed, list, 403, BED_STATUS(403, "Forbidden"));
        }
        pl_registrar_set(scene.registrar, NULL, 0);
        bed_pass(&scene.bed, 600 * PL_SECOND);
        CHECK(bed_is_quiet(&scene.bed));
        scene_deinit(&scene);
    }
}

TEST(a_stop_takes_everything_back)
{
    struct scene scene;
    scene_init(&scene, PL_HOOK_CONVERT);
    take(&scene, first_conversion(&scene));
    pl_registrar_remove(scene.registrar, 5 * PL_SECOND, on_removed, &scene);
    struct fake_request *back = comes(&scene, "PATCH", CRDS "/" CRD, 0);
    REQUIRE(back != NULL);
    CHECK(strstr(pl_buf_z(&back->body), "conversion") == NULL);
    CHECK(!scene.removed);
    bed_reply(&scene.bed, back, 200, CRD_OBJECT);
    CHECK(scene.removed);
    scene_deinit(&scene);
}

TEST(a_stop_during_a_write_takes_back_what_was_written)
{
    struct scene scene;
    scene_init(&scene, PL_HOOK_VALIDATE);
    struct fake_request *first = first_validation(&scene);
    pl_registrar_remove(scene.registrar, 5 * PL_SECOND, on_removed, &scene);
    CHECK(comes(&scene, "DELETE", "", PL_SECOND) == NULL);
    take(&scene, first);
    struct fake_request *removal = comes(&scene, "DELETE", VALIDATING "/own", 0);
    REQUIRE(removal != NULL);
    CHECK(!scene.removed);
    bed_reply(&scene.bed, removal, 200, BED_STATUS(200, ""));
    CHECK(scene.removed);
    scene_deinit(&scene);
}

TEST(a_stop_waits_for_nobody_longer_than_told)
{
    struct scene scene;
    scene_init(&scene, PL_HOOK_CONVERT);
    take(&scene, first_conversion(&scene));
    pl_registrar_remove(scene.registrar, 5 * PL_SECOND, on_removed, &scene);
    REQUIRE(comes(&scene, "PATCH", CRDS "/" CRD, 0) != NULL);
    bed_pass(&scene.bed, 4 * PL_SECOND);
    CHECK(!scene.removed);
    bed_pass(&scene.bed, PL_SECOND);
    CHECK(scene.removed);
    scene_deinit(&scene);
}

TEST_MAIN()
