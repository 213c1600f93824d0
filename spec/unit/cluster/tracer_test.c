#include "cluster/tracer.h"

#include "base/alloc.h"
#include "base/log.h"
#include "support/fake_transport.h"
#include "support/json.h"
#include "support/test.h"
#include "support/virtual_clock.h"

#define RUN_A "0123456789abcdef" /* at 0.004 of all ids */
#define RUN_B "f000000000000001" /* at 0.94 */

static struct {
    struct virtual_clock clock;
    struct pl_timers timers;
    struct pl_rand rand;
    struct pl_metrics *metrics;
    struct fake_transport net;
    struct pl_tracer *tracer;
    int finished;
} t;

static void begin(double ratio)
{
    pl_log_set_level(PL_LOG_OFF);
    memset(&t, 0, sizeof t);
    virtual_clock_init(&t.clock, 1000 * PL_SECOND);
    pl_timers_init(&t.timers, &t.clock.clock);
    pl_rand_seed(&t.rand, 1);
    t.metrics = pl_metrics_create();
    fake_transport_init(&t.net, &t.timers);
    const struct pl_tracer_options options = {.transport = fake_transport(&t.net),
                                              .timers = &t.timers,
                                              .rand = &t.rand,
                                              .metrics = t.metrics};
    struct pl_trace_env env = {.url = pl_strdup("http://collector/v1/traces"),
                               .service = pl_strdup("shop"),
                               .timeout_ms = 1500,
                               .ratio = ratio};
    env.attributes.items = PL_NEW(struct pl_trace_pair);
    env.attributes.items[0] = (struct pl_trace_pair){pl_strdup("k8s.pod.name"), pl_strdup("web-0")};
    env.attributes.count = 1;
    env.headers.items = PL_NEW(struct pl_trace_pair);
    env.headers.items[0] = (struct pl_trace_pair){pl_strdup("x-token"), pl_strdup("a b")};
    env.headers.count = 1;
    t.tracer = pl_tracer_create(&options, &env);
    CHECK(env.url == NULL);
}

static void end(void)
{
    CHECK_INT(t.net.open_count, 0);
    fake_transport_deinit(&t.net);
    pl_tracer_destroy(t.tracer);
    pl_timers_deinit(&t.timers);
    pl_metrics_destroy(t.metrics);
}

static void advance(int64_t ns)
{
    t.clock.now_ns += ns;
    pl_timers_run(&t.timers);
}

static void run_ends(const char *id)
{
    pl_tracer_run(t.tracer, id, "web", pl_slice_z("default/a"), "ok", pl_slice_z(""), false,
                  PL_SECOND);
}

static void on_finished(void *arg)
{
    (*(int *)arg)++;
}

static void finish(void)
{
    pl_tracer_finish(t.tracer, on_finished, &t.finished);
}

/* The value of a counter in the text that /metrics shows. */
static double counted(const char *name)
{
    char start[64];
    struct pl_buf text = PL_BUF_INIT;
    snprintf(start, sizeof start, "\n%s ", name);
    pl_metrics_write(t.metrics, &text);
    const char *at = strstr(pl_buf_z(&text), start);
    double value = at != NULL ? strtod(at + strlen(start), NULL) : -1;
    pl_buf_deinit(&text);
    return value;
}

TEST(spans_are_sent_together_after_two_seconds)
{
    begin(1);
    pl_tracer_call(t.tracer, RUN_A, pl_slice_z("get v1/Pod"), pl_slice_z("found"), false, 0);
    run_ends(RUN_A);
    advance(PL_SECOND);
    CHECK_INT(t.net.start_count, 0);
    advance(PL_SECOND);
    struct fake_request *sent = FAKE_EXPECT(&t.net, "POST", "/v1/traces");
    CHECK_STR(fake_header(sent, "content-type"), "application/json");
    CHECK_STR(fake_header(sent, "x-token"), "a b");
    CHECK_INT(sent->request.timeout_ms, 1500);
    const char *body = pl_buf_z(&sent->body);
    CHECK(strstr(body, "{\"key\":\"service.name\",\"value\":{\"stringValue\":\"shop\"}},"
                       "{\"key\":\"k8s.pod.name\",\"value\":{\"stringValue\":\"web-0\"}}") != NULL);
    CHECK(strstr(body, "\"traceId\":\"" RUN_A RUN_A "\"") != NULL);
    CHECK(strstr(body, "\"parentSpanId\":\"" RUN_A "\"") != NULL);
    CHECK(strstr(body, "\"endTimeUnixNano\":\"1000000000000\"") != NULL);
    fake_reply(sent, 200, "{}");
    advance(0);
    CHECK(counted("perilune_trace_spans_sent_total") == 2);
    end();
}

TEST(a_collector_that_refuses_loses_its_spans_and_they_are_counted)
{
    begin(1);
    run_ends(RUN_A);
    advance(2 * PL_SECOND);
    fake_reply(FAKE_EXPECT(&t.net, "POST", ""), 503, "");
    advance(0);
    CHECK(counted("perilune_trace_spans_dropped_total") == 1);
    end();
}

TEST(the_run_id_decides_whether_a_run_is_traced)
{
    begin(0.5);
    run_ends(RUN_B);
    pl_tracer_call(t.tracer, RUN_B, pl_slice_z("get"), pl_slice_z(""), false, 0);
    advance(3 * PL_SECOND);
    CHECK_INT(t.net.start_count, 0);
    run_ends(RUN_A);
    pl_tracer_call(t.tracer, RUN_A, pl_slice_z("get"), pl_slice_z(""), false, 0);
    advance(2 * PL_SECOND);
    fake_reply(FAKE_EXPECT(&t.net, "POST", ""), 200, "{}");
    advance(0);
    CHECK(counted("perilune_trace_spans_sent_total") == 2);
    CHECK(counted("perilune_trace_spans_dropped_total") == 0);
    end();
    begin(0);
    run_ends("0000000000000000");
    advance(3 * PL_SECOND);
    CHECK_INT(t.net.start_count, 0);
    end();
}

TEST(a_stop_without_waiting_spans_ends_at_once)
{
    begin(1);
    finish();
    CHECK_INT(t.finished, 1);
    advance(10 * PL_SECOND);
    CHECK_INT(t.finished, 1);
    end();
}

TEST(a_stop_sends_what_waits)
{
    begin(1);
    run_ends(RUN_A);
    finish();
    struct fake_request *sent = FAKE_EXPECT(&t.net, "POST", "");
    CHECK_INT(t.finished, 0);
    fake_reply(sent, 200, "{}");
    advance(0);
    CHECK_INT(t.finished, 1);
    CHECK(counted("perilune_trace_spans_sent_total") == 1);
    end();
}

TEST(a_stop_waits_for_the_request_under_way_and_then_sends_the_rest)
{
    begin(1);
    run_ends(RUN_A);
    advance(2 * PL_SECOND);
    struct fake_request *first = FAKE_EXPECT(&t.net, "POST", "");
    run_ends(RUN_B);
    finish();
    CHECK_INT(t.net.start_count, 1);
    fake_fail(first, PL_ENETWORK, "ConnectionReset");
    advance(0);
    CHECK_INT(t.finished, 0);
    fake_reply(FAKE_EXPECT(&t.net, "POST", ""), 200, "{}");
    advance(0);
    CHECK_INT(t.finished, 1);
    CHECK_INT(t.net.start_count, 2);
    end();
}

TEST(a_stop_waits_two_seconds_at_most)
{
    begin(1);
    run_ends(RUN_A);
    advance(PL_SECOND); /* the timer of the next request is not the deadline */
    finish();
    struct fake_request *sent = FAKE_EXPECT(&t.net, "POST", "");
    advance(PL_SECOND);
    CHECK_INT(t.finished, 0);
    advance(PL_SECOND);
    CHECK_INT(t.finished, 1);
    fake_reply(sent, 200, "{}");
    advance(0);
    CHECK_INT(t.finished, 1);
    end();
}

TEST_MAIN()
