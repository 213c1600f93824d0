#include "support/fake_transport.h"

#include "support/test.h"
#include "support/virtual_clock.h"

struct seen {
    int status, done, code;
    char reason[64];
    struct pl_buf body;
    int body_verdict;
};

static void on_response(void *arg, const struct pl_http_response *response)
{
    ((struct seen *)arg)->status = response->status;
    CHECK_STR(pl_http_header(response, "content-type"), "application/json");
}

static int on_body(void *arg, struct pl_slice piece)
{
    pl_buf_add_slice(&((struct seen *)arg)->body, piece);
    return ((struct seen *)arg)->body_verdict;
}

static void on_done(void *arg, const struct pl_err *err)
{
    struct seen *seen = arg;
    seen->done++;
    seen->code = err != NULL ? err->code : 0;
    snprintf(seen->reason, sizeof seen->reason, "%s", err != NULL ? err->reason : "");
}

static const struct pl_http_ops ops = {on_response, on_body, on_done};

struct world {
    struct virtual_clock time;
    struct pl_timers timers;
    struct fake_transport net;
    struct pl_transport transport;
    struct seen seen;
};

static void set_up(struct world *world)
{
    memset(world, 0, sizeof *world);
    virtual_clock_init(&world->time, PL_SECOND);
    pl_timers_init(&world->timers, &world->time.clock);
    fake_transport_init(&world->net, &world->timers);
    world->transport = fake_transport(&world->net);
}

static void tear_down(struct world *world)
{
    fake_transport_deinit(&world->net);
    pl_timers_deinit(&world->timers);
    pl_buf_deinit(&world->seen.body);
}

static struct pl_http_call *start_get(struct world *world, struct pl_http_request request)
{
    request.method = "GET";
    if (request.url == NULL)
        request.url = "https://api:6443/api/v1/pods?limit=5&continue=a%2Fb+c";
    return world->transport.ops->start(world->transport.self, &request, &ops, &world->seen);
}

TEST(a_reply_reaches_the_caller_and_ends_the_request)
{
    struct world world;
    set_up(&world);
    start_get(&world, (struct pl_http_request){0});
    CHECK_INT(world.net.open_count, 1);
    struct fake_request *list = FAKE_EXPECT(&world.net, "GET", "/api/v1/pods?");
    struct pl_buf value = PL_BUF_INIT;
    CHECK(fake_query(list, "continue", &value));
    CHECK_STR(pl_buf_z(&value), "a/b c");
    CHECK(!fake_query(list, "watch", &value));
    pl_buf_deinit(&value);
    fake_reply(list, 201, "hello");
    CHECK_INT(world.seen.status, 201);
    CHECK_STR(pl_buf_z(&world.seen.body), "hello");
    CHECK_INT(world.seen.done, 1);
    CHECK_INT(world.seen.code, 0);
    CHECK_INT(world.net.open_count, 0);
    fake_reply(list, 200, "again");
    CHECK_INT(world.seen.done, 1);
    tear_down(&world);
}

TEST(a_cancel_is_told_later_and_silences_the_rest)
{
    struct world world;
    set_up(&world);
    struct pl_http_call *call = start_get(&world, (struct pl_http_request){0});
    struct fake_request *watch = FAKE_EXPECT(&world.net, "GET", "");
    fake_stream(watch, "one");
    world.transport.ops->cancel(world.transport.self, call);
    CHECK_INT(world.seen.done, 0);
    CHECK(watch->canceled);
    fake_stream(watch, "two");
    fake_end(watch);
    pl_timers_run(&world.timers);
    CHECK_INT(world.seen.done, 1);
    CHECK_INT(world.seen.code, PL_ECANCELED);
    CHECK_STR(pl_buf_z(&world.seen.body), "one");
    tear_down(&world);
}

TEST(timeouts_run_on_virtual_time)
{
    struct world world;
    set_up(&world);
    start_get(&world, (struct pl_http_request){.timeout_ms = 30000, .silence_ms = 20000});
    struct fake_request *request = FAKE_EXPECT(&world.net, "GET", "");
    world.time.now_ns += 15 * PL_SECOND;
    pl_timers_run(&world.timers);
    fake_stream(request, "x");
    world.time.now_ns += 14 * PL_SECOND;
    pl_timers_run(&world.timers);
    CHECK_INT(world.seen.done, 0);
    world.time.now_ns += 1 * PL_SECOND;
    pl_timers_run(&world.timers);
    pl_timers_run(&world.timers);
    CHECK_INT(world.seen.code, PL_ETIMEOUT);
    CHECK_STR(world.seen.reason, "");
    tear_down(&world);
}

static bool no(void *arg)
{
    PL_UNUSED(arg);
    return false;
}

TEST(a_request_that_may_not_be_sent_is_refused)
{
    struct world world;
    set_up(&world);
    start_get(&world, (struct pl_http_request){.may_send = no});
    CHECK(fake_next(&world.net) == NULL);
    CHECK_INT(world.seen.done, 0);
    pl_timers_run(&world.timers);
    CHECK_INT(world.seen.code, PL_EREFUSED);
    CHECK(fake_next(&world.net) == NULL);
    tear_down(&world);
}

TEST(failures_carry_code_and_reason)
{
    struct world world;
    set_up(&world);
    start_get(&world, (struct pl_http_request){0});
    fake_fail(fake_next(&world.net), PL_ENETWORK, "ConnectionReset");
    CHECK_INT(world.seen.code, PL_ENETWORK);
    CHECK_STR(world.seen.reason, "ConnectionReset");
    fake_transport_down(&world.net, PL_ENETWORK, "ConnectionRefused");
    start_get(&world, (struct pl_http_request){0});
    CHECK(fake_next(&world.net) == NULL);
    pl_timers_run(&world.timers);
    CHECK_INT(world.seen.done, 2);
    CHECK_STR(world.seen.reason, "ConnectionRefused");
    fake_transport_down(&world.net, 0, NULL);
    start_get(&world, (struct pl_http_request){0});
    CHECK(fake_next(&world.net) != NULL);
    tear_down(&world);
}

TEST(a_code_from_on_body_ends_the_request_with_it)
{
    struct world world;
    set_up(&world);
    start_get(&world, (struct pl_http_request){0});
    world.seen.body_verdict = PL_ELIMIT;
    struct fake_request *request = fake_next(&world.net);
    fake_reply(request, 200, "too much");
    CHECK_INT(world.seen.done, 0);
    pl_timers_run(&world.timers);
    CHECK_INT(world.seen.code, PL_ELIMIT);
    tear_down(&world);
}

TEST_MAIN()
