#include "lead/shard_leases.h"
#include "lead/shard_lease.h"

#include "base/log.h"
#include "control/shard_member.h"
#include "support/fake_transport.h"
#include "support/test.h"
#include "support/virtual_clock.h"
#include "value/scan.h"

#include <unistd.h>

struct reading {
    struct pl_doc *doc;
    struct pl_shard_lease_room room;
    struct pl_shard_lease lease;
    bool ok;
};

static void begin_reading(struct reading *r, const char *name, const char *annotations,
                          const char *spec)
{
    char text[1024];
    struct pl_err err;
    snprintf(text, sizeof text,
             "{\"apiVersion\":\"coordination.k8s.io/"
             "v1\",\"kind\":\"Lease\",\"metadata\":{\"name\":\"%s\","
             "\"resourceVersion\":\"7\",\"annotations\":%s},\"spec\":%s}",
             name, annotations, spec);
    r->doc = pl_scan_text(pl_slice_z(text), NULL, &err);
    REQUIRE(r->doc != NULL);
    r->ok = pl_shard_lease_read(pl_doc_root(r->doc), "web", &r->room, &r->lease);
}

static bool is_read(const char *name)
{
    struct reading r;
    begin_reading(&r, name, "{}", "{}");
    pl_doc_unref(r.doc);
    return r.ok;
}

TEST(a_members_lease_says_whose_it_is)
{
    struct reading r;
    begin_reading(&r, "web-member-host-1",
                  "{\"perilune.dev/shard-count\":\"16\",\"perilune.dev/shard-by\":\"uid\","
                  "\"perilune.dev/leaving\":\"true\"}",
                  "{\"holderIdentity\":\"host-1\",\"leaseDurationSeconds\":15,"
                  "\"renewTime\":\"1970-01-01T00:00:01.000002Z\"}");
    CHECK(r.ok);
    CHECK_INT(r.lease.kind, PL_LEASE_OF_MEMBER);
    CHECK(pl_slice_eqz(r.lease.id, "host-1") && pl_slice_eqz(r.lease.holder, "host-1"));
    CHECK_INT(r.lease.count, 16);
    CHECK_INT(r.lease.by, PL_SHARD_BY_UID);
    CHECK_INT(r.lease.duration_s, 15);
    CHECK_INT(r.lease.stamp, 1000002);
    CHECK_INT((int64_t)r.lease.version, 7);
    CHECK(r.lease.leaving);
    pl_doc_unref(r.doc);
}

TEST(names_say_what_a_lease_is)
{
    struct reading r;
    begin_reading(&r, "web-shard-255", "{}", "{}");
    CHECK(r.ok && r.lease.kind == PL_LEASE_OF_SHARD && r.lease.index == 255);
    pl_doc_unref(r.doc);
    begin_reading(&r, "web", "{}", "{}");
    CHECK(r.ok && r.lease.kind == PL_LEASE_OF_NAME);
    pl_doc_unref(r.doc);
    CHECK(is_read("web-shard-0"));
    static const char *const others[] = {
        "web-shard-256", "web-shard-",   "web-shard-01",
        "web-shard--1",  "web-shard-1x", "web-member-",
        "webs",          "other",        "web-shard-99999999999999999999"};
    for (size_t i = 0; i < PL_ARRAY_LEN(others); i++)
        if (is_read(others[i]))
            TEST_FAIL("%s is none of them", others[i]);
}

TEST(a_lease_that_others_do_not_watch_is_told)
{
    struct reading r;
    static const char *const notes[] = {"{},\"labels\":{\"perilune.dev/shards\":\"web\"}",
                                        "{},\"labels\":{\"perilune.dev/shards\":\"webs\"}", "{}",
                                        "{},\"labels\":[]"};
    for (size_t i = 0; i < PL_ARRAY_LEN(notes); i++) {
        begin_reading(&r, "web-shard-1", notes[i], "{}");
        CHECK(r.ok && r.lease.unlabelled == (i > 0));
        pl_doc_unref(r.doc);
    }
}

TEST(nonsense_is_not_said)
{
    static const char *const notes[] = {
        "{\"perilune.dev/shard-count\":\"257\"}",
        "{\"perilune.dev/shard-count\":\"-3\"}",
        "{\"perilune.dev/shard-count\":\"3x\"}",
        "{\"perilune.dev/shard-count\":16}",
        "{\"perilune.dev/shard-count\":\"\"}",
        "[]",
        "{\"perilune.dev/leaving\":\"maybe\"}",
        "{\"perilune.dev/shard-by\":\"name\"}", /* as in one of an older version, without it */
    };
    static const char *const specs[] = {
        "{\"leaseDurationSeconds\":-1}", "{\"leaseDurationSeconds\":\"x\"}",
        "{\"leaseDurationSeconds\":99999999999}",
        "{\"holderIdentity\":3,\"renewTime\":\"yesterday\"}", "null"};
    for (size_t i = 0; i < PL_ARRAY_LEN(notes) * PL_ARRAY_LEN(specs); i++) {
        struct reading r;
        begin_reading(&r, "web-member-a", notes[i % PL_ARRAY_LEN(notes)],
                      specs[i / PL_ARRAY_LEN(notes)]);
        CHECK(r.ok && r.lease.count == 0 && r.lease.by == PL_SHARD_BY_NAMESPACE &&
              !r.lease.leaving && r.lease.duration_s == 0 && r.lease.holder.len == 0 &&
              r.lease.stamp == 0);
        pl_doc_unref(r.doc);
    }
}

/* ---- over a scripted server ---- */

#define LEASES "/apis/coordination.k8s.io/v1/namespaces/default/leases"
#define ALL    "shardRange(object.metadata.uid, '0x0000000000000000', '0x10000000000000000')"
#define LIST(of)                                                                                   \
    "{\"kind\":\"LeaseList\",\"apiVersion\":\"coordination.k8s.io/v1\",\"metadata\":{" of          \
    "\"resourceVersion\":\"10\"},\"items\":[]}"
#define REFUSED(code, message)                                                                     \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"code\":" code             \
    ",\"message\":\"" message "\"}"

struct watched {
    struct virtual_clock clock;
    struct pl_timers timers;
    struct pl_rand rand;
    struct fake_transport net;
    struct pl_kubeconfig config;
    struct pl_client *client;
    struct pl_shards *shards;
    struct pl_membership *m;
    struct pl_shard_leases *leases;
    int told;     /* how often it was reported whether the server filters, */
    bool filters; /* and the last report */
};

static void on_filters(void *arg, bool filters)
{
    struct watched *w = arg;
    w->told++;
    w->filters = filters;
}

static void never(void *self, enum pl_shard_verb verb, const struct pl_shard_lease *lease,
                  pl_shard_answer_fn on_answer, void *arg)
{
    PL_UNUSED(self);
    PL_UNUSED(verb);
    PL_UNUSED(lease);
    PL_UNUSED(on_answer);
    PL_UNUSED(arg);
    TEST_FAIL("nothing has joined");
}

static void run(struct watched *w, int64_t ns)
{
    int64_t until = w->clock.now_ns + ns, due;
    while (pl_timers_next(&w->timers, &due) && due <= until) {
        w->clock.now_ns = due > w->clock.now_ns ? due : w->clock.now_ns;
        pl_timers_run(&w->timers);
    }
    w->clock.now_ns = until;
}

static void open_leases(struct watched *w)
{
    static const struct pl_membership_ops ops = {.start = never};
    *w = (struct watched){0};
    pl_log_configure(PL_LOG_ERROR + 1, false, 2);
    virtual_clock_init(&w->clock, INT64_C(1795253400) * PL_SECOND);
    pl_timers_init(&w->timers, &w->clock.clock);
    pl_rand_seed(&w->rand, 3);
    fake_transport_init(&w->net, &w->timers);
    w->config = (struct pl_kubeconfig){.source = (char *)"test", .server = (char *)"http://k8s"};
    w->client = pl_client_create(&(struct pl_client_options){.transport = fake_transport(&w->net),
                                                             .timers = &w->timers,
                                                             .rand = &w->rand,
                                                             .config = &w->config,
                                                             .user_agent = "test",
                                                             .qps = 0.001,
                                                             .burst = 1},
                                 NULL);
    REQUIRE(w->client != NULL);
    w->shards = pl_shards_create(4, PL_SHARD_BY_UID);
    w->m = pl_membership_create(&(struct pl_membership_options){.ops = &ops,
                                                                .shards = w->shards,
                                                                .timers = &w->timers,
                                                                .clock = &w->clock.clock,
                                                                .rand = &w->rand,
                                                                .lease_duration_ns = 15 * PL_SECOND,
                                                                .renew_deadline_ns = 10 * PL_SECOND,
                                                                .retry_period_ns = 2 * PL_SECOND});
    w->leases = pl_shard_leases_create(&(struct pl_shard_leases_options){
        .client = w->client,
        .timers = &w->timers,
        .clock = &w->clock.clock,
        .ns = "default",
        .name = "web",
        .request_timeout_ns = 5 * PL_SECOND,
        .silence_ns = 15 * PL_SECOND,
        .retry_period_ns = 2 * PL_SECOND,
        .filters = on_filters,
        .arg = w,
    });
}

static void watch_leases(struct watched *w)
{
    open_leases(w);
    pl_shard_leases_watch(w->leases, w->m);
    run(w, 0);
}

static void end_watching(struct watched *w)
{
    pl_client_destroy(w->client);
    pl_shard_leases_destroy(w->leases);
    run(w, PL_SECOND);
    CHECK_INT(w->net.open_count, 0);
    pl_membership_destroy(w->m);
    pl_shards_destroy(w->shards);
    fake_transport_deinit(&w->net);
    pl_timers_deinit(&w->timers);
}

/* The list of members and shards that was asked for; it asks whether the server filters, or not. */
static struct fake_request *listed(struct watched *w, bool asks)
{
    struct pl_buf value = PL_BUF_INIT;
    struct fake_request *list = FAKE_EXPECT(&w->net, "GET", LEASES "?labelSelector=");
    CHECK(fake_query(list, "shardSelector", &value) == asks);
    if (asks)
        CHECK_SLICE(pl_buf_slice(&value), ALL);
    pl_buf_deinit(&value);
    return list;
}

static void answer(struct watched *w, struct fake_request *request, int status, const char *body)
{
    fake_reply(request, status, body);
    run(w, 0);
}

TEST(whether_the_server_filters_is_asked_once_and_shard_info_alone_says_yes)
{
    static const struct {
        const char *list;
        bool filters;
    } cases[] = {
        {LIST("\"shardInfo\":{\"selector\":\"" ALL "\"},"), true},
        {LIST(""), false}, /* as for custom resources, which are filtered without a mark */
        {LIST("\"shardInfo\":{\"selector\":\"\"},"), false},
        {LIST("\"shardInfo\":{\"selector\":\"shardRange(object.metadata.uid, '0x0', '0x1')\"},"),
         false},
        {LIST("\"shardInfo\":{},"), false},
        {LIST("\"shardInfo\":\"yes\","), false},
        {LIST("\"shardInfo\":null,"), false},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        struct watched w;
        watch_leases(&w);
        answer(&w, listed(&w, true), 200, cases[i].list);
        CHECK(w.told == 1 && w.filters == cases[i].filters);
        struct fake_request *watch = FAKE_EXPECT(&w.net, "GET", LEASES "?watch=true");
        CHECK(!fake_query(watch, "shardSelector", &(struct pl_buf){0}));
        fake_begin(watch, 200);
        run(&w, PL_SECOND);
        fake_end(watch);
        run(&w, PL_SECOND);
        answer(&w, listed(&w, false), 200, LIST(""));
        CHECK_INT(w.told, 1);
        end_watching(&w);
    }
}

TEST(a_server_that_refuses_the_question_has_said_no_and_is_listed_at_once)
{
    static const struct {
        int status;
        const char *body;
    } refusals[] = {
        {400, REFUSED("400", "unknown parameter")},
        {500, REFUSED("500", "invalid shard selector: unexpected expression kind 3")},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(refusals); i++) {
        struct watched w;
        watch_leases(&w);
        answer(&w, listed(&w, true), refusals[i].status, refusals[i].body);
        CHECK(w.told == 1 && !w.filters);
        answer(&w, listed(&w, false), 200, LIST("\"shardInfo\":{\"selector\":\"" ALL "\"},"));
        CHECK(w.told == 1 && !w.filters);
        end_watching(&w);
    }
}

TEST(a_failure_says_nothing_about_filters_and_the_question_is_asked_again)
{
    static const struct {
        int status;
        const char *body;
    } failures[] = {
        {500, REFUSED("500", "etcdserver: leader changed; not an invalid shard selector")},
        {503, REFUSED("503", "the server is starting")},
        {403, REFUSED("403", "leases is forbidden")},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(failures); i++) {
        struct watched w;
        watch_leases(&w);
        answer(&w, listed(&w, true), failures[i].status, failures[i].body);
        CHECK_INT(w.told, 0);
        run(&w, 3 * PL_SECOND);
        answer(&w, listed(&w, true), 200, LIST(""));
        CHECK(w.told == 1 && !w.filters);
        end_watching(&w);
    }
}

/* ---- writing, by a wall clock that jumps ---- */

static int64_t wall_now;

static int64_t read_wall(void *arg)
{
    PL_UNUSED(arg);
    return wall_now;
}

static void ignore(void *arg, const struct pl_err *err, const struct pl_shard_lease *lease)
{
    PL_UNUSED(arg);
    CHECK(err == NULL && lease != NULL);
}

/* The renewTime that is sent, as others read it. The server's Lease has version - 1 before. */
static int64_t renewed(struct watched *w, int version)
{
    struct pl_shard_lease lease = {.kind = PL_LEASE_OF_MEMBER,
                                   .id = pl_slice_z("host-1"),
                                   .holder = pl_slice_z("host-1"),
                                   .duration_s = 15,
                                   .count = 4};
    char before[40], spec[100], body[400];
    pl_shard_leases_start(w->leases, PL_SHARD_UPDATE, &lease, ignore, NULL);
    run(w, 0);
    struct fake_request *put = FAKE_EXPECT(&w->net, version == 1 ? "POST" : "PUT", LEASES);
    snprintf(before, sizeof before, "\"resourceVersion\":\"%d\"", version - 1);
    CHECK((strstr(pl_buf_z(&put->body), before) != NULL) == (version > 1));
    const char *time = strstr(pl_buf_z(&put->body), "\"renewTime\":\"");
    REQUIRE(time != NULL);
    snprintf(spec, sizeof spec, "{%.41s}", time); /* 1970-01-01T00:00:00.000000Z, quoted */
    snprintf(body, sizeof body,
             "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{"
             "\"name\":\"web-member-host-1\",\"resourceVersion\":\"%d\"},\"spec\":%s}",
             version, spec);
    answer(w, put, version == 1 ? 201 : 200, body);
    struct reading r;
    begin_reading(&r, "web-member-host-1", "{}", spec);
    CHECK(r.ok && r.lease.stamp != 0);
    pl_doc_unref(r.doc);
    return r.lease.stamp;
}

TEST(what_a_member_writes_says_whose_it_is)
{
    struct watched w;
    watch_leases(&w);
    for (int leaving = 0; leaving < 2; leaving++) {
        struct pl_shard_lease lease = {.kind = PL_LEASE_OF_MEMBER,
                                       .id = pl_slice_z("host-1"),
                                       .holder = pl_slice_z("host-1"),
                                       .duration_s = 15,
                                       .count = 4,
                                       .by = leaving ? PL_SHARD_BY_UID : PL_SHARD_BY_NAMESPACE,
                                       .leaving = leaving};
        pl_shard_leases_start(w.leases, PL_SHARD_CREATE, &lease, ignore, NULL);
        run(&w, 0);
        struct fake_request *post = FAKE_EXPECT(&w.net, "POST", LEASES);
        const char *body = pl_buf_z(&post->body);
        CHECK(strstr(body, "\"name\":\"web-member-host-1\",\"namespace\":\"default\"") != NULL);
        CHECK(strstr(body, "\"labels\":{\"perilune.dev/shards\":\"web\"}") != NULL);
        CHECK(strstr(body, leaving ? "\"annotations\":{\"perilune.dev/shard-count\":\"4\","
                                     "\"perilune.dev/shard-by\":\"uid\","
                                     "\"perilune.dev/leaving\":\"true\"}"
                                   : "\"annotations\":{\"perilune.dev/shard-count\":\"4\","
                                     "\"perilune.dev/shard-by\":\"namespace\"}") != NULL);
        CHECK(strstr(body, "\"holderIdentity\":\"host-1\",\"leaseDurationSeconds\":15,") != NULL);
        answer(&w, post, 201,
               "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{"
               "\"name\":\"web-member-host-1\",\"resourceVersion\":\"1\"}}");
    }
    end_watching(&w);
}

/* ---- requests that fail ---- */

static int lines_logged;

static void count_line(void *arg, enum pl_log_level level, struct pl_slice line)
{
    PL_UNUSED(arg);
    PL_UNUSED(line);
    lines_logged += level == PL_LOG_WARN || level == PL_LOG_INFO;
}

static void keep_status(void *arg, const struct pl_err *err, const struct pl_shard_lease *lease)
{
    PL_UNUSED(lease);
    *(int *)arg = err != NULL ? err->status : 0;
}

/* One request about a Lease of that kind, and the server's answer to it. */
static void fail(struct watched *w, enum pl_shard_lease_kind kind, enum pl_shard_verb verb,
                 int status, const char *body)
{
    static const char *const methods[] = {"GET", "POST", "POST", "DELETE"};
    struct pl_shard_lease lease = {
        .kind = kind, .id = pl_slice_z("a"), .holder = pl_slice_z("a"), .duration_s = 15};
    int seen = -1;
    pl_shard_leases_start(w->leases, verb, &lease, keep_status, &seen);
    run(w, 0);
    answer(w, FAKE_EXPECT(&w->net, methods[verb], LEASES), status, body);
    CHECK_INT(seen, status < 300 ? 0 : status);
}

/* A pipe takes the lines that are logged; nobody reads them. */
static void count_lines(int ends[2])
{
    REQUIRE(pipe(ends) == 0);
    lines_logged = 0;
    pl_log_configure(PL_LOG_INFO, false, ends[1]);
    pl_log_set_tap(count_line, NULL);
}

static void stop_counting(const int ends[2])
{
    pl_log_set_tap(NULL, NULL);
    pl_log_configure(PL_LOG_ERROR + 1, false, 2);
    close(ends[0]);
    close(ends[1]);
}

TEST(what_the_server_says_about_a_write_that_fails_is_logged_once_and_told)
{
    static const struct {
        int status;
        const char *body, *told;
    } cases[] = {
        {403, REFUSED("403", "leases is forbidden"), "leases is forbidden"},
        {404, REFUSED("404", "no such namespace"), "no such namespace"},
        {422, REFUSED("422", "a policy is against it"), "a policy is against it"},
    };
    for (size_t i = 0; i < 2 * PL_ARRAY_LEN(cases); i++) {
        struct watched w;
        int ends[2];
        size_t at = i / 2;
        enum pl_shard_lease_kind kind = i % 2 == 0 ? PL_LEASE_OF_MEMBER : PL_LEASE_OF_SHARD;
        open_leases(&w);
        count_lines(ends);
        CHECK(pl_shard_leases_trouble(w.leases) == NULL);
        for (int k = 0; k < 5; k++)
            fail(&w, kind, PL_SHARD_CREATE, cases[at].status, cases[at].body);
        CHECK_INT(lines_logged, 1);
        const char *told = pl_shard_leases_trouble(w.leases);
        CHECK(told != NULL && strstr(told, cases[at].told) != NULL);
        fail(&w, kind, PL_SHARD_CREATE, 201,
             kind == PL_LEASE_OF_MEMBER
                 ? "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{"
                   "\"name\":\"web-member-a\",\"resourceVersion\":\"1\"}}"
                 : "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{"
                   "\"name\":\"web-shard-0\",\"resourceVersion\":\"1\"}}");
        CHECK(pl_shard_leases_trouble(w.leases) == NULL);
        CHECK_INT(lines_logged, 2);
        stop_counting(ends);
        end_watching(&w);
    }
}

TEST(being_second_or_finding_nothing_is_no_failure)
{
    struct watched w;
    int ends[2];
    open_leases(&w);
    count_lines(ends);
    fail(&w, PL_LEASE_OF_SHARD, PL_SHARD_GET, 404, REFUSED("404", "not there"));
    fail(&w, PL_LEASE_OF_MEMBER, PL_SHARD_DELETE, 404, REFUSED("404", "not there"));
    fail(&w, PL_LEASE_OF_SHARD, PL_SHARD_CREATE, 409,
         "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"code\":409,"
         "\"reason\":\"AlreadyExists\",\"message\":\"there already\"}");
    CHECK_INT(lines_logged, 0);
    CHECK(pl_shard_leases_trouble(w.leases) == NULL);
    stop_counting(ends);
    end_watching(&w);
}

/* ---- a server that is restored ---- */

#define SHARD_0(version, holder)                                                                   \
    "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{\"name\":"        \
    "\"web-shard-0\",\"labels\":{\"perilune.dev/shards\":\"web\"},\"resourceVersion\":\"" version  \
    "\"},\"spec\":{\"holderIdentity\":\"" holder "\"}}"
#define LEASE_LIST(version, items)                                                                 \
    "{\"kind\":\"LeaseList\",\"apiVersion\":\"coordination.k8s.io/v1\",\"metadata\":{"             \
    "\"resourceVersion\":\"" version "\"},\"items\":[" items "]}"

static void check_holder(const struct watched *w, const char *holder)
{
    int64_t for_ns;
    CHECK_STR(pl_membership_holder(w->m, 0, &for_ns), holder);
}

/* Lists and watches; a has shard 0. The watch is returned. */
static struct fake_request *watch_shard_0(struct watched *w)
{
    watch_leases(w);
    answer(w, listed(w, true), 200, LEASE_LIST("500", SHARD_0("490", "a")));
    struct fake_request *watch = FAKE_EXPECT(&w->net, "GET", LEASES "?watch=true&");
    fake_begin(watch, 200);
    run(w, 0);
    check_holder(w, "a");
    return watch;
}

TEST(a_list_of_a_restored_server_replaces_what_is_known)
{
    static const struct {
        const char *list, *holder;
    } cases[] = {
        {LEASE_LIST("100", SHARD_0("90", "b")), "b"},
        {LEASE_LIST("100", ""), ""},
        /* so much was written since that the list is newer */
        {LEASE_LIST("510", SHARD_0("300", "b")), "b"},
        {LEASE_LIST("510", SHARD_0("490", "b")), "b"},
        {LEASE_LIST("510", SHARD_0("505", "b")), "b"}, /* as on any day */
        {LEASE_LIST("510", ""), ""},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        struct watched w;
        int ends[2];
        struct fake_request *watch = watch_shard_0(&w);
        count_lines(ends);
        fake_end(watch);
        run(&w, 0);
        answer(&w, listed(&w, false), 200, cases[i].list);
        check_holder(&w, cases[i].holder);
        CHECK_INT(lines_logged, i < 4);
        watch = FAKE_EXPECT(&w.net, "GET", LEASES "?watch=true&");
        fake_begin(watch, 200);
        fake_stream(watch, "{\"type\":\"ADDED\",\"object\":" SHARD_0("600", "c") "}\n");
        run(&w, 0);
        check_holder(&w, "c");
        stop_counting(ends);
        end_watching(&w);
    }
}

TEST(a_watch_event_that_comes_late_replaces_nothing)
{
    struct watched w;
    struct fake_request *watch = watch_shard_0(&w);
    fake_stream(watch, "{\"type\":\"MODIFIED\",\"object\":" SHARD_0("480", "b") "}\n");
    run(&w, 0);
    check_holder(&w, "a");
    end_watching(&w);
}

static void keep_code(void *arg, const struct pl_err *err, const struct pl_shard_lease *lease)
{
    PL_UNUSED(lease);
    *(int *)arg = err != NULL ? err->code : 0;
}

/* A read shows an earlier version than was known, a write gets one. */
TEST(an_answer_of_a_restored_server_is_no_success_and_has_the_leases_listed_once_at_once)
{
    static const enum pl_shard_verb verbs[] = {PL_SHARD_GET, PL_SHARD_UPDATE};
    struct pl_shard_lease lease = {.kind = PL_LEASE_OF_SHARD, .holder = pl_slice_z("a")};
    for (size_t i = 0; i < PL_ARRAY_LEN(verbs); i++) {
        struct watched w;
        int code = 1;
        struct fake_request *watch = watch_shard_0(&w);
        PL_UNUSED(watch);
        pl_shard_leases_start(w.leases, verbs[i], &lease, keep_code, &code);
        run(&w, 0);
        answer(&w, FAKE_EXPECT(&w.net, i == 0 ? "GET" : "PUT", LEASES "/web-shard-0"), 200,
               SHARD_0("95", "b"));
        CHECK_INT(code, PL_ENETWORK);
        answer(&w, listed(&w, false), 200, LEASE_LIST("100", SHARD_0("95", "b")));
        check_holder(&w, "b");
        pl_shard_leases_start(w.leases, verbs[i], &lease, keep_code, &code);
        run(&w, 0);
        answer(&w, FAKE_EXPECT(&w.net, i == 0 ? "GET" : "PUT", LEASES "/web-shard-0"), 200,
               i == 0 ? SHARD_0("95", "b") : SHARD_0("101", "b"));
        CHECK_INT(code, 0);
        end_watching(&w);
    }
}

TEST(an_answer_that_was_on_its_way_while_the_server_was_restored_is_no_success)
{
    struct watched w;
    int code = 1;
    struct pl_shard_lease lease = {.kind = PL_LEASE_OF_SHARD, .holder = pl_slice_z("c")};
    struct fake_request *watch = watch_shard_0(&w);
    pl_shard_leases_start(w.leases, PL_SHARD_UPDATE, &lease, keep_code, &code);
    run(&w, 0);
    struct fake_request *put = FAKE_EXPECT(&w.net, "PUT", LEASES "/web-shard-0");
    fake_end(watch);
    run(&w, 0);
    answer(&w, listed(&w, false), 200, LEASE_LIST("100", SHARD_0("95", "b")));
    answer(&w, put, 200, SHARD_0("501", "c"));
    CHECK_INT(code, PL_ENETWORK);
    check_holder(&w, "b");
    end_watching(&w);
}

/* A Lease's name has at most 253 characters; the deployment's has 63 of them. */
TEST(the_id_of_a_member_may_be_part_of_a_leases_name_whatever_the_machine_is_called)
{
    static const struct pl_shard_member_ops ops = {0};
    char longest[251] = "";
    memset(longest, 'A', sizeof longest - 1);
    const char *const hosts[] = {"Web_1.Example-HOST", "-.-", "", "b\xc3\xbcro", longest};
    for (size_t i = 0; i < PL_ARRAY_LEN(hosts); i++) {
        struct watched w;
        open_leases(&w);
        struct pl_shard_member *member =
            pl_shard_member_create(&(struct pl_shard_member_options){.shards = w.shards,
                                                                     .leases = w.leases,
                                                                     .timers = &w.timers,
                                                                     .rand = &w.rand,
                                                                     .lease = "default/web",
                                                                     .hostname = hosts[i],
                                                                     .ops = &ops});
        pl_shard_member_join(member);
        const char *id = pl_membership_id(pl_shard_member_membership(member));
        CHECK(strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(id));
        CHECK(id[0] != '-' && strlen(id) > 8 && strlen(id) <= 253 - 63 - strlen("-member-"));
        CHECK(i > 0 || strncmp(id, "web-1-example-host", 18) == 0);
        pl_client_destroy(w.client);
        pl_shard_leases_destroy(w.leases);
        run(&w, PL_SECOND);
        pl_shard_member_destroy(member);
        pl_membership_destroy(w.m);
        pl_shards_destroy(w.shards);
        fake_transport_deinit(&w.net);
        pl_timers_deinit(&w.timers);
    }
}

/* Others recognise a renewal by its changed time; they do not compare it with their own clocks. */
TEST(each_renewal_has_another_time_whatever_the_wall_clock_does)
{
    static const int64_t steps_ns[] = {
        0, 0, PL_MS, -PL_MS, -500 * PL_MS, 7 * 60 * PL_SECOND, -20 * 60 * PL_SECOND, 0, PL_SECOND};
    struct watched w;
    int64_t stamps[PL_ARRAY_LEN(steps_ns)];
    watch_leases(&w);
    wall_now = INT64_C(1795253400) * PL_SECOND;
    w.clock.clock.wall_ns = read_wall;
    for (size_t i = 0; i < PL_ARRAY_LEN(steps_ns); i++) {
        wall_now += steps_ns[i];
        stamps[i] = renewed(&w, (int)i + 1);
        for (size_t k = 0; k < i; k++)
            CHECK(stamps[i] != stamps[k]);
    }
    CHECK(stamps[6] < stamps[5]); /* the clock works */
    end_watching(&w);
}

TEST_MAIN()
