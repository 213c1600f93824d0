/* The client against a real kube-apiserver: $PL_TEST_KUBECONFIG, whose current context has a client
 * certificate and whose context "token" a token, both of a cluster administrator. Skipped (exit
 * status 77) without one. Each test creates its own namespace. It runs in real time: every wait has
 * a limit. */
#include "kube/client.h"

#include "base/alloc.h"
#include "kube/discovery.h"
#include "kube/status.h"
#include "net/http_client.h"
#include "support/test.h"
#include "value/build.h"
#include "object/meta.h"
#include "value/pool.h"
#include "value/write.h"

#include <dirent.h>
#include <stdarg.h>
#include <unistd.h>

#define PATIENCE_TURNS 6000 /* of at most 10 ms */
#define OBJECTS        60

static const char *kubeconfig_path;

struct world {
    struct pl_loop *loop;
    struct pl_http_client *http;
    struct pl_kubeconfig config;
    struct pl_pool *pool;
    struct pl_rand rand;
    struct pl_waits waits;
    struct pl_client *client;
    struct pl_discovery *discovery;
    const struct pl_resource *configmaps, *namespaces, *deployments, *pods;
    char ns[64];
};

extern char **environ;

static void world_init(struct world *w, const char *context)
{
    struct pl_err err;
    memset(w, 0, sizeof *w);
    w->loop = pl_loop_create(pl_clock_system());
    w->http = pl_http_client_create(w->loop);
    w->pool = pl_pool_create();
    pl_rand_init(&w->rand);
    pl_waits_init(&w->waits, pl_loop_clock(w->loop));
    struct pl_kubeconfig_options options = {
        .files = kubeconfig_path,
        .context = context,
        .environ = (const char *const *)environ,
    };
    if (pl_kubeconfig_load(&options, &w->config, &err) != 0)
        TEST_FAIL("%s", err.message);
    struct pl_client_options client_options = {
        .transport = pl_http_client_transport(w->http),
        .timers = pl_loop_timers(w->loop),
        .rand = &w->rand,
        .waits = &w->waits,
        .loop = w->loop,
        .config = &w->config,
        .pool = w->pool,
        .user_agent = "perilune/test",
    };
    w->client = pl_client_create(&client_options, &err);
    REQUIRE(w->client != NULL);
    w->discovery = pl_discovery_create(w->client);
    snprintf(w->ns, sizeof w->ns, "perilune-client-%016" PRIx64, pl_rand_u64(&w->rand));
}

static void world_deinit(struct world *w)
{
    pl_discovery_destroy(w->discovery);
    pl_client_destroy(w->client);
    CHECK_INT(w->waits.count, 0);
    pl_http_client_destroy(w->http);
    pl_waits_deinit(&w->waits);
    pl_pool_collect(w->pool);
    pl_pool_destroy(w->pool);
    pl_kubeconfig_deinit(&w->config);
    pl_loop_destroy(w->loop);
}

/* ---- waiting ---- */

struct got {
    bool done;
    struct pl_err err;
    struct pl_doc *doc; /* a reference */
    struct pl_docs items;
};

static void on_answer(void *arg, const struct pl_answer *answer)
{
    struct got *got = arg;
    got->done = true;
    pl_err_clear(&got->err);
    if (answer->err != NULL)
        got->err = *answer->err;
    got->doc = pl_doc_ref(answer->doc);
    if (answer->items != NULL) {
        got->items = *answer->items;
        *answer->items = (struct pl_docs){0};
    }
}

static void got_deinit(struct got *got)
{
    pl_doc_unref(got->doc);
    pl_docs_deinit(&got->items);
}

#define WAIT_FOR(w, condition)                                                                     \
    do {                                                                                           \
        for (int wait_turn = 0; wait_turn < PATIENCE_TURNS && !(condition); wait_turn++)           \
            pl_loop_turn((w)->loop, 10);                                                           \
        REQUIRE(condition);                                                                        \
    } while (0)

static struct got run(struct world *w, const struct pl_call *call)
{
    struct got got = {0};
    pl_client_start(w->client, call, on_answer, &got);
    WAIT_FOR(w, got.done);
    return got;
}

/* Runs the call; code and status must be the expected ones. */
static struct got expect(struct world *w, const struct pl_call *call, int status)
{
    struct got got = run(w, call);
    if (got.err.status != status || (status == 0 && got.err.code != 0))
        TEST_FAIL("%s %.*s: want status %d, got %s %d %s: %s", pl_verb_name(call->verb),
                  PL_FMT(call->name), status, pl_code_name(got.err.code), got.err.status,
                  got.err.reason, got.err.message);
    return got;
}

static void expect_only(struct world *w, const struct pl_call *call, int status)
{
    struct got got = expect(w, call, status);
    got_deinit(&got);
}

struct found {
    bool done;
    const struct pl_resource *resource;
    struct pl_err err;
};

static void on_resource(void *arg, const struct pl_resource *resource, const struct pl_err *err)
{
    struct found *found = arg;
    found->done = true;
    found->resource = resource;
    pl_err_clear(&found->err);
    if (err != NULL)
        found->err = *err;
}

static struct found find(struct world *w, const char *text)
{
    struct found found = {0};
    struct pl_kind kind;
    REQUIRE(pl_kind_parse(pl_slice_z(text), &kind, NULL) == 0);
    pl_discovery_find(w->discovery, &kind, on_resource, &found);
    WAIT_FOR(w, found.done);
    return found;
}

static const struct pl_resource *resource_of(struct world *w, const char *kind)
{
    struct found found = find(w, kind);
    if (found.resource == NULL)
        TEST_FAIL("%s: %s", kind, found.err.message);
    REQUIRE(found.resource != NULL);
    return found.resource;
}

/* ---- documents ---- */

static struct pl_doc *json(const char *fmt, ...) PL_PRINTF(1, 2);
static struct pl_doc *json(const char *fmt, ...)
{
    char text[1024];
    struct pl_err err;
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    struct pl_doc *doc = pl_scan_text(pl_slice_z(text), &(struct pl_scan_options){0}, &err);
    if (doc == NULL)
        TEST_FAIL("%s: %s", text, err.message);
    REQUIRE(doc != NULL);
    return doc;
}

static struct pl_call call_of(struct world *w, enum pl_verb verb, const char *name)
{
    return (struct pl_call){
        .verb = verb,
        .resource = w->configmaps,
        .ns = pl_slice_z(w->ns),
        .name = pl_slice_z(name),
        .grace_period = -1,
    };
}

/* Runs the call with a body, and releases the body. */
static struct got send_body(struct world *w, struct pl_call call, struct pl_doc *body, int status)
{
    call.body = body;
    struct got got = expect(w, &call, status);
    pl_doc_unref(body);
    return got;
}

static void set_up(struct world *w, const char *context)
{
    world_init(w, context);
    w->configmaps = resource_of(w, "v1/ConfigMap");
    w->namespaces = resource_of(w, "v1/Namespace");
    w->deployments = resource_of(w, "apps/v1/Deployment");
    w->pods = resource_of(w, "v1/Pod");
    struct pl_call call = {.verb = PL_VERB_CREATE, .resource = w->namespaces, .grace_period = -1};
    struct got got = send_body(w, call,
                               json("{\"apiVersion\":\"v1\",\"kind\":\"Namespace\","
                                    "\"metadata\":{\"name\":\"%s\"}}",
                                    w->ns),
                               0);
    got_deinit(&got);
}

static void tear_down(struct world *w)
{
    struct pl_call call = {
        .verb = PL_VERB_DELETE,
        .resource = w->namespaces,
        .name = pl_slice_z(w->ns),
        .grace_period = -1,
    };
    expect_only(w, &call, 0);
    world_deinit(w);
}

static struct got create(struct world *w, const char *name, int status)
{
    struct pl_doc *doc =
        json("{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":"
             "\"%s\",\"labels\":{\"app\":\"t\"}},\"data\":{\"a\":\"1\"}}",
             name);
    return send_body(w, call_of(w, PL_VERB_CREATE, ""), doc, status);
}

static void expect_data(const struct got *got, const char *want)
{
    struct pl_buf text = PL_BUF_INIT;
    pl_write(&text, pl_node_getz(pl_doc_root(got->doc), "data"), PL_WRITE_SORTED);
    CHECK_STR(pl_buf_z(&text), want);
    pl_buf_deinit(&text);
}

/* ---- tests ---- */

TEST(kinds_are_found_and_unknown_ones_explained)
{
    struct world w;
    set_up(&w, NULL);
    CHECK(w.deployments->namespaced && w.deployments->has_status && w.deployments->can_watch);
    CHECK(!w.namespaces->namespaced);
    CHECK(!w.configmaps->has_status);
    struct found found = find(&w, "apps/v1beta1/Deployment");
    CHECK_INT(found.err.code, PL_ENOTFOUND);
    CHECK_STR(found.err.message,
              "the server does not serve apps/v1beta1/Deployment; it serves that "
              "kind as apps/v1/Deployment");
    found = find(&w, "v1/ConfigMpa");
    CHECK_STR(found.err.message, "the server does not serve v1/ConfigMpa; did you mean "
                                 "v1/ConfigMap?");
    found = find(&w, "nowhere.example.com/v1/NeverDefined");
    CHECK(strstr(found.err.message, "CustomResourceDefinition") != NULL);
    tear_down(&w);
}

static void use_every_verb(const char *context)
{
    struct world w;
    set_up(&w, context);
    struct got made = create(&w, "a", 0), got;
    CHECK(pl_node_is_missing(pl_node_dig(pl_doc_root(made.doc), "metadata", "managedFields")));
    struct got twice = create(&w, "a", 409);
    CHECK(pl_err_is_already_exists(&twice.err));
    got_deinit(&twice);

    struct pl_call patch = call_of(&w, PL_VERB_PATCH, "a");
    patch.field_manager = pl_slice_z("test");
    got = send_body(&w, patch, json("{\"data\":{\"b\":\"2\"}}"), 0);
    expect_data(&got, "{\"a\":\"1\",\"b\":\"2\"}");
    got_deinit(&got);
    patch.patch_type = PL_PATCH_JSON;
    got = send_body(&w, patch, json("[{\"op\":\"remove\",\"path\":\"/data/a\"}]"), 0);
    expect_data(&got, "{\"b\":\"2\"}");
    got_deinit(&got);
    patch.patch_type = PL_PATCH_STRATEGIC;
    got = send_body(&w, patch, json("{\"data\":{\"b\":null}}"), 0);
    expect_data(&got, "null");
    got_deinit(&got);
    patch.patch_type = PL_PATCH_APPLY;
    patch.field_manager = pl_slice_z("applier");
    patch.force = true;
    patch.dry_run = true;
    struct pl_doc *applied = json("{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{"
                                  "\"name\":\"a\"},\"data\":{\"c\":\"3\"}}");
    got = send_body(&w, patch, pl_doc_ref(applied), 0);
    expect_data(&got, "{\"c\":\"3\"}");
    got_deinit(&got);
    struct pl_call get = call_of(&w, PL_VERB_GET, "a");
    got = expect(&w, &get, 0);
    expect_data(&got, "null"); /* it was a dry run */
    got_deinit(&got);
    patch.dry_run = false;
    got = send_body(&w, patch, applied, 0);
    got_deinit(&got);

    /* An update with the version that the create gave is too late. */
    struct got late = send_body(&w, call_of(&w, PL_VERB_UPDATE, "a"), pl_doc_ref(made.doc), 409);
    CHECK(pl_err_is_conflict(&late.err));
    got_deinit(&late);

    struct pl_scratch scratch;
    struct pl_call wrong = call_of(&w, PL_VERB_DELETE, "a");
    wrong.uid = pl_slice_z("00000000-0000-4000-8000-000000000000");
    expect_only(&w, &wrong, 409);
    struct pl_call right = call_of(&w, PL_VERB_DELETE, "a");
    right.uid = pl_meta_uid(pl_doc_root(made.doc), &scratch);
    right.propagation = pl_slice_z("Background");
    expect_only(&w, &right, 0);
    struct got gone = expect(&w, &get, 404);
    CHECK(pl_err_is_not_found(&gone.err));
    CHECK(pl_node_str_eq(pl_node_getz(pl_doc_root(gone.doc), "kind"), pl_slice_z("Status")));
    got_deinit(&gone);
    got_deinit(&made);
    tear_down(&w);
}

TEST(every_verb_with_a_client_certificate)
{
    use_every_verb(NULL);
}

TEST(every_verb_with_a_token)
{
    use_every_verb("token");
}

TEST(the_server_s_refusals_are_told_apart)
{
    struct world w;
    struct got got;
    set_up(&w, "token");
    got = send_body(&w, call_of(&w, PL_VERB_CREATE, ""),
                    json("{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":"
                         "\"Bad_Name\"}}"),
                    422);
    CHECK(pl_err_is_invalid(&got.err));
    got_deinit(&got);
    struct pl_call strict = call_of(&w, PL_VERB_CREATE, "");
    strict.field_validation = pl_slice_z("Strict");
    got = send_body(&w, strict,
                    json("{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":"
                         "\"x\"},\"dtaa\":{}}"),
                    400);
    CHECK(strstr(got.err.message, "dtaa") != NULL);
    got_deinit(&got);
    struct pl_call version = {.verb = PL_VERB_GET, .raw_path = pl_slice_z("/version")};
    got = expect(&w, &version, 0);
    CHECK(!pl_node_is_missing(pl_node_getz(pl_doc_root(got.doc), "gitVersion")));
    got_deinit(&got);
    struct pl_call nowhere = {.verb = PL_VERB_GET, .raw_path = pl_slice_z("/no/such/path")};
    expect_only(&w, &nowhere, 404);
    /* An administrator's token impersonates a user without rights. */
    w.config.impersonate_user = pl_strdup("nobody");
    struct pl_call get = call_of(&w, PL_VERB_GET, "a");
    got = expect(&w, &get, 403);
    CHECK(pl_err_is_forbidden(&got.err));
    got_deinit(&got);
    pl_free(w.config.impersonate_user);
    w.config.impersonate_user = NULL;
    tear_down(&w);

    world_init(&w, "token");
    pl_discovery_destroy(w.discovery);
    pl_client_destroy(w.client);
    pl_free(w.config.token);
    w.config.token = pl_strdup("wrong");
    struct pl_client_options options = {
        .transport = pl_http_client_transport(w.http),
        .timers = pl_loop_timers(w.loop),
        .rand = &w.rand,
        .config = &w.config,
    };
    w.client = pl_client_create(&options, NULL);
    w.discovery = pl_discovery_create(w.client);
    got = expect(&w, &version, 401);
    CHECK(pl_err_is_unauthorized(&got.err));
    got_deinit(&got);
    world_deinit(&w);
}

static void fill(struct world *w)
{
    for (int i = 0; i < OBJECTS; i++) {
        char name[16];
        snprintf(name, sizeof name, "cm-%03d", i);
        struct got got = create(w, name, 0);
        got_deinit(&got);
    }
}

TEST(lists_come_in_pages_with_kinds_and_collections_are_deleted)
{
    struct world w;
    set_up(&w, NULL);
    fill(&w);
    struct pl_call list = call_of(&w, PL_VERB_LIST, "");
    list.labels = pl_slice_z("app=t");
    list.limit = 25;
    char *token = NULL;
    size_t pages = 0, total = 0;
    do {
        struct got got = expect(&w, &list, 0);
        struct pl_scratch scratch;
        struct pl_node meta = pl_node_getz(pl_doc_root(got.doc), "metadata");
        for (size_t i = 0; i < got.items.count; i++) {
            struct pl_node item = pl_doc_root(got.items.items[i]);
            CHECK(pl_node_str_eq(pl_node_getz(item, "kind"), pl_slice_z("ConfigMap")));
            CHECK(pl_node_str_eq(pl_node_getz(item, "apiVersion"), pl_slice_z("v1")));
        }
        total += got.items.count;
        pages++;
        pl_free(token);
        struct pl_slice next = pl_node_str(pl_node_getz(meta, "continue"), &scratch);
        token = next.len > 0 ? pl_memdup0(next.ptr, next.len) : NULL;
        list.continue_token = pl_slice_z(token);
        got_deinit(&got);
    } while (token != NULL && pages < 10);
    CHECK_INT(pages, 3);
    CHECK_INT(total, OBJECTS);

    list.continue_token = pl_slice_z(NULL);
    list.limit = 0;
    list.metadata_only = true;
    struct got partial = expect(&w, &list, 0);
    CHECK_INT(partial.items.count, OBJECTS);
    REQUIRE(partial.items.count > 0);
    struct pl_node item = pl_doc_root(partial.items.items[0]);
    CHECK(pl_node_is_missing(pl_node_getz(item, "data")));
    CHECK(pl_node_str_eq(pl_node_getz(item, "kind"), pl_slice_z("ConfigMap")));
    got_deinit(&partial);

    struct pl_call all = call_of(&w, PL_VERB_DELETE_COLLECTION, "");
    all.labels = pl_slice_z("app=t");
    expect_only(&w, &all, 0);
    list.metadata_only = false;
    struct got none = expect(&w, &list, 0);
    CHECK_INT(none.items.count, 0);
    got_deinit(&none);
    tear_down(&w);
}

TEST(a_version_that_is_still_to_come_is_too_large)
{
    struct world w;
    set_up(&w, NULL);
    struct pl_call list = call_of(&w, PL_VERB_LIST, "");
    list.rv = pl_slice_z("9000000000000");
    list.timeout_ns = 20 * PL_SECOND;
    struct got got = run(&w, &list);
    if (!pl_err_is_too_large_rv(&got.err)) /* rule 57 */
        TEST_FAIL("not too large: %d %s %s", got.err.status, got.err.reason, got.err.message);
    got_deinit(&got);
    tear_down(&w);
}

struct diary {
    struct pl_buf text;
    bool open, ended;
    int bookmarks;
    struct pl_err err;
};

static void on_open(void *arg)
{
    ((struct diary *)arg)->open = true;
}

static void on_event(void *arg, enum pl_watch_type type, struct pl_doc *object)
{
    static const char *const names[] = {"ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR", "?"};
    struct diary *diary = arg;
    struct pl_scratch scratch;
    if (type == PL_WATCH_BOOKMARK)
        diary->bookmarks++;
    else
        pl_buf_add_f(&diary->text, "%s %.*s;", names[type],
                     PL_FMT(pl_meta_name(pl_doc_root(object), &scratch)));
    pl_doc_unref(object);
}

static void on_end(void *arg, const struct pl_err *err)
{
    struct diary *diary = arg;
    diary->ended = true;
    pl_err_clear(&diary->err);
    if (err != NULL)
        diary->err = *err;
}

static const struct pl_watch_ops watch_ops = {on_open, on_event, on_end};

TEST(a_watch_brings_what_happens_and_ends_when_it_is_time)
{
    struct world w;
    struct diary diary = {0}, initial = {0};
    set_up(&w, "token");
    struct got made = create(&w, "first", 0);
    got_deinit(&made);
    struct pl_call list = call_of(&w, PL_VERB_LIST, "");
    struct got listed = expect(&w, &list, 0);
    struct pl_scratch scratch;
    struct pl_watch_call call = {
        .resource = w.configmaps,
        .ns = pl_slice_z(w.ns),
        .labels = pl_slice_z("app=t"),
        .rv = pl_meta_rv(pl_doc_root(listed.doc), &scratch),
        .timeout_seconds = 2,
        .metadata_only = true,
    };
    pl_client_watch(w.client, &call, &watch_ops, &diary);
    WAIT_FOR(&w, diary.open);
    struct got got = create(&w, "a", 0);
    got_deinit(&got);
    got = send_body(&w, call_of(&w, PL_VERB_PATCH, "a"), json("{\"data\":{\"b\":\"2\"}}"), 0);
    got_deinit(&got);
    struct pl_call delete_call = call_of(&w, PL_VERB_DELETE, "a");
    expect_only(&w, &delete_call, 0);
    WAIT_FOR(&w, diary.ended);
    CHECK_STR(pl_buf_z(&diary.text), "ADDED a;MODIFIED a;DELETED a;");
    CHECK_INT(diary.err.code, 0);

    call.rv = pl_slice_z(NULL);
    call.initial_events = true;
    call.metadata_only = false;
    call.timeout_seconds = 60;
    struct pl_watch *watch = pl_client_watch(w.client, &call, &watch_ops, &initial);
    WAIT_FOR(&w, initial.bookmarks > 0); /* the end of the initial events */
    CHECK_STR(pl_buf_z(&initial.text), "ADDED first;");
    pl_watch_cancel(watch);
    WAIT_FOR(&w, initial.ended);
    CHECK_INT(initial.err.code, PL_ECANCELED);
    got_deinit(&listed);
    pl_buf_deinit(&diary.text);
    pl_buf_deinit(&initial.text);
    tear_down(&w);
}

static size_t count_sockets(void)
{
    size_t count = 0;
    DIR *dir = opendir("/proc/self/fd");
    REQUIRE(dir != NULL);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        char link[64];
        ssize_t len = readlinkat(dirfd(dir), entry->d_name, link, sizeof link);
        count += len > 7 && memcmp(link, "socket:", 7) == 0;
    }
    closedir(dir);
    return count;
}

TEST(watches_and_requests_share_one_connection)
{
    struct world w;
    struct diary diaries[20] = {0};
    set_up(&w, NULL);
    size_t before = count_sockets();
    struct pl_watch_call call = {.resource = w.configmaps, .rv = pl_slice_z("0")};
    for (size_t i = 0; i < PL_ARRAY_LEN(diaries); i++)
        pl_client_watch(w.client, &call, &watch_ops, &diaries[i]);
    for (size_t i = 0; i < PL_ARRAY_LEN(diaries); i++)
        WAIT_FOR(&w, diaries[i].open);
    struct got got = create(&w, "a", 0);
    got_deinit(&got);
    for (size_t i = 0; i < PL_ARRAY_LEN(diaries); i++)
        WAIT_FOR(&w, strstr(pl_buf_z(&diaries[i].text), "ADDED a;") != NULL);
    CHECK_INT(count_sockets(), before);
    tear_down(&w);
    for (size_t i = 0; i < PL_ARRAY_LEN(diaries); i++) {
        CHECK_INT(diaries[i].err.code, PL_ECANCELED);
        pl_buf_deinit(&diaries[i].text);
    }
}

TEST(a_server_that_is_not_there_is_a_refused_connection)
{
    struct world w;
    world_init(&w, "token");
    pl_discovery_destroy(w.discovery);
    pl_client_destroy(w.client);
    pl_free(w.config.server);
    w.config.server = pl_strdup("https://127.0.0.1:1");
    struct pl_client_options options = {
        .transport = pl_http_client_transport(w.http),
        .timers = pl_loop_timers(w.loop),
        .rand = &w.rand,
        .config = &w.config,
    };
    w.client = pl_client_create(&options, NULL);
    w.discovery = pl_discovery_create(w.client);
    struct pl_call version = {.verb = PL_VERB_GET, .raw_path = pl_slice_z("/version")};
    struct got got = run(&w, &version);
    CHECK_STR(got.err.reason, "ConnectionRefused");
    got_deinit(&got);
    world_deinit(&w);
}

int main(int argc, char **argv)
{
    kubeconfig_path = getenv("PL_TEST_KUBECONFIG");
    if (kubeconfig_path == NULL || access(kubeconfig_path, R_OK) != 0) {
        printf("SKIPPED: PL_TEST_KUBECONFIG names no kubeconfig of a test cluster (%s)\n",
               kubeconfig_path != NULL ? kubeconfig_path : "not set");
        return 77;
    }
    return test_run_all(argc, argv);
}
