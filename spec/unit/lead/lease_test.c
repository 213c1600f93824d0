#include "lead/lease.h"

#include "base/log.h"
#include "support/fake_transport.h"
#include "support/test.h"
#include "support/virtual_clock.h"
#include "object/meta.h"
#include "value/scan.h"
#include "value/write.h"

#define PATH "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
#define NOW  (INT64_C(1795253400) * PL_SECOND) /* 2026-11-21T09:30:00Z */

#define LEASE(rv, holder)                                                                          \
    "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{\"name\":\"l\","  \
    "\"namespace\":\"kube-system\",\"uid\":\"u\",\"resourceVersion\":\"" rv "\",\"labels\":{"      \
    "\"team\":\"a\",\"app\":\"old\"},\"annotations\":{\"note\":\"kept\"}},\"spec\":{"              \
    "\"holderIdentity\":\"" holder "\",\"leaseDurationSeconds\":15,\"acquireTime\":"               \
    "\"2026-11-21T09:00:00.000001Z\",\"renewTime\":\"2026-11-21T09:29:59.999999Z\","               \
    "\"leaseTransitions\":7,\"strategy\":\"OldestEmulationVersion\"}}"

struct bed {
    struct virtual_clock clock;
    struct pl_timers timers;
    struct pl_rand rand;
    struct fake_transport net;
    struct pl_kubeconfig config;
    struct pl_client *client;
    struct pl_lease *lease;
    struct pl_lease_lock lock;
    /* The last answer. */
    int answers;
    struct pl_err err;
    struct pl_lease_record record;
    /* The watch. */
    int opened, changes, deletions, ended;
    struct pl_err end_err;
    struct pl_lease_record seen;
};

static void bed_init(struct bed *bed, const char *labels)
{
    *bed = (struct bed){0};
    if (getenv("TEST_LOG") == NULL)
        pl_log_configure(PL_LOG_ERROR + 1, false, 2);
    virtual_clock_init(&bed->clock, NOW);
    pl_timers_init(&bed->timers, &bed->clock.clock);
    pl_rand_seed(&bed->rand, 3);
    fake_transport_init(&bed->net, &bed->timers);
    bed->config = (struct pl_kubeconfig){.source = (char *)"test", .server = (char *)"http://k8s"};
    struct pl_client_options client = {
        .transport = fake_transport(&bed->net),
        .timers = &bed->timers,
        .rand = &bed->rand,
        .config = &bed->config,
        .user_agent = "test",
        .qps = 0.001, /* the Lease is not limited */
        .burst = 1,
    };
    bed->client = pl_client_create(&client, NULL);
    REQUIRE(bed->client != NULL);
    struct pl_doc *doc = labels != NULL
                             ? pl_scan_text(pl_slice_z(labels), &(struct pl_scan_options){0}, NULL)
                             : NULL;
    bed->lease = pl_lease_create(&(struct pl_lease_options){
        .client = bed->client,
        .ns = "kube-system",
        .name = "l",
        .labels = doc,
        .request_timeout_ns = pl_lease_request_timeout(10 * PL_SECOND),
        .silence_ns = 15 * PL_SECOND,
    });
    pl_doc_unref(doc);
    bed->lock = pl_lease_lock(bed->lease);
}

static void bed_run(struct bed *bed)
{
    int64_t due;
    while (pl_timers_next(&bed->timers, &due) && due <= bed->clock.now_ns)
        pl_timers_run(&bed->timers);
}

static void bed_pass(struct bed *bed, int64_t ns)
{
    int64_t until = bed->clock.now_ns + ns, due;
    while (pl_timers_next(&bed->timers, &due) && due <= until) {
        bed->clock.now_ns = due;
        bed_run(bed);
    }
    bed->clock.now_ns = until;
}

static void bed_deinit(struct bed *bed)
{
    bed_run(bed);
    pl_lease_destroy(bed->lease);
    pl_client_destroy(bed->client);
    CHECK_INT(bed->net.open_count, 0);
    fake_transport_deinit(&bed->net);
    CHECK_INT(bed->timers.heap.count, 0);
    pl_timers_deinit(&bed->timers);
}

static void on_answer(void *arg, const struct pl_err *err, const struct pl_lease_record *record)
{
    struct bed *bed = arg;
    bed->answers++;
    pl_err_clear(&bed->err);
    if (err != NULL)
        bed->err = *err;
    if (record != NULL)
        bed->record = *record;
    CHECK((err == NULL) == (record != NULL));
}

static struct fake_request *ask(struct bed *bed, enum pl_lease_verb verb, const char *method,
                                const char *path, const struct pl_lease_record *record)
{
    bed->lock.ops->start(bed->lock.self, verb, record, on_answer, bed);
    bed_run(bed);
    struct fake_request *request = FAKE_EXPECT(&bed->net, method, path);
    CHECK_STR(request->path, path);
    return request;
}

static struct fake_request *get(struct bed *bed)
{
    return ask(bed, PL_LEASE_GET, "GET", PATH "/l", NULL);
}

static void reply(struct bed *bed, struct fake_request *request, int status, const char *body)
{
    int before = bed->answers;
    fake_reply(request, status, body);
    bed_run(bed);
    CHECK_INT(bed->answers, before + 1);
}

static const struct pl_lease_record mine = {
    .holder = "me",
    .duration_s = 15,
    .acquire_us = NOW / 1000 + 5,
    .renew_us = NOW / 1000 + 1500000,
    .transitions = 8,
};

TEST(a_lease_is_read_with_microseconds)
{
    struct bed bed;
    bed_init(&bed, NULL);
    reply(&bed, get(&bed), 200, LEASE("5", "other"));
    CHECK_INT(bed.err.code, 0);
    CHECK_STR(bed.record.holder, "other");
    CHECK_INT(bed.record.duration_s, 15);
    CHECK_INT(bed.record.transitions, 7);
    CHECK_INT(bed.record.renew_us, NOW / 1000 - 1);
    CHECK_INT(bed.record.acquire_us, NOW / 1000 - INT64_C(1800000000) + 1);
    bed_deinit(&bed);
}

TEST(a_created_lease_is_whole_and_written_without_a_version)
{
    struct bed bed;
    bed_init(&bed, "{\"app\":\"x\"}");
    struct fake_request *request = ask(&bed, PL_LEASE_CREATE, "POST", PATH, &mine);
    CHECK_STR(pl_buf_z(&request->body),
              "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":"
              "{\"name\":\"l\",\"namespace\":\"kube-system\",\"labels\":{\"app\":\"x\"}},\"spec\":"
              "{\"holderIdentity\":\"me\",\"leaseDurationSeconds\":15,"
              "\"acquireTime\":\"2026-11-21T09:30:00.000005Z\","
              "\"renewTime\":\"2026-11-21T09:30:01.500000Z\",\"leaseTransitions\":8}}");
    reply(&bed, request, 201, LEASE("1", "me"));
    CHECK_INT(bed.err.code, 0);
    bed_deinit(&bed);
}

TEST(rule_123_an_update_keeps_everything_else_and_reuses_the_last_object)
{
    struct bed bed;
    bed_init(&bed, "{\"app\":\"x\"}");
    reply(&bed, get(&bed), 200, LEASE("5", "other"));
    for (int i = 0; i < 2; i++) {
        struct fake_request *request = ask(&bed, PL_LEASE_UPDATE, "PUT", PATH "/l", &mine);
        struct pl_doc *doc =
            pl_scan_text(pl_buf_slice(&request->body), &(struct pl_scan_options){0}, NULL);
        REQUIRE(doc != NULL);
        struct pl_node root = pl_doc_root(doc);
        struct pl_scratch room;
        CHECK_SLICE(pl_meta_rv(root, &room), i == 0 ? "5" : "6");
        CHECK_SLICE(pl_meta_uid(root, &room), "u");
        CHECK_SLICE(pl_node_str(pl_node_dig(root, "metadata", "labels", "team"), &room), "a");
        CHECK_SLICE(pl_node_str(pl_node_dig(root, "metadata", "labels", "app"), &room), "x");
        CHECK_SLICE(pl_node_str(pl_node_dig(root, "metadata", "annotations", "note"), &room),
                    "kept");
        CHECK_SLICE(pl_node_str(pl_node_dig(root, "spec", "strategy"), &room),
                    "OldestEmulationVersion");
        CHECK_SLICE(pl_node_str(pl_node_dig(root, "spec", "holderIdentity"), &room), "me");
        pl_doc_unref(doc);
        reply(&bed, request, 200, LEASE("6", "me"));
    }
    /* A failure does not change the version that the next update is based on. */
    reply(&bed, ask(&bed, PL_LEASE_UPDATE, "PUT", PATH "/l", &mine), 409, "{\"code\":409}");
    CHECK_INT(bed.err.status, 409);
    struct fake_request *request = ask(&bed, PL_LEASE_UPDATE, "PUT", PATH "/l", &mine);
    CHECK(strstr(pl_buf_z(&request->body), "\"resourceVersion\":\"6\"") != NULL);
    reply(&bed, request, 200, LEASE("7", "me"));
    bed_deinit(&bed);
}

static void read_tolerantly(const char *spec, struct pl_lease_record *record)
{
    char text[600];
    snprintf(text, sizeof text,
             "{\"kind\":\"Lease\",\"metadata\":{\"name\":\"l\",\"resourceVersion\":\"1\"}%s}",
             spec);
    struct pl_doc *doc = pl_scan_text(pl_slice_z(text), &(struct pl_scan_options){0}, NULL);
    REQUIRE(doc != NULL);
    CHECK_INT(pl_lease_read(pl_doc_root(doc), pl_slice_z("l"), record, NULL), 0);
    pl_doc_unref(doc);
}

TEST(what_a_lease_does_not_say_or_says_wrongly_is_not_said)
{
    struct pl_lease_record record;
    read_tolerantly("", &record);
    CHECK_STR(record.holder, "");
    CHECK_INT(record.duration_s, 0);
    CHECK(record.acquire_us == PL_LEASE_NO_TIME && record.renew_us == PL_LEASE_NO_TIME);
    read_tolerantly(",\"spec\":{\"holderIdentity\":null,\"leaseDurationSeconds\":-5,"
                    "\"acquireTime\":\"yesterday\",\"renewTime\":7,\"leaseTransitions\":1e30}",
                    &record);
    CHECK_STR(record.holder, "");
    CHECK_INT(record.duration_s, 0);
    CHECK_INT(record.transitions, 0);
    CHECK(record.acquire_us == PL_LEASE_NO_TIME && record.renew_us == PL_LEASE_NO_TIME);
    read_tolerantly(",\"spec\":{\"leaseDurationSeconds\":9000000000000}", &record);
    CHECK_INT(record.duration_s, INT32_MAX);
}

TEST(a_holder_that_is_too_long_is_cut_and_is_nobody_else)
{
    struct pl_lease_record record;
    char spec[500], name[420];
    memset(name, 'h', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    snprintf(spec, sizeof spec, ",\"spec\":{\"holderIdentity\":\"%s\"}", name);
    read_tolerantly(spec, &record);
    CHECK_INT(strlen(record.holder), PL_LEASE_HOLDER - 1);
}

TEST(an_answer_that_is_no_such_lease_decides_nothing)
{
    static const char *const answers[] = {
        "{}",
        "[]",
        "{\"kind\":\"Lease\",\"metadata\":{\"name\":\"l\"},\"spec\":{}}",
        "{\"kind\":\"Lease\",\"metadata\":{\"name\":\"m\",\"resourceVersion\":\"1\"}}",
        "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"l\",\"resourceVersion\":\"1\"}}",
        "<html>captive portal</html>",
    };
    struct bed bed;
    bed_init(&bed, NULL);
    for (size_t i = 0; i < PL_ARRAY_LEN(answers); i++) {
        reply(&bed, get(&bed), 200, answers[i]);
        CHECK_INT(bed.err.code, PL_ESYNTAX);
    }
    bed_deinit(&bed);
}

TEST(a_frozen_connection_costs_a_quarter_of_the_deadline_and_is_left)
{
    struct bed bed;
    bed_init(&bed, NULL);
    struct fake_request *request = get(&bed);
    CHECK_INT(request->request.lane, PL_LEASE_LANE);
    CHECK_INT(request->request.timeout_ms, 2500);
    CHECK(!request->request.fresh_connection);
    bed_pass(&bed, 2500 * PL_MS);
    CHECK_INT(bed.answers, 1);
    CHECK_INT(bed.err.code, PL_ETIMEOUT);
    request = get(&bed);
    CHECK(request->request.fresh_connection);
    reply(&bed, request, 200, LEASE("5", "other"));
    request = get(&bed);
    CHECK(!request->request.fresh_connection);
    reply(&bed, request, 200, LEASE("5", "other"));
    bed_deinit(&bed);
}

TEST(a_canceled_request_is_answered_once)
{
    struct bed bed;
    bed_init(&bed, NULL);
    get(&bed);
    bed.lock.ops->cancel(bed.lock.self);
    CHECK_INT(bed.answers, 0); /* never from inside */
    bed_run(&bed);
    CHECK_INT(bed.answers, 1);
    CHECK_INT(bed.err.code, PL_ECANCELED);
    bed_deinit(&bed);
}

/* ---- the watch ---- */

static void on_open(void *arg)
{
    ((struct bed *)arg)->opened++;
}

static void on_change(void *arg, const struct pl_lease_record *record)
{
    struct bed *bed = arg;
    bed->changes++;
    bed->deletions += record == NULL;
    if (record != NULL)
        bed->seen = *record;
}

static void on_end(void *arg, const struct pl_err *err)
{
    struct bed *bed = arg;
    bed->ended++;
    pl_err_clear(&bed->end_err);
    if (err != NULL)
        bed->end_err = *err;
}

static const struct pl_lease_watch_ops watch_ops = {on_open, on_change, on_end};

static struct fake_request *watch(struct bed *bed)
{
    bed->lock.ops->watch(bed->lock.self, &watch_ops, bed);
    bed_run(bed);
    struct fake_request *request = FAKE_EXPECT(&bed->net, "GET", PATH "?");
    struct pl_buf value = PL_BUF_INIT;
    CHECK(fake_query(request, "fieldSelector", &value));
    CHECK_STR(pl_buf_z(&value), "metadata.name=l");
    CHECK(!fake_query(request, "resourceVersion", &value)); /* begins with the current state */
    pl_buf_deinit(&value);
    return request;
}

TEST(the_watch_tells_changes_and_deletions_and_nothing_else)
{
    struct bed bed;
    bed_init(&bed, NULL);
    struct fake_request *request = watch(&bed);
    fake_begin(request, 200);
    CHECK_INT(bed.opened, 1);
    fake_stream(request, "{\"type\":\"ADDED\",\"object\":" LEASE("5", "other") "}\n");
    CHECK_STR(bed.seen.holder, "other");
    fake_stream(request, "{\"type\":\"MODIFIED\",\"object\":" LEASE("6", "") "}\n");
    CHECK_STR(bed.seen.holder, "");
    fake_stream(request, "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Lease\",\"apiVersion\":"
                         "\"coordination.k8s.io/v1\",\"metadata\":{\"resourceVersion\":\"9\"}}}\n");
    CHECK_INT(bed.changes, 2);
    fake_stream(request, "{\"type\":\"DELETED\",\"object\":" LEASE("10", "other") "}\n");
    CHECK_INT(bed.deletions, 1);
    fake_end(request);
    bed_run(&bed);
    CHECK_INT(bed.ended, 1);
    CHECK_INT(bed.end_err.code, 0);
    bed_deinit(&bed);
}

TEST(the_watch_ends_with_the_servers_words)
{
    struct bed bed;
    bed_init(&bed, NULL);
    fake_reply(watch(&bed), 403, "{\"kind\":\"Status\",\"code\":403,\"reason\":\"Forbidden\"}");
    bed_run(&bed);
    CHECK_INT(bed.ended, 1);
    CHECK_INT(bed.end_err.status, 403);
    struct fake_request *request = watch(&bed);
    fake_stream(request, "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,"
                         "\"reason\":\"Expired\",\"message\":\"too old\"}}\n");
    bed_run(&bed);
    CHECK_INT(bed.ended, 2);
    CHECK_INT(bed.end_err.status, 410);
    bed_deinit(&bed);
}

TEST(a_watch_that_is_silent_for_the_lease_duration_is_dead)
{
    struct bed bed;
    bed_init(&bed, NULL);
    struct fake_request *request = watch(&bed);
    fake_begin(request, 200);
    fake_stream(request, "{\"type\":\"ADDED\",\"object\":" LEASE("5", "other") "}\n");
    bed_pass(&bed, 14 * PL_SECOND);
    CHECK_INT(bed.ended, 0);
    bed_pass(&bed, 1 * PL_SECOND);
    CHECK_INT(bed.ended, 1);
    CHECK_INT(bed.end_err.code, PL_ETIMEOUT);
    bed_deinit(&bed);
}

TEST(after_unwatch_only_the_end_is_told)
{
    struct bed bed;
    bed_init(&bed, NULL);
    struct fake_request *request = watch(&bed);
    fake_begin(request, 200);
    bed.lock.ops->unwatch(bed.lock.self);
    bed.lock.ops->unwatch(bed.lock.self);
    CHECK_INT(bed.ended, 0);
    bed_run(&bed);
    CHECK_INT(bed.ended, 1);
    CHECK_INT(bed.end_err.code, PL_ECANCELED);
    CHECK_INT(bed.changes, 0);
    bed_deinit(&bed);
}

TEST_MAIN()
