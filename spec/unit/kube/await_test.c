/* A client whose configuration is still being read: its operations wait for it. */
#include "kube/client.h"

#include "harness.h"

#define POD                                                                                        \
    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"namespace\":\"default\",\"name\":"    \
    "\"a\"}}"
#define TARGET "/api/v1/namespaces/default/pods/a"

struct awaiting {
    struct bench b;
    struct pl_kubeconfig found;
    struct got got;
};

static void set_up(struct awaiting *a)
{
    struct pl_err why;
    memset(a, 0, sizeof *a);
    bench_init(&a->b);
    a->found.source = pl_strdup("found");
    a->found.server = pl_strdup("https://elsewhere.example.com:1234/longer/prefix");
    pl_err_clear(&why);
    pl_err_set(&why, PL_ENETWORK, "edge.yaml has not been read yet");
    pl_client_await(a->b.client, &why);
}

static void tear_down(struct awaiting *a)
{
    bench_deinit(&a->b);
    pl_kubeconfig_deinit(&a->found);
}

static struct pl_op *ask(struct awaiting *a, struct got *got)
{
    struct pl_call call = get_call("a");
    return pl_client_start(a->b.client, &call, got_answer, got);
}

static void configure(struct awaiting *a)
{
    struct pl_err err;
    pl_err_clear(&err);
    CHECK_INT(pl_client_configure(a->b.client, &a->found, &err), 0);
}

TEST(an_operation_waits_and_goes_to_the_server_that_was_found)
{
    struct awaiting a;
    set_up(&a);
    ask(&a, &a.got);
    bench_run(&a.b, 5 * PL_SECOND);
    CHECK_INT(a.got.count, 0);
    CHECK_INT(a.b.net.start_count, 0);
    CHECK_INT(a.b.waits.count, 1);
    configure(&a);
    CHECK_INT(a.b.net.start_count, 0); /* not inside the call that configures */
    bench_run(&a.b, 0);
    struct fake_request *request = FAKE_EXPECT(&a.b.net, "GET", "/longer/prefix" TARGET);
    CHECK_STR(request->request.url, "https://elsewhere.example.com:1234/longer/prefix" TARGET);
    CHECK_INT(request->request.timeout_ms, 25000);
    fake_reply(request, 200, POD);
    CHECK_INT(a.got.count, 1);
    CHECK_INT(a.got.err.code, 0);
    tear_down(&a);
}

TEST(operations_that_wait_are_sent_in_their_order)
{
    struct awaiting a;
    struct pl_call call = get_call("b");
    struct got other = {0};
    set_up(&a);
    ask(&a, &a.got);
    pl_client_start(a.b.client, &call, got_answer, &other);
    configure(&a);
    bench_run(&a.b, 0);
    fake_reply(FAKE_EXPECT(&a.b.net, "GET", "/longer/prefix" TARGET), 200, POD);
    fake_reply(FAKE_EXPECT(&a.b.net, "GET", "/longer/prefix/api/v1/namespaces/default/pods/b"), 200,
               POD);
    CHECK_INT(a.got.count + other.count, 2);
    tear_down(&a);
}

TEST(an_operation_that_waits_ends_at_its_deadline)
{
    struct awaiting a;
    set_up(&a);
    ask(&a, &a.got);
    bench_run(&a.b, 29 * PL_SECOND);
    CHECK_INT(a.got.count, 0);
    bench_run(&a.b, 1 * PL_SECOND);
    CHECK_INT(a.got.count, 1);
    CHECK_INT(a.got.err.code, PL_ETIMEOUT);
    CHECK_STR(a.got.err.message, "edge.yaml has not been read yet");
    configure(&a);
    bench_run(&a.b, PL_SECOND);
    CHECK_INT(a.b.net.start_count, 0);
    tear_down(&a);
}

TEST(the_reason_why_nothing_was_found_ends_the_wait)
{
    struct awaiting a;
    struct pl_err why;
    set_up(&a);
    ask(&a, &a.got);
    pl_err_clear(&why);
    pl_err_set(&why, PL_ENETWORK, "edge.yaml: No such file or directory");
    pl_client_hold(a.b.client, &why);
    CHECK_INT(a.got.count, 0);
    bench_run(&a.b, 0);
    CHECK_INT(a.got.count, 1);
    CHECK_INT(a.got.err.code, PL_ENETWORK);
    CHECK_STR(a.got.err.message, "edge.yaml: No such file or directory");
    ask(&a, &a.got); /* nothing waits any more */
    bench_run(&a.b, 0);
    CHECK_INT(a.got.count, 2);
    CHECK_INT(a.b.net.start_count, 0);
    tear_down(&a);
}

TEST(an_operation_that_waits_can_be_cancelled)
{
    struct awaiting a;
    set_up(&a);
    struct pl_op *op = ask(&a, &a.got);
    pl_op_cancel(op);
    configure(&a);
    bench_run(&a.b, 60 * PL_SECOND);
    CHECK_INT(a.got.count, 1);
    CHECK_INT(a.got.err.code, PL_ECANCELED);
    CHECK_INT(a.b.net.start_count, 0);
    tear_down(&a);
}

TEST(the_end_of_the_client_ends_the_wait)
{
    struct awaiting a;
    set_up(&a);
    ask(&a, &a.got);
    tear_down(&a);
    CHECK_INT(a.got.count, 1);
    CHECK_INT(a.got.err.code, PL_ECANCELED);
}

/* Credentials are never sent to another server than their own. */
TEST(a_retry_after_a_change_goes_to_the_new_server)
{
    struct awaiting a;
    set_up(&a);
    configure(&a);
    ask(&a, &a.got);
    fake_reply_after(fake_next(&a.b.net), 503, "5", "busy");
    struct pl_kubeconfig moved = {.source = (char *)"moved", .server = (char *)"https://new:1"};
    struct pl_err err;
    pl_err_clear(&err);
    CHECK_INT(pl_client_configure(a.b.client, &moved, &err), 0);
    bench_run(&a.b, 5 * PL_SECOND);
    struct fake_request *request = fake_next(&a.b.net);
    CHECK_STR(request->request.url, "https://new:1" TARGET);
    fake_reply(request, 200, POD);
    CHECK_INT(a.got.count, 1);
    CHECK_INT(a.got.err.code, 0);
    tear_down(&a);
}

TEST_MAIN()
