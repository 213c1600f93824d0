/* The parts of a cluster on virtual time: the real client over a transport whose server is the
 * test. Discovery of two groups is answered automatically:
 *     v1/ConfigMap, v1/Pod (status), v1/Node (cluster-scoped); example.com/v1/Website (status). */
#pragma once

#include "base/log.h"
#include "cluster/cluster.h"
#include "object/meta.h"
#include "support/fake_transport.h"
#include "support/test.h"
#include "support/virtual_clock.h"
#include "value/scan.h"

struct bed {
    struct virtual_clock clock;
    struct pl_timers timers;
    struct pl_rand rand;
    struct pl_waits waits;
    struct fake_transport net;
    struct pl_kubeconfig config;
    struct pl_client *client;
    struct pl_pool *pool;
    struct pl_metrics *metrics;
    struct pl_list deferred;
    struct pl_cluster *cluster;
    bool no_discovery;   /* only the test answers it */
    bool no_websites;    /* example.com/v1 is not served */
    bool other_websites; /* Website is cluster-scoped, and its plural is "sites" */
};

static inline void bed_defer(void *arg, struct pl_task *task, void (*run)(struct pl_task *task))
{
    struct bed *bed = arg;
    task->run = run;
    REQUIRE(!pl_link_is_linked(&task->link));
    pl_list_push(&bed->deferred, &task->link);
}

/* thread: what large answers are decoded by; NULL: nobody but the test's thread. streams: lists
 * come as the beginning of watches. */
static inline void bed_init_sharded(struct bed *bed, char **namespaces, bool dry_run, bool streams,
                                    struct pl_decode_thread *thread, struct pl_shards *shards)
{
    *bed = (struct bed){0};
    if (getenv("TEST_LOG") == NULL) /* expected log lines are not shown */
        pl_log_configure(PL_LOG_ERROR + 1, false, 2);
    virtual_clock_init(&bed->clock, 1000 * PL_SECOND);
    pl_timers_init(&bed->timers, &bed->clock.clock);
    pl_rand_seed(&bed->rand, 7);
    pl_waits_init(&bed->waits, &bed->clock.clock);
    fake_transport_init(&bed->net, &bed->timers);
    bed->config = (struct pl_kubeconfig){.source = (char *)"test", .server = (char *)"http://k8s"};
    bed->pool = pl_pool_create();
    bed->metrics = pl_metrics_create();
    pl_list_init(&bed->deferred);
    struct pl_client_options client = {
        .transport = fake_transport(&bed->net),
        .timers = &bed->timers,
        .rand = &bed->rand,
        .config = &bed->config,
        .pool = bed->pool,
        .decode_thread = thread,
        .user_agent = "test",
    };
    struct pl_err err;
    bed->client = pl_client_create(&client, &err);
    REQUIRE(bed->client != NULL);
    struct pl_cluster_options cluster = {
        .site = {.client = bed->client,
                 .timers = &bed->timers,
                 .rand = &bed->rand,
                 .waits = &bed->waits,
                 .pool = bed->pool,
                 .metrics = bed->metrics,
                 .defer = bed_defer,
                 .defer_arg = bed,
                 .shards = shards,
                 .stream_lists = streams},
        .namespaces = namespaces,
        .dry_run = dry_run,
    };
    bed->cluster = pl_cluster_create(&cluster);
}

static inline void bed_init_apart(struct bed *bed, char **namespaces, bool dry_run, bool streams,
                                  struct pl_decode_thread *thread)
{
    bed_init_sharded(bed, namespaces, dry_run, streams, thread, NULL);
}

static inline void bed_init_with(struct bed *bed, char **namespaces, bool dry_run)
{
    bed_init_apart(bed, namespaces, dry_run, false, NULL);
}

static inline void bed_init(struct bed *bed)
{
    bed_init_with(bed, NULL, false);
}

#define BED_CORE                                                                                   \
    "{\"kind\":\"APIResourceList\",\"groupVersion\":\"v1\",\"resources\":["                        \
    "{\"name\":\"configmaps\",\"kind\":\"ConfigMap\",\"namespaced\":true,\"verbs\":[\"watch\"]},"  \
    "{\"name\":\"pods\",\"kind\":\"Pod\",\"namespaced\":true,\"verbs\":[\"watch\"]},"              \
    "{\"name\":\"pods/status\",\"kind\":\"Pod\",\"namespaced\":true,\"verbs\":[\"patch\"]},"       \
    "{\"name\":\"pods/"                                                                            \
    "eviction\",\"kind\":\"Eviction\",\"namespaced\":true,\"verbs\":[\"create\"]},"                \
    "{\"name\":\"bindings\",\"kind\":\"Binding\",\"namespaced\":true,\"verbs\":[\"create\"]},"     \
    "{\"name\":\"nodes\",\"kind\":\"Node\",\"namespaced\":false,\"verbs\":[\"watch\"]}]}"
#define BED_SITES                                                                                  \
    "{\"kind\":\"APIResourceList\",\"groupVersion\":\"example.com/v1\",\"resources\":["            \
    "{\"name\":\"websites\",\"kind\":\"Website\",\"namespaced\":true,\"verbs\":[\"watch\"]},"      \
    "{\"name\":\"websites/status\",\"kind\":\"Website\",\"namespaced\":true,\"verbs\":["           \
    "\"patch\"]}]}"

#define BED_OTHER_SITES                                                                            \
    "{\"kind\":\"APIResourceList\",\"groupVersion\":\"example.com/v1\",\"resources\":["            \
    "{\"name\":\"sites\",\"kind\":\"Website\",\"namespaced\":false,\"verbs\":[\"watch\"]}]}"

static inline bool bed_discover(struct bed *bed)
{
    if (bed->no_discovery)
        return false;
    PL_LIST_FOR (link, &bed->net.started) {
        struct fake_request *request = PL_CONTAINER_OF(link, struct fake_request, link);
        bool core = strcmp(request->path, "/api/v1") == 0;
        bool sites = strcmp(request->path, "/apis/example.com/v1") == 0;
        bool groups = strcmp(request->path, "/apis") == 0;
        if (!core && !sites && !groups)
            continue;
        pl_link_unlink(&request->link);
        pl_list_push(&bed->net.taken, &request->link);
        if (sites && bed->no_websites)
            fake_reply(request, 404, "404 page not found\n");
        else
            fake_reply(request, 200,
                       core    ? BED_CORE
                       : sites ? (bed->other_websites ? BED_OTHER_SITES : BED_SITES)
                               : "{\"kind\":\"APIGroupList\",\"groups\":[]}");
        return true;
    }
    return false;
}

/* Does all work that needs no time. */
static inline void bed_run(struct bed *bed)
{
    int64_t due_ns;
    for (int turns = 0;; turns++) {
        REQUIRE(turns < 100000); /* a loop that never rests */
        struct pl_link *link = pl_list_pop(&bed->deferred);
        if (link != NULL) {
            struct pl_task *task = PL_CONTAINER_OF(link, struct pl_task, link);
            task->run(task);
        } else if (pl_timers_next(&bed->timers, &due_ns) && due_ns <= bed->clock.now_ns) {
            pl_timers_run(&bed->timers);
        } else if (!bed_discover(bed)) {
            return;
        }
    }
}

/* Time passes, timer by timer. */
static inline void bed_pass(struct bed *bed, int64_t ns)
{
    int64_t until = bed->clock.now_ns + ns, due_ns;
    bed_run(bed);
    while (pl_timers_next(&bed->timers, &due_ns) && due_ns <= until) {
        bed->clock.now_ns = due_ns;
        bed_run(bed);
    }
    bed->clock.now_ns = until;
    bed_run(bed);
}

static inline struct fake_request *bed_expect(struct bed *bed, const char *method, const char *path)
{
    bed_run(bed);
    return FAKE_EXPECT(&bed->net, method, path);
}

static inline void bed_reply(struct bed *bed, struct fake_request *request, int status,
                             const char *body)
{
    fake_reply(request, status, body);
    bed_run(bed);
}

/* No request is waiting for an answer that was not taken yet. */
static inline bool bed_is_quiet(struct bed *bed)
{
    bed_run(bed);
    return pl_list_empty(&bed->net.started);
}

static inline void bed_deinit(struct bed *bed)
{
    bed_run(bed);
    CHECK(pl_site_is_idle(pl_cluster_site(bed->cluster)));
    pl_cluster_destroy(bed->cluster);
    pl_client_destroy(bed->client);
    bed_run(bed);
    CHECK_INT(bed->waits.count, 0);
    CHECK_INT(bed->timers.heap.count, 0);
    fake_transport_deinit(&bed->net);
    pl_waits_deinit(&bed->waits);
    pl_timers_deinit(&bed->timers);
    pl_metrics_destroy(bed->metrics);
    pl_pool_collect(bed->pool);
    struct pl_pool_stats stats;
    pl_pool_stats(bed->pool, &stats);
    CHECK_INT(stats.documents, 0);
    pl_pool_destroy(bed->pool);
}

/* ---- documents ---- */

static inline struct pl_doc *bed_doc(const char *json)
{
    struct pl_scan_options options = {0};
    struct pl_err err;
    struct pl_doc *doc = pl_scan_text(pl_slice_z(json), &options, &err);
    if (doc == NULL)
        TEST_FAIL("%s in %s", err.message, json);
    REQUIRE(doc != NULL);
    return doc;
}

#define BED_MAP(name, uid, rv, more)                                                               \
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"" name                 \
    "\",\"namespace\":\"d\",\"uid\":\"" uid "\",\"resourceVersion\":\"" rv "\"}" more "}"
#define BED_LIST(kind, rv, more, ...)                                                              \
    "{\"kind\":\"" kind "List\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"" rv     \
    "\"" more "},\"items\":[" __VA_ARGS__ "]}"
#define BED_MAPS(rv, ...)       BED_LIST("ConfigMap", rv, "", __VA_ARGS__)
#define BED_EVENT(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"
#define BED_INITIAL_END(rv)                                                                        \
    "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\","             \
    "\"metadata\":{\"resourceVersion\":\"" rv                                                      \
    "\",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}}\n"
#define BED_BOOKMARK(kind, rv)                                                                     \
    "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"" kind                                          \
    "\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"" rv "\"}}}\n"
#define BED_STATUS(code, reason)                                                                   \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"message\":\"" reason      \
    "!\",\"reason\":\"" reason "\",\"code\":" #code "}"

static inline struct fake_request *bed_stream(struct bed *bed, struct fake_request *watch,
                                              const char *text)
{
    fake_stream(watch, text);
    bed_run(bed);
    return watch;
}
