/* A controller in C against a real API server: $PL_TEST_KUBECONFIG names it; without it the
 * test is skipped. Each ConfigMap with the label gets an owned Secret, by apply. */
#include "base/alloc.h"
#include "base/log.h"
#include "control/manager.h"
#include "net/http_client.h"
#include "net/loop.h"
#include "object/meta.h"
#include "support/test.h"
#include "value/build.h"
#include "value/pool.h"
#include "value/scan.h"
#include <unistd.h>

#define MAPS    50
#define SKIPPED 77
#define LIMIT   (30 * PL_SECOND)

struct host {
    struct pl_loop *loop;
    struct pl_rand rand;
    struct pl_waits waits;
    struct pl_kubeconfig config;
    struct pl_http_client *http;
    struct pl_client *client;
    struct pl_pool *pool;
    struct pl_metrics *metrics;
    struct pl_cluster *cluster;
    struct pl_manager *manager;
    struct pl_controller *controller;
    int runs, written, failed, stopped, exit_code;
    int not_read_back; /* writes that the cache did not show at once */
};

static struct host host;

static void defer(void *arg, struct pl_task *task, void (*run)(struct pl_task *task))
{
    pl_loop_defer(arg, task, run);
}

static struct pl_doc *doc_of(const char *json)
{
    struct pl_scan_options options = {0};
    struct pl_err err;
    struct pl_doc *doc = pl_scan_text(pl_slice_z(json), &options, &err);
    REQUIRE(doc != NULL);
    return doc;
}

static struct pl_kind kind(const char *text)
{
    struct pl_kind parsed;
    REQUIRE(pl_kind_parse(pl_slice_z(text), &parsed, NULL) == 0);
    return parsed;
}

static struct pl_store *store(size_t source)
{
    return pl_informer_store(pl_controller_informer(host.controller, source));
}

/* ---- the reconciler ---- */

static void on_applied(void *arg, const struct pl_written *written)
{
    struct pl_run *run = arg;
    struct pl_outcome_of_run outcome = {.outcome = PL_OUTCOME_DONE};
    if (written->err != NULL) {
        outcome.outcome = PL_OUTCOME_ERROR;
        outcome.message = written->err->message;
        host.failed++;
    } else {
        struct pl_doc *cached = pl_store_get(store(1), run->key);
        struct pl_scratch a, b;
        host.not_read_back +=
            cached == NULL || !pl_slice_eq(pl_meta_rv(pl_doc_root(cached), &a),
                                           pl_meta_rv(pl_doc_root(written->object), &b));
        pl_doc_unref(cached);
    }
    pl_run_finish(run, &outcome);
}

static void on_start(void *self, struct pl_run *run)
{
    PL_UNUSED(self);
    host.runs++;
    struct pl_doc *map = pl_store_get(store(0), run->key);
    if (map == NULL || pl_meta_is_deleting(pl_doc_root(map))) {
        struct pl_outcome_of_run done = {.outcome = PL_OUTCOME_DONE};
        pl_doc_unref(map);
        pl_run_finish(run, &done);
        return;
    }
    char *text = pl_format("{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":"
                           "\"%.*s\"},\"data\":{\"from\":\"Y29weQ==\"}}",
                           PL_FMT(run->name));
    struct pl_write write = {
        .verb = PL_VERB_PATCH,
        .patch_type = PL_PATCH_APPLY,
        .kind = kind("v1/Secret"),
        .ns = run->ns,
        .name = run->name,
        .body = doc_of(text),
        .owner = map,
        .force = true,
        .grace_period = -1,
        .controller = pl_controller_writer(run->controller),
    };
    pl_gate_write(pl_cluster_gate(host.cluster), &write, on_applied, run);
    pl_doc_unref(write.body);
    pl_doc_unref(map);
    pl_free(text);
}

static void on_cancel(void *self, struct pl_run *run, const struct pl_err *why)
{
    PL_UNUSED(self);
    PL_UNUSED(run);
    PL_UNUSED(why);
}

static const struct pl_reconciler_ops ops = {.start = on_start, .cancel = on_cancel};

/* ---- the host ---- */

static void on_stopped(void *arg, int exit_code)
{
    PL_UNUSED(arg);
    host.stopped++;
    host.exit_code = exit_code;
}

static void start_controller(void)
{
    struct pl_controller_spec spec = {
        .name = pl_strdup("copies"), .max_concurrent = 8, .max_retries = -1, .source_count = 2};
    spec.sources = pl_calloc(2, sizeof(struct pl_source_spec));
    spec.sources[0] = (struct pl_source_spec){.role = PL_SOURCE_FOR,
                                              .kind = kind("v1/ConfigMap"),
                                              .options.labels = pl_strdup("perilune-test=copies"),
                                              .map_by = PL_MAP_SELF};
    spec.sources[1] = (struct pl_source_spec){
        .role = PL_SOURCE_OWNS, .kind = kind("v1/Secret"), .map_by = PL_MAP_OWNER};
    REQUIRE(pl_controller_spec_check(&spec, NULL) == 0);
    struct pl_manager_options manager = {
        .cluster = host.cluster, .grace_ns = 10 * PL_SECOND, .stopped = on_stopped};
    host.manager = pl_manager_create(&manager);
    struct pl_controller_options options = {.cluster = host.cluster, .ops = &ops};
    host.controller = pl_controller_create(&options, &spec);
    pl_manager_add(host.manager, host.controller);
    pl_manager_start(host.manager);
}

static void begin(const char *file)
{
    struct pl_err err;
    static const char *const none[] = {NULL};
    struct pl_kubeconfig_options kubeconfig = {.files = file, .environ = none};
    host.loop = pl_loop_create(pl_clock_system());
    pl_loop_turn(host.loop, 0);
    pl_rand_init(&host.rand);
    pl_waits_init(&host.waits, pl_loop_clock(host.loop));
    REQUIRE(pl_kubeconfig_load(&kubeconfig, &host.config, &err) == 0);
    host.http = pl_http_client_create(host.loop);
    host.pool = pl_pool_create();
    host.metrics = pl_metrics_create();
    struct pl_client_options client = {.transport = pl_http_client_transport(host.http),
                                       .timers = pl_loop_timers(host.loop),
                                       .rand = &host.rand,
                                       .waits = &host.waits,
                                       .loop = host.loop,
                                       .config = &host.config,
                                       .pool = host.pool,
                                       .user_agent = "perilune-test"};
    host.client = pl_client_create(&client, &err);
    REQUIRE(host.client != NULL);
    struct pl_cluster_options cluster = {.site = {.client = host.client,
                                                  .timers = pl_loop_timers(host.loop),
                                                  .rand = &host.rand,
                                                  .waits = &host.waits,
                                                  .pool = host.pool,
                                                  .metrics = host.metrics,
                                                  .defer = defer,
                                                  .defer_arg = host.loop}};
    host.cluster = pl_cluster_create(&cluster);
    start_controller();
}

static void end(void)
{
    pl_manager_destroy(host.manager);
    pl_cluster_destroy(host.cluster);
    pl_client_destroy(host.client);
    pl_http_client_destroy(host.http);
    for (int i = 0; i < 10; i++)
        pl_loop_turn(host.loop, 10);
    pl_loop_destroy(host.loop);
    pl_kubeconfig_deinit(&host.config);
    pl_metrics_destroy(host.metrics);
    pl_pool_collect(host.pool);
    pl_pool_destroy(host.pool);
}

/* Turns the loop until the condition holds; returns false at the limit. */
static bool until(bool (*holds)(void))
{
    int64_t limit = pl_loop_now(host.loop) + LIMIT;
    while (!holds() && pl_loop_now(host.loop) < limit)
        pl_loop_turn(host.loop, 50);
    return holds();
}

static void on_written(void *arg, const struct pl_written *written)
{
    PL_UNUSED(arg);
    host.written++;
    if (written->err != NULL) {
        fprintf(stderr, "write: %s\n", written->err->message);
        host.failed++;
    }
}

static void write_map(enum pl_verb verb, int i)
{
    char *name = pl_format("copied-%d", i);
    char *text = pl_format("{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":"
                           "\"%s\",\"namespace\":\"default\",\"labels\":{\"perilune-test\":"
                           "\"copies\"}},\"data\":{\"x\":\"y\"}}",
                           name);
    struct pl_write write = {.verb = verb,
                             .kind = kind("v1/ConfigMap"),
                             .ns = pl_slice_z("default"),
                             .name = pl_slice_z(name),
                             .body = verb == PL_VERB_CREATE ? doc_of(text) : NULL,
                             .grace_period = -1};
    pl_gate_write(pl_cluster_gate(host.cluster), &write, on_written, NULL);
    pl_doc_unref(write.body);
    pl_free(name);
    pl_free(text);
}

static bool all_written(void)
{
    return host.written == MAPS;
}

/* Only those of this test; other tests may have left some on the server. */
static size_t owned_secrets(void)
{
    struct pl_docs docs = {0};
    size_t count = 0;
    pl_store_list(store(1), 0, &docs);
    for (size_t i = 0; i < docs.count; i++) {
        struct pl_owner owner;
        count += pl_meta_controller(pl_doc_root(docs.items[i]), &owner) && owner.name.len > 7 &&
                 memcmp(owner.name.ptr, "copied-", 7) == 0;
    }
    pl_docs_deinit(&docs);
    return count;
}

/* Only a garbage collector would delete them. */
static void write_secrets_gone(void)
{
    struct pl_write write = {.verb = PL_VERB_DELETE_COLLECTION,
                             .kind = kind("v1/Secret"),
                             .ns = pl_slice_z("default"),
                             .grace_period = -1};
    host.written = MAPS - 1;
    pl_gate_write(pl_cluster_gate(host.cluster), &write, on_written, NULL);
    CHECK(until(all_written));
    CHECK_INT(host.failed, 0);
    CHECK_INT(owned_secrets(), 0);
}

static bool is_running(void)
{
    return pl_controller_is_running(host.controller);
}

static bool is_settled(void)
{
    return pl_controller_in_flight(host.controller) == 0 &&
           pl_workqueue_len(pl_controller_queue(host.controller), pl_loop_now(host.loop)) == 0;
}

static bool all_copied(void)
{
    return owned_secrets() == MAPS && is_settled();
}

static bool has_stopped(void)
{
    return host.stopped > 0;
}

TEST(a_controller_copies_and_stops)
{
    begin(getenv("PL_TEST_KUBECONFIG"));
    REQUIRE(until(is_running));
    int64_t began = pl_loop_now(host.loop);
    for (int i = 0; i < MAPS; i++)
        write_map(PL_VERB_CREATE, i);
    CHECK(until(all_written));
    CHECK(until(all_copied));
    int64_t took = pl_loop_now(host.loop) - began;
    for (int i = 0; i < 20; i++) /* later events of the watch queue no key */
        pl_loop_turn(host.loop, 50);
    struct pl_gate_stats stats;
    pl_gate_stats(pl_cluster_gate(host.cluster), &stats);
    CHECK_INT(host.failed, 0);
    CHECK_INT(host.not_read_back, 0);
    CHECK_INT(stats.sent, 2 * MAPS);
    CHECK_INT(stats.skipped, MAPS); /* each Secret queues its owner, whose run has nothing to do */
    printf("%d objects in %.3f s: %d runs, %d sent, %d skipped\n", MAPS,
           (double)took / (double)PL_SECOND, host.runs, (int)stats.sent, (int)stats.skipped);
    host.written = 0;
    for (int i = 0; i < MAPS; i++)
        write_map(PL_VERB_DELETE, i);
    CHECK(until(all_written));
    CHECK_INT(host.failed, 0);
    CHECK_INT(pl_store_count(store(0)), 0);
    write_secrets_gone();
    pl_manager_stop(host.manager);
    CHECK(until(has_stopped));
    CHECK_INT(host.exit_code, 0);
    end();
}

int main(int argc, char **argv)
{
    const char *path = getenv("PL_TEST_KUBECONFIG");
    if (path == NULL || access(path, R_OK) != 0) {
        printf("skipped: PL_TEST_KUBECONFIG names no API server\n");
        return SKIPPED;
    }
    return test_run_all(argc, argv);
}
