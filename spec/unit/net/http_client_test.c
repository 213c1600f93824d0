#include "net/http_client.h"

#include "base/alloc.h"
#include "base/base.h"
#include "net/http_server.h"
#include "support/http_answer.h"
#include "support/test.h"
#include "support/turn.h"
#include "support/virtual_clock.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>

/* The client with the server of this layer, on one loop. */
struct world {
    struct pl_loop *loop;
    struct pl_server *server;
    struct pl_http_client *client;
    struct pl_transport transport;
    char url[128]; /* "http://127.0.0.1:port/" */
    int requests, closed;
    struct pl_exchange *held; /* by /hold, or the stream of /watch */
};

static void on_stream_closed(void *arg)
{
    struct world *world = arg;
    world->closed++;
    world->held = NULL;
}

static void echo(struct pl_exchange *exchange)
{
    struct pl_buf text = PL_BUF_INIT;
    const char *names[] = {"host",          "x-one",           "x-empty",
                           "authorization", "content-type",    "expect",
                           "user-agent",    "accept-encoding", "content-length"};
    pl_buf_add_f(&text, "%s %.*s?%.*s\n", pl_exchange_method(exchange),
                 PL_FMT(pl_exchange_path(exchange)), PL_FMT(pl_exchange_query(exchange)));
    for (size_t i = 0; i < PL_ARRAY_LEN(names); i++) {
        const char *value = pl_exchange_header(exchange, names[i]);
        if (value != NULL)
            pl_buf_add_f(&text, "%s: %s\n", names[i], value);
    }
    pl_buf_add_z(&text, "\n");
    pl_buf_add_slice(&text, pl_exchange_body(exchange));
    pl_exchange_reply(exchange, 200, "text/plain", pl_buf_slice(&text));
    pl_buf_deinit(&text);
}

/* Bytes of an upgraded client are sent back; "end" ends the connection, "abort" cuts it. */
static void on_said(void *arg, struct pl_slice bytes)
{
    struct world *world = arg;
    if (pl_slice_eqz(bytes, "abort"))
        pl_exchange_abort(world->held);
    else if (pl_slice_eqz(bytes, "end"))
        pl_exchange_end(world->held);
    else
        pl_exchange_write(world->held, bytes);
}

static void upgrade(struct world *world, struct pl_exchange *exchange)
{
    const struct pl_http_header header = {"Upgrade", pl_exchange_header(exchange, "upgrade")};
    world->held = exchange;
    pl_exchange_upgrade(exchange, &header, 1, on_said, on_stream_closed, world);
    pl_exchange_write(exchange, pl_slice_z("welcome "));
}

static void on_request(void *arg, struct pl_exchange *exchange)
{
    struct world *world = arg;
    struct pl_slice path = pl_exchange_path(exchange);
    world->requests++;
    if (pl_slice_eqz(path, "/hold")) {
        world->held = exchange;
    } else if (pl_slice_eqz(path, "/watch")) {
        world->held = exchange;
        pl_exchange_begin(exchange, 200, "application/json", on_stream_closed, world);
    } else if (pl_slice_eqz(path, "/big")) {
        char *big = pl_calloc(1, 1 << 20);
        pl_exchange_reply(exchange, 200, "application/json", pl_slice(big, 1 << 20));
        pl_free(big);
    } else if (pl_slice_eqz(path, "/redirect")) {
        struct pl_http_header headers[] = {{"Location", "/elsewhere"}, {"X-Two", " a  b "}};
        pl_exchange_reply_with(exchange, 302, headers, 2, pl_slice_z(""));
    } else if (pl_slice_eqz(path, "/upgrade")) {
        upgrade(world, exchange);
    } else {
        echo(exchange);
    }
}

static const struct pl_server_ops server_ops = {on_request};

static void set_up_with(struct world *world, const struct pl_clock *clock)
{
    struct pl_err err;
    memset(world, 0, sizeof *world);
    world->loop = pl_loop_create(clock);
    struct pl_server_options options = {.host = "127.0.0.1"};
    world->server = pl_server_create(world->loop, &options, &server_ops, world, &err);
    REQUIRE(world->server != NULL);
    world->client = pl_http_client_create(world->loop);
    world->transport = pl_http_client_transport(world->client);
    snprintf(world->url, sizeof world->url, "http://127.0.0.1:%d/", pl_server_port(world->server));
}

static void set_up(struct world *world)
{
    set_up_with(world, pl_clock_system());
}

static void tear_down(struct world *world)
{
    pl_http_client_destroy(world->client);
    pl_server_destroy(world->server);
    pl_loop_destroy(world->loop);
}

static struct pl_http_call *start(struct world *world, struct pl_http_request request,
                                  const char *path, struct http_answer *answer)
{
    char *url = strstr(path, "://") ? pl_strdup(path) : pl_format("%s%s", world->url, path + 1);
    request.url = url;
    if (request.method == NULL)
        request.method = "GET";
    struct pl_http_call *call =
        world->transport.ops->start(world->transport.self, &request, &http_answer_ops, answer);
    CHECK_INT(answer->done, 0);
    pl_free(url);
    return call;
}

static void cancel(struct world *world, struct pl_http_call *call)
{
    world->transport.ops->cancel(world->transport.self, call);
}

TEST(a_get_is_sent_plainly_and_answered)
{
    struct world world;
    struct http_answer answer = {0};
    set_up(&world);
    const struct pl_http_header headers[] = {{"X-One", "1"}, {"X-Empty", ""}};
    start(&world, (struct pl_http_request){.headers = headers, .header_count = 2},
          "/a%20b/../e?c=d%2F", &answer);
    TURN_UNTIL(world.loop, answer.done);
    CHECK_INT(answer.code, 0);
    CHECK_INT(answer.status, 200);
    char *want = pl_format("GET /a%%20b/../e?c=d%%2F\nhost: %.*s\nx-one: 1\nx-empty: \n\n",
                           (int)strlen(world.url) - 8, world.url + 7);
    CHECK_STR(pl_buf_z(&answer.body), want);
    CHECK(strstr(pl_buf_z(&answer.headers), "content-type: text/plain\ncontent-length: ") != NULL);
    pl_free(want);
    http_answer_deinit(&answer);
    tear_down(&world);
}

TEST(a_body_of_any_size_arrives_whole)
{
    struct world world;
    set_up(&world);
    const char *methods[] = {"POST", "PUT", "PATCH", "DELETE"};
    for (size_t i = 0; i < PL_ARRAY_LEN(methods); i++) {
        struct http_answer answer = {0};
        size_t size = (size_t)1 << (i * 7);
        char *body = pl_malloc(size);
        memset(body, 'x', size);
        const struct pl_http_header type = {"Content-Type", "application/json"};
        start(&world,
              (struct pl_http_request){.method = methods[i],
                                       .headers = &type,
                                       .header_count = 1,
                                       .body = pl_slice(body, size)},
              "/", &answer);
        pl_free(body); /* it was copied */
        TURN_UNTIL(world.loop, answer.done);
        CHECK_INT(answer.code, 0);
        const char *text = pl_buf_z(&answer.body), *echoed = strstr(text, "\n\n");
        REQUIRE(echoed != NULL);
        CHECK_INT(strlen(echoed + 2), size);
        CHECK(strstr(text, "content-type: application/json\n") != NULL);
        CHECK(strstr(text, "expect:") == NULL);
        CHECK(strncmp(text, methods[i], strlen(methods[i])) == 0);
        http_answer_deinit(&answer);
    }
    tear_down(&world);
}

TEST(an_empty_post_says_so_and_has_no_content_type)
{
    struct world world;
    struct http_answer answer = {0};
    set_up(&world);
    start(&world, (struct pl_http_request){.method = "POST"}, "/", &answer);
    TURN_UNTIL(world.loop, answer.done);
    CHECK(strstr(pl_buf_z(&answer.body), "content-length: 0\n") != NULL);
    CHECK(strstr(pl_buf_z(&answer.body), "content-type:") == NULL);
    http_answer_deinit(&answer);
    tear_down(&world);
}

TEST(head_has_headers_and_no_body)
{
    struct world world;
    struct http_answer answer = {0};
    set_up(&world);
    start(&world, (struct pl_http_request){.method = "HEAD"}, "/big", &answer);
    TURN_UNTIL(world.loop, answer.done);
    CHECK_INT(answer.code, 0);
    CHECK_INT(answer.responses, 1);
    CHECK(strstr(pl_buf_z(&answer.headers), "content-length: 1048576\n") != NULL);
    CHECK_INT(answer.body.len, 0);
    http_answer_deinit(&answer);
    tear_down(&world);
}

TEST(redirects_are_not_followed_and_header_values_are_trimmed)
{
    struct world world;
    struct http_answer answer = {0};
    set_up(&world);
    start(&world, (struct pl_http_request){0}, "/redirect", &answer);
    TURN_UNTIL(world.loop, answer.done);
    CHECK_INT(answer.status, 302);
    CHECK(strstr(pl_buf_z(&answer.headers), "location: /elsewhere\nx-two: a  b\n") != NULL);
    CHECK_INT(world.requests, 1);
    http_answer_deinit(&answer);
    tear_down(&world);
}

TEST(basic_auth_is_sent_at_once)
{
    struct world world;
    struct http_answer answer = {0};
    set_up(&world);
    start(&world, (struct pl_http_request){.user_password = "joe:s3c:ret"}, "/", &answer);
    TURN_UNTIL(world.loop, answer.done);
    CHECK(strstr(pl_buf_z(&answer.body), "authorization: Basic am9lOnMzYzpyZXQ=\n") != NULL);
    http_answer_deinit(&answer);
    tear_down(&world);
}

TEST(the_proxy_of_the_environment_is_not_used)
{
    struct world world;
    struct http_answer answer = {0};
    set_up(&world);
    setenv("http_proxy", "http://127.0.0.1:1", 1);
    setenv("all_proxy", "http://127.0.0.1:1", 1);
    start(&world, (struct pl_http_request){0}, "/", &answer);
    TURN_UNTIL(world.loop, answer.done);
    unsetenv("http_proxy");
    unsetenv("all_proxy");
    CHECK_INT(answer.code, 0);
    http_answer_deinit(&answer);
    tear_down(&world);
}

/* curl's message quotes the invalid input. */
TEST(a_proxy_s_password_is_in_no_error)
{
    static const char *const proxies[] = {"http://me:hunter2@[bad", "http://me:hunter2@127.0.0.1:x",
                                          "http://me:hunter2@127.0.0.1:1", "ftp://me:hunter2@a"};
    for (size_t i = 0; i < PL_ARRAY_LEN(proxies); i++) {
        struct world world;
        struct http_answer answer = {0};
        set_up(&world);
        start(&world, (struct pl_http_request){.proxy = proxies[i]}, "/", &answer);
        TURN_UNTIL(world.loop, answer.done);
        CHECK(answer.code != 0);
        if (strstr(answer.err.message, "hunter2") != NULL)
            TEST_FAIL("%s", answer.err.message);
        http_answer_deinit(&answer);
        tear_down(&world);
    }
}

TEST(a_stream_arrives_piece_by_piece_and_ends)
{
    struct world world;
    struct http_answer answer = {0};
    set_up(&world);
    start(&world, (struct pl_http_request){0}, "/watch", &answer);
    TURN_UNTIL(world.loop, answer.responses);
    CHECK_INT(answer.pieces, 0);
    pl_exchange_write(world.held, pl_slice_z("one\n"));
    TURN_UNTIL(world.loop, answer.pieces == 1);
    pl_exchange_write(world.held, pl_slice_z("two\n"));
    TURN_UNTIL(world.loop, answer.pieces == 2);
    CHECK_STR(pl_buf_z(&answer.body), "one\ntwo\n");
    CHECK_INT(answer.done, 0);
    pl_exchange_end(world.held);
    TURN_UNTIL(world.loop, answer.done);
    CHECK_INT(answer.code, 0);
    CHECK_INT(world.closed, 0);
    http_answer_deinit(&answer);
    tear_down(&world);
}

TEST(a_stream_cut_in_the_middle_is_a_connection_reset)
{
    struct world world;
    struct http_answer answer = {0};
    set_up(&world);
    start(&world, (struct pl_http_request){0}, "/watch", &answer);
    TURN_UNTIL(world.loop, answer.responses);
    pl_exchange_write(world.held, pl_slice_z("half"));
    TURN_UNTIL(world.loop, answer.pieces == 1);
    pl_exchange_abort(world.held);
    TURN_UNTIL(world.loop, answer.done);
    CHECK_INT(answer.code, PL_ENETWORK);
    CHECK_STR(answer.err.reason, "ConnectionReset");
    CHECK_INT(world.closed, 0);
    http_answer_deinit(&answer);
    tear_down(&world);
}

TEST(an_aborted_request_is_a_connection_reset)
{
    struct world world;
    struct http_answer answer = {0};
    set_up(&world);
    start(&world, (struct pl_http_request){.fresh_connection = true}, "/hold", &answer);
    TURN_UNTIL(world.loop, world.held);
    pl_exchange_abort(world.held);
    TURN_UNTIL(world.loop, answer.done);
    CHECK_INT(answer.code, PL_ENETWORK);
    CHECK_STR(answer.err.reason, "ConnectionReset");
    CHECK(strstr(answer.err.message, "127.0.0.1:") != NULL);
    http_answer_deinit(&answer);
    tear_down(&world);
}

TEST(a_cancel_is_told_later_once_and_reaches_the_server)
{
    struct world world;
    struct http_answer answer = {0};
    set_up(&world);
    struct pl_http_call *call = start(&world, (struct pl_http_request){0}, "/watch", &answer);
    TURN_UNTIL(world.loop, answer.responses);
    cancel(&world, call);
    cancel(&world, call);
    CHECK_INT(answer.done, 0);
    pl_exchange_write(world.held, pl_slice_z("unheard"));
    TURN_UNTIL(world.loop, answer.done);
    CHECK_INT(answer.code, PL_ECANCELED);
    CHECK_INT(answer.pieces, 0);
    TURN_UNTIL(world.loop, world.closed == 1);
    http_answer_deinit(&answer);
    tear_down(&world);
}

TEST(a_request_canceled_at_once_is_never_sent)
{
    struct world world;
    struct http_answer answer = {0}, other = {0};
    set_up(&world);
    cancel(&world, start(&world, (struct pl_http_request){0}, "/", &answer));
    start(&world, (struct pl_http_request){0}, "/", &other);
    TURN_UNTIL(world.loop, answer.done && other.done);
    CHECK_INT(answer.code, PL_ECANCELED);
    CHECK_INT(world.requests, 1);
    http_answer_deinit(&answer);
    http_answer_deinit(&other);
    tear_down(&world);
}

struct crossing {
    struct world *world;
    struct pl_http_call *other, *self;
    struct http_answer *third;
};

static void cancel_other_and_start_third(struct http_answer *answer)
{
    struct crossing *crossing = answer->arg;
    if (answer->pieces != 1)
        return;
    cancel(crossing->world, crossing->other);
    cancel(crossing->world, crossing->self);
    start(crossing->world, (struct pl_http_request){0}, "/", crossing->third);
}

TEST(a_body_callback_may_cancel_itself_and_others_and_start_more)
{
    struct world world;
    struct http_answer a = {0}, b = {0}, c = {0};
    set_up(&world);
    struct crossing crossing = {.world = &world, .third = &c};
    a.on_piece = cancel_other_and_start_third;
    a.arg = &crossing;
    crossing.other = start(&world, (struct pl_http_request){0}, "/watch", &b);
    TURN_UNTIL(world.loop, b.responses);
    crossing.self = start(&world, (struct pl_http_request){0}, "/big", &a);
    TURN_UNTIL(world.loop, a.done && b.done && c.done);
    CHECK_INT(a.code, PL_ECANCELED);
    CHECK_INT(a.pieces, 1);
    CHECK_INT(b.code, PL_ECANCELED);
    CHECK_INT(c.code, 0);
    TURN_UNTIL(world.loop, world.closed == 1);
    http_answer_deinit(&a);
    http_answer_deinit(&b);
    http_answer_deinit(&c);
    tear_down(&world);
}

TEST(what_on_body_says_ends_the_request_with_that_code)
{
    struct world world;
    struct http_answer answer = {.body_verdict = PL_ESYNTAX};
    set_up(&world);
    start(&world, (struct pl_http_request){0}, "/big", &answer);
    TURN_UNTIL(world.loop, answer.done);
    CHECK_INT(answer.code, PL_ESYNTAX);
    CHECK_INT(answer.pieces, 1);
    http_answer_deinit(&answer);
    tear_down(&world);
}

TEST(a_response_over_its_limit_is_cut)
{
    struct world world;
    struct http_answer answer = {0}, exact = {0};
    set_up(&world);
    start(&world, (struct pl_http_request){.max_response = (1 << 20) - 1}, "/big", &answer);
    start(&world, (struct pl_http_request){.max_response = 1 << 20}, "/big", &exact);
    TURN_UNTIL(world.loop, answer.done && exact.done);
    CHECK_INT(answer.code, PL_ELIMIT);
    CHECK(answer.body.len < 1 << 20);
    CHECK_INT(exact.code, 0);
    CHECK_INT(exact.body.len, 1 << 20);
    http_answer_deinit(&answer);
    http_answer_deinit(&exact);
    tear_down(&world);
}

TEST(the_whole_request_has_a_deadline)
{
    struct world world;
    struct http_answer answer = {0};
    set_up(&world);
    start(&world, (struct pl_http_request){.timeout_ms = 400}, "/hold", &answer);
    TURN_UNTIL(world.loop, answer.done);
    CHECK_INT(answer.code, PL_ETIMEOUT);
    CHECK_STR(answer.err.reason, "Timeout");
    REQUIRE(world.held != NULL);
    pl_exchange_reply(world.held, 200, "text/plain", pl_slice_z("too late"));
    http_answer_deinit(&answer);
    tear_down(&world);
}

TEST(silence_ends_a_stream_but_pieces_keep_it_going)
{
    struct world world;
    struct virtual_clock time;
    struct http_answer answer = {0};
    virtual_clock_init(&time, PL_SECOND);
    set_up_with(&world, &time.clock);
    start(&world, (struct pl_http_request){.silence_ms = 60000}, "/watch", &answer);
    TURN_UNTIL(world.loop, answer.responses);
    for (int i = 1; i <= 5; i++) {
        time.now_ns += 59 * PL_SECOND;
        pl_loop_turn(world.loop, 0);
        pl_loop_turn(world.loop, 0);
        CHECK_INT(answer.done, 0);
        pl_exchange_write(world.held, pl_slice_z("."));
        TURN_UNTIL(world.loop, answer.pieces == i);
    }
    time.now_ns += 60 * PL_SECOND;
    TURN_UNTIL(world.loop, answer.done);
    CHECK_INT(answer.code, PL_ETIMEOUT);
    CHECK_STR(answer.err.reason, "Silence");
    http_answer_deinit(&answer);
    tear_down(&world);
}

struct permission {
    int asked, allowed;
};

static bool ask(void *arg)
{
    struct permission *permission = arg;
    return permission->asked++ < permission->allowed;
}

TEST(a_request_that_may_not_be_sent_never_reaches_the_server)
{
    struct world world;
    struct http_answer answer = {0};
    struct permission never = {0};
    set_up(&world);
    start(&world,
          (struct pl_http_request){
              .method = "POST", .body = pl_slice_z("{}"), .may_send = ask, .may_send_arg = &never},
          "/", &answer);
    TURN_UNTIL(world.loop, answer.done);
    CHECK_INT(answer.code, PL_EREFUSED);
    CHECK_INT(never.asked, 1);
    pl_loop_turn(world.loop, 0);
    CHECK_INT(world.requests, 0);
    http_answer_deinit(&answer);
    tear_down(&world);
}

TEST(a_small_body_leaves_in_one_piece_with_the_head)
{
    struct world world;
    struct http_answer answer = {0};
    struct permission once = {.allowed = 1};
    set_up(&world);
    start(&world,
          (struct pl_http_request){
              .method = "PATCH", .body = pl_slice_z("{}"), .may_send = ask, .may_send_arg = &once},
          "/", &answer);
    TURN_UNTIL(world.loop, answer.done);
    CHECK_INT(answer.code, 0);
    CHECK_INT(once.asked, 1);
    CHECK(strstr(pl_buf_z(&answer.body), "content-length: 2\n\n{}") != NULL);
    http_answer_deinit(&answer);
    tear_down(&world);
}

TEST(permission_is_asked_again_before_each_piece_of_the_body)
{
    struct world world;
    struct http_answer answer = {0}, second = {0};
    struct permission twice = {.allowed = 3}, always = {.allowed = 1000};
    set_up(&world);
    char *body = pl_calloc(1, 1 << 20);
    struct pl_http_request request = {
        .method = "POST", .body = pl_slice(body, 1 << 20), .may_send = ask, .may_send_arg = &twice};
    start(&world, request, "/", &answer);
    request.may_send_arg = &always;
    start(&world, request, "/", &second);
    TURN_UNTIL(world.loop, answer.done && second.done);
    CHECK_INT(answer.code, PL_EREFUSED);
    CHECK_INT(twice.asked, 4);
    CHECK_INT(second.code, 0);
    CHECK(always.asked >= 16);
    CHECK_INT(world.requests, 1);
    pl_free(body);
    http_answer_deinit(&answer);
    http_answer_deinit(&second);
    tear_down(&world);
}

TEST(a_refused_connection_says_so)
{
    struct world world;
    struct http_answer answer = {0};
    set_up(&world);
    int port;
    close(raw_listen(1, &port));
    char *url = pl_format("http://127.0.0.1:%d/", port);
    start(&world, (struct pl_http_request){0}, url, &answer);
    TURN_UNTIL(world.loop, answer.done);
    CHECK_INT(answer.code, PL_ENETWORK);
    CHECK_STR(answer.err.reason, "ConnectionRefused");
    CHECK(strstr(answer.err.message, url + 7 + 10) != NULL ||
          strstr(answer.err.message, "127.0.0.1"));
    pl_free(url);
    http_answer_deinit(&answer);
    tear_down(&world);
}

TEST(a_name_without_an_address_is_a_dns_failure)
{
    struct world world;
    struct http_answer answer = {0};
    set_up(&world);
    start(&world, (struct pl_http_request){0}, "http://nowhere.invalid/", &answer);
    TURN_UNTIL(world.loop, answer.done);
    CHECK_INT(answer.code, PL_ENETWORK);
    CHECK_STR(answer.err.reason, "DNS");
    CHECK(strstr(answer.err.message, "nowhere.invalid") != NULL);
    http_answer_deinit(&answer);
    tear_down(&world);
}

TEST(many_tls_requests_to_a_peer_that_says_nothing_all_give_up_at_the_same_time)
{
    struct world world;
    struct virtual_clock time;
    struct http_answer answers[5] = {0};
    virtual_clock_init(&time, PL_SECOND);
    set_up_with(&world, &time.clock);
    int port, fd = raw_listen(16, &port);
    char *url = pl_format("https://127.0.0.1:%d/", port);
    for (int i = 0; i < 5; i++)
        start(&world, (struct pl_http_request){0}, url, &answers[i]);
    for (int i = 0; i < 5; i++)
        pl_loop_turn(world.loop, 1);
    time.now_ns += 10 * PL_SECOND - 1;
    pl_loop_turn(world.loop, 1);
    for (int i = 0; i < 5; i++)
        CHECK_INT(answers[i].done, 0);
    /* They wait for one connection at the same time, not one after the other. */
    time.now_ns += 1;
    for (int i = 0; i < 5; i++) {
        TURN_UNTIL(world.loop, answers[i].done);
        CHECK_INT(answers[i].code, PL_ETIMEOUT);
        CHECK_STR(answers[i].err.reason, "ConnectTimeout");
        http_answer_deinit(&answers[i]);
    }
    close(fd);
    pl_free(url);
    tear_down(&world);
}

/* ---- a server of the test's own, byte by byte ---- */

struct stage {
    struct world world;
    int listener, port, accepted;
    struct raw_peer peer; /* the last connection */
    struct http_answer answer;
    char url[64];
};

static void stage_up(struct stage *stage)
{
    memset(stage, 0, sizeof *stage);
    set_up(&stage->world);
    stage->listener = raw_listen(16, &stage->port);
    stage->peer.fd = -1;
    snprintf(stage->url, sizeof stage->url, "http://127.0.0.1:%d/", stage->port);
}

static void stage_down(struct stage *stage)
{
    http_answer_deinit(&stage->answer);
    raw_close(&stage->peer);
    close(stage->listener);
    tear_down(&stage->world);
}

/* Starts a request and forgets the answer to the last one. */
static void ask_stage(struct stage *stage, struct pl_http_request request)
{
    http_answer_deinit(&stage->answer);
    memset(&stage->answer, 0, sizeof stage->answer);
    start(&stage->world, request, stage->url, &stage->answer);
}

static bool has_request(struct stage *stage, const char *end)
{
    int fd = accept4(stage->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) {
        raw_close(&stage->peer);
        stage->peer = (struct raw_peer){.fd = fd};
        stage->accepted++;
    }
    return stage->peer.fd >= 0 && raw_got(&stage->peer, end);
}

/* Waits for a request that ends with this text, and answers with these bytes. */
static void play(struct stage *stage, const char *end, const char *answer)
{
    fcntl(stage->listener, F_SETFL, O_NONBLOCK);
    TURN_UNTIL(stage->world.loop, has_request(stage, end));
    pl_buf_clear(&stage->peer.got);
    raw_send(&stage->peer, answer);
}

static void hang_up(struct stage *stage)
{
    shutdown(stage->peer.fd, SHUT_RDWR);
    pl_buf_clear(&stage->peer.got);
}

#define OK_EMPTY "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

TEST(connections_are_reused_within_a_lane_only)
{
    struct stage stage;
    const struct {
        struct pl_http_request request;
        bool forget;
        int connections;
    } steps[] = {
        {{.lane = 0}, false, 1}, {{.lane = 0}, false, 1},
        {{.lane = 1}, false, 2}, {{.fresh_connection = true}, false, 3},
        {{.lane = 0}, false, 3}, {{.lane = 0}, true, 4},
    };
    stage_up(&stage);
    for (size_t i = 0; i < PL_ARRAY_LEN(steps); i++) {
        if (steps[i].forget)
            pl_http_client_forget_connections(stage.world.client);
        ask_stage(&stage, steps[i].request);
        play(&stage, "\r\n\r\n", OK_EMPTY);
        TURN_UNTIL(stage.world.loop, stage.answer.done);
        CHECK_INT(stage.answer.code, 0);
        CHECK_INT(stage.accepted, steps[i].connections);
    }
    stage_down(&stage);
}

/* Fault test F17: an idle connection of the same age may be dead, too. */
TEST(after_a_timeout_no_request_goes_to_an_older_connection)
{
    struct stage stage;
    stage_up(&stage);
    ask_stage(&stage, (struct pl_http_request){0});
    play(&stage, "\r\n\r\n", OK_EMPTY);
    TURN_UNTIL(stage.world.loop, stage.answer.done);
    struct raw_peer first = stage.peer; /* stays open */
    stage.peer = (struct raw_peer){.fd = -1};
    ask_stage(&stage, (struct pl_http_request){.timeout_ms = 400, .fresh_connection = true});
    TURN_UNTIL(stage.world.loop, has_request(&stage, "\r\n\r\n"));
    TURN_UNTIL(stage.world.loop, stage.answer.done);
    CHECK_INT(stage.answer.code, PL_ETIMEOUT);
    pl_buf_clear(&stage.peer.got);
    ask_stage(&stage, (struct pl_http_request){0});
    play(&stage, "\r\n\r\n", OK_EMPTY);
    TURN_UNTIL(stage.world.loop, stage.answer.done);
    CHECK_INT(stage.answer.code, 0);
    CHECK_INT(stage.accepted, 3);
    raw_close(&first);
    stage_down(&stage);
}

TEST(a_connection_that_ends_between_two_requests_is_not_used_again)
{
    struct stage stage;
    stage_up(&stage);
    for (int round = 0; round < 4; round++) {
        /* The second request of a round uses the connection in the state in which it was left. */
        for (int i = 0; i < 2; i++) {
            ask_stage(&stage, (struct pl_http_request){.method = "POST", .body = pl_slice_z("{}")});
            play(&stage, "{}", OK_EMPTY);
            TURN_UNTIL(stage.world.loop, stage.answer.done);
            CHECK_INT(stage.answer.code, 0);
            pl_buf_clear(&stage.peer.got);
        }
        CHECK_INT(stage.accepted, round + 1);
        hang_up(&stage);
        if (round % 2 == 0) /* the loop or curl notices it first */
            pl_loop_turn(stage.world.loop, 10);
    }
    stage_down(&stage);
}

TEST(a_get_on_a_connection_that_died_is_sent_again_a_post_is_not)
{
    struct stage stage;
    stage_up(&stage);
    ask_stage(&stage, (struct pl_http_request){0});
    play(&stage, "\r\n\r\n", OK_EMPTY);
    TURN_UNTIL(stage.world.loop, stage.answer.done);
    ask_stage(&stage, (struct pl_http_request){0});
    TURN_UNTIL(stage.world.loop, has_request(&stage, "\r\n\r\n"));
    hang_up(&stage); /* no answer: the server may have died before it read */
    play(&stage, "\r\n\r\n", OK_EMPTY);
    TURN_UNTIL(stage.world.loop, stage.answer.done);
    CHECK_INT(stage.answer.code, 0);
    CHECK_INT(stage.accepted, 2);
    ask_stage(&stage, (struct pl_http_request){.method = "POST", .body = pl_slice_z("{}")});
    TURN_UNTIL(stage.world.loop, has_request(&stage, "{}"));
    hang_up(&stage); /* it may have done it, too */
    TURN_UNTIL(stage.world.loop, stage.answer.done);
    CHECK_INT(stage.answer.code, PL_ENETWORK);
    CHECK_STR(stage.answer.err.reason, "ConnectionReset");
    CHECK_INT(stage.accepted, 2);
    stage_down(&stage);
}

TEST(a_small_body_is_sent_again_whole_where_its_method_may_be)
{
    struct stage stage;
    stage_up(&stage);
    ask_stage(&stage, (struct pl_http_request){0});
    play(&stage, "\r\n\r\n", OK_EMPTY);
    TURN_UNTIL(stage.world.loop, stage.answer.done);
    ask_stage(&stage, (struct pl_http_request){.method = "PUT", .body = pl_slice_z("{\"a\":1}")});
    TURN_UNTIL(stage.world.loop, has_request(&stage, "\r\n\r\n{\"a\":1}"));
    hang_up(&stage);
    play(&stage, "\r\n\r\n{\"a\":1}", OK_EMPTY);
    TURN_UNTIL(stage.world.loop, stage.answer.done);
    CHECK_INT(stage.answer.code, 0);
    CHECK_INT(stage.accepted, 2);
    stage_down(&stage);
}

TEST(permission_is_asked_again_when_a_request_is_sent_again)
{
    struct stage stage;
    struct permission once = {.allowed = 1};
    stage_up(&stage);
    ask_stage(&stage, (struct pl_http_request){0});
    play(&stage, "\r\n\r\n", OK_EMPTY);
    TURN_UNTIL(stage.world.loop, stage.answer.done);
    ask_stage(&stage,
              (struct pl_http_request){.method = "DELETE", .may_send = ask, .may_send_arg = &once});
    TURN_UNTIL(stage.world.loop, has_request(&stage, "\r\n\r\n"));
    hang_up(&stage);
    TURN_UNTIL(stage.world.loop, stage.answer.done);
    CHECK_INT(stage.answer.code, PL_EREFUSED);
    CHECK_INT(once.asked, 2);
    stage_down(&stage);
}

TEST(interim_answers_and_trailers_are_not_the_answer)
{
    struct stage stage;
    stage_up(&stage);
    ask_stage(&stage, (struct pl_http_request){0});
    play(&stage, "\r\n\r\n",
         "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nA-B:  c \r\nEMPTY:\r\n"
         "Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nTrailer: t\r\n\r\n");
    TURN_UNTIL(stage.world.loop, stage.answer.done);
    CHECK_INT(stage.answer.code, 0);
    CHECK_INT(stage.answer.responses, 1);
    CHECK_INT(stage.answer.status, 200);
    CHECK_STR(pl_buf_z(&stage.answer.headers), "a-b: c\nempty: \ntransfer-encoding: chunked\n");
    CHECK_STR(pl_buf_z(&stage.answer.body), "hi");
    stage_down(&stage);
}

TEST(a_chunk_cut_short_gives_what_came_and_then_a_reset)
{
    struct stage stage;
    stage_up(&stage);
    ask_stage(&stage, (struct pl_http_request){0});
    play(&stage, "\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab");
    TURN_UNTIL(stage.world.loop, stage.answer.body.len == 2);
    hang_up(&stage);
    TURN_UNTIL(stage.world.loop, stage.answer.done);
    CHECK_INT(stage.answer.code, PL_ENETWORK);
    CHECK_STR(stage.answer.err.reason, "ConnectionReset");
    stage_down(&stage);
}

TEST(an_answer_may_come_byte_by_byte)
{
    struct stage stage;
    stage_up(&stage);
    ask_stage(&stage, (struct pl_http_request){0});
    play(&stage, "\r\n\r\n", "");
    const char *text =
        "HTTP/1.1 200 OK\r\nX: y\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    for (const char *p = text; *p != '\0'; p++) {
        raw_send_bytes(&stage.peer, p, 1);
        pl_loop_turn(stage.world.loop, 0);
    }
    TURN_UNTIL(stage.world.loop, stage.answer.done);
    CHECK_INT(stage.answer.code, 0);
    CHECK_STR(pl_buf_z(&stage.answer.body), "abc");
    stage_down(&stage);
}

enum { ENDLESS = 48 << 20 };

/* A server that is faster than the reader. */
static void *pour(void *arg)
{
    const struct stage *stage = arg;
    static const char bytes[1 << 16];
    fcntl(stage->peer.fd, F_SETFL, 0);
    for (size_t left = ENDLESS; left > 0; left -= sizeof bytes)
        REQUIRE(send(stage->peer.fd, bytes, sizeof bytes, MSG_NOSIGNAL) == sizeof bytes);
    return NULL;
}

static void read_slowly(struct http_answer *answer)
{
    volatile uint64_t sum = 0;
    for (int round = 0; round < 8; round++) {
        for (size_t i = 0; i < answer->body.len; i++)
            sum += (uint8_t)answer->body.ptr[i];
    }
    pl_buf_clear(&answer->body);
}

TEST(a_long_answer_lets_the_loop_turn)
{
    struct stage stage;
    pthread_t thread;
    stage_up(&stage);
    ask_stage(&stage, (struct pl_http_request){0});
    stage.answer.on_piece = read_slowly;
    char *head = pl_format("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", ENDLESS);
    play(&stage, "\r\n\r\n", head);
    REQUIRE(pthread_create(&thread, NULL, pour, &stage) == 0);
    int turns = 0;
    for (; stage.answer.done == 0; turns++)
        pl_loop_turn(stage.world.loop, 1000);
    CHECK_INT(stage.answer.code, 0);
    CHECK(turns >= 10);
    pthread_join(thread, NULL);
    pl_free(head);
    stage_down(&stage);
}

TEST(headers_without_end_are_over_a_limit)
{
    struct stage stage;
    struct pl_buf head = PL_BUF_INIT;
    stage_up(&stage);
    ask_stage(&stage, (struct pl_http_request){0});
    play(&stage, "\r\n\r\n", "HTTP/1.1 200 OK\r\n");
    for (int i = 0; i < 1000; i++)
        pl_buf_add_z(&head,
                     "X-Filler: "
                     "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\r\n");
    for (int i = 0; i < 10 && !stage.answer.done; i++) {
        (void)!send(stage.peer.fd, head.ptr, head.len, MSG_NOSIGNAL);
        for (int turn = 0; turn < 5; turn++)
            pl_loop_turn(stage.world.loop, 1);
    }
    TURN_UNTIL(stage.world.loop, stage.answer.done);
    CHECK_INT(stage.answer.code, PL_ELIMIT);
    CHECK_INT(stage.answer.responses, 0);
    pl_buf_deinit(&head);
    stage_down(&stage);
}

TEST(an_answer_before_the_body_is_sent_ends_the_sending)
{
    struct stage stage;
    size_t size = 64 << 20;
    char *body = pl_calloc(1, size);
    stage_up(&stage);
    ask_stage(&stage, (struct pl_http_request){.method = "POST", .body = pl_slice(body, size)});
    pl_free(body);
    fcntl(stage.listener, F_SETFL, O_NONBLOCK);
    struct pl_buf *got = &stage.peer.got;
    while (!has_request(&stage, "\r\n\r\n"))
        pl_loop_turn(stage.world.loop, 1);
    raw_send(&stage.peer, "HTTP/1.1 413 Payload Too Large\r\nContent-Length: 3\r\n\r\nbig");
    TURN_UNTIL(stage.world.loop, stage.answer.done);
    CHECK_INT(stage.answer.code, 0);
    CHECK_INT(stage.answer.status, 413);
    CHECK_STR(pl_buf_z(&stage.answer.body), "big");
    CHECK(got->len < size);
    stage_down(&stage);
}

TEST(a_unix_socket_is_connected_to_when_named)
{
    char dir[] = "/tmp/perilune-test-XXXXXX";
    struct world world;
    struct http_answer answer = {0};
    struct pl_err err;
    set_up(&world);
    REQUIRE(mkdtemp(dir) != NULL);
    char *path = pl_format("%s/admin.sock", dir);
    struct pl_server_options options = {.unix_path = path};
    struct pl_server *admin = pl_server_create(world.loop, &options, &server_ops, &world, &err);
    REQUIRE(admin != NULL);
    start(&world, (struct pl_http_request){.unix_socket = path}, "http://perilune/x", &answer);
    TURN_UNTIL(world.loop, answer.done);
    CHECK_INT(answer.code, 0);
    CHECK(strstr(pl_buf_z(&answer.body), "GET /x?\nhost: perilune\n") != NULL);
    pl_server_destroy(admin);
    pl_loop_turn(world.loop, 0);
    rmdir(dir);
    pl_free(path);
    http_answer_deinit(&answer);
    tear_down(&world);
}

TEST(a_peer_that_does_not_speak_http_is_an_error)
{
    struct world world;
    struct http_answer answer = {0};
    set_up(&world);
    int port, fd = raw_listen(16, &port);
    char *url = pl_format("http://127.0.0.1:%d/", port);
    start(&world, (struct pl_http_request){0}, url, &answer);
    for (int i = 0; i < 5; i++)
        pl_loop_turn(world.loop, 1);
    int peer = accept(fd, NULL, NULL);
    REQUIRE(write(peer, "SSH-2.0-x\r\n", 11) == 11);
    close(peer);
    TURN_UNTIL(world.loop, answer.done);
    CHECK_INT(answer.code, PL_ENETWORK);
    CHECK_INT(answer.responses, 0);
    close(fd);
    pl_free(url);
    http_answer_deinit(&answer);
    tear_down(&world);
}

TEST(malformed_requests_fail_without_being_sent)
{
    struct world world;
    set_up(&world);
    const struct pl_http_header split = {"X-A", "b\r\nX-C: d"}, name = {"X A", "b"},
                                length = {"content-length", "3"},
                                chunks = {"Transfer-Encoding", "chunked"};
    const struct {
        struct pl_http_request request;
        const char *url;
    } cases[] = {
        {{.method = "GET"}, "ht!tp://x/"},
        {{.method = "G ET"}, "/"},
        {{.method = "GET"}, "/a\r\nX: b"},
        {{.method = "GET"}, "/a HTTP/1.1\r\n\r\n"},
        {{.headers = &split, .header_count = 1}, "/"},
        {{.headers = &name, .header_count = 1}, "/"},
        {{.headers = &length, .header_count = 1}, "/"},
        {{.method = "POST", .body = pl_slice_z("abc"), .headers = &chunks, .header_count = 1}, "/"},
        {{.lane = PL_HTTP_LANES}, "/"},
        {{.method = "GET"}, "ftp://127.0.0.1/"},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        struct http_answer answer = {0};
        start(&world, cases[i].request, cases[i].url, &answer);
        TURN_UNTIL(world.loop, answer.done);
        CHECK(answer.code != 0);
        CHECK(answer.err.message[0] != '\0');
        http_answer_deinit(&answer);
    }
    CHECK_INT(world.requests, 0);
    tear_down(&world);
}

TEST(a_malformed_url_is_quoted_without_its_secrets)
{
    struct world world;
    set_up(&world);
    static const struct {
        const char *url, *quoted;
    } cases[] = {
        {"http:///x", "\"http:///x\""},
        {"http://a:99999/y", "\"http://a:99999\""},
        {"https://?token=hidden", "\"https://\": the URL names no host"},
        {"http://a:b?token=hidden", "\"http://a:b\""},
        {"http://me:hidden-word@:1:2/", "\"http://<14 bytes>@:1:2\""},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        struct http_answer answer = {0};
        start(&world, (struct pl_http_request){.method = "GET"}, cases[i].url, &answer);
        TURN_UNTIL(world.loop, answer.done);
        CHECK_INT(answer.code, PL_EINVAL);
        if (strstr(answer.err.message, cases[i].quoted) == NULL ||
            strstr(answer.err.message, "hidden") != NULL)
            TEST_FAIL("not %s: %s", cases[i].quoted, answer.err.message);
        http_answer_deinit(&answer);
    }
    CHECK_INT(world.requests, 0);
    tear_down(&world);
}

TEST(texts_that_curl_would_refuse_are_refused_before_it)
{
    struct world world;
    set_up(&world);
    char *text = pl_malloc(9000001);
    memset(text, 'a', 9000000);
    text[9000000] = '\0';
    text[0] = '/';
    const struct pl_tls_options ca = {.ca_pem = text}, name = {.server_name = text + 1};
    const struct pl_http_request cases[] = {
        {.method = "GET"},
        {.method = text + 1},
        {.method = "GET", .tls = &ca},
        {.method = "GET", .tls = &name},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        struct http_answer answer = {0};
        start(&world, cases[i], i == 0 ? text : "/", &answer);
        TURN_UNTIL(world.loop, answer.done);
        CHECK_INT(answer.code, PL_ELIMIT);
        CHECK(strstr(answer.err.message, "it may have") != NULL);
        http_answer_deinit(&answer);
    }
    CHECK_INT(world.requests, 0);
    pl_free(text);
    tear_down(&world);
}

TEST(many_requests_at_once_are_all_answered)
{
    struct world world;
    struct http_answer *answers = pl_calloc(200, sizeof *answers);
    set_up(&world);
    for (int i = 0; i < 200; i++)
        start(&world, (struct pl_http_request){.lane = i % PL_HTTP_LANES}, "/", &answers[i]);
    for (int i = 0; i < 200; i++) {
        TURN_UNTIL(world.loop, answers[i].done);
        CHECK_INT(answers[i].code, 0);
        http_answer_deinit(&answers[i]);
    }
    CHECK_INT(world.requests, 200);
    pl_free(answers);
    tear_down(&world);
}

static int open_descriptors(void)
{
    int count = 0;
    DIR *dir = opendir("/proc/self/fd");
    REQUIRE(dir != NULL);
    while (readdir(dir) != NULL)
        count++;
    closedir(dir);
    return count;
}

/* F8: refused, cut in the middle, and canceled before and while the server works on it; 10,000. */
TEST(failures_without_end_leave_no_descriptor_behind)
{
    struct world world;
    set_up(&world);
    int before = 0;
    for (int round = 0; round < 2500; round++) {
        struct http_answer answers[4] = {0};
        world.held = NULL;
        start(&world, (struct pl_http_request){.lane = 1}, "http://127.0.0.1:1/", &answers[0]);
        cancel(&world, start(&world, (struct pl_http_request){.lane = 2}, "/", &answers[1]));
        start(&world, (struct pl_http_request){0}, "/watch", &answers[2]);
        TURN_UNTIL(world.loop, answers[2].responses);
        pl_exchange_abort(world.held);
        TURN_UNTIL(world.loop, answers[0].done && answers[1].done && answers[2].done);
        world.held = NULL;
        struct pl_http_call *call =
            start(&world, (struct pl_http_request){0}, "/hold", &answers[3]);
        TURN_UNTIL(world.loop, world.held);
        cancel(&world, call);
        TURN_UNTIL(world.loop, answers[3].done);
        pl_exchange_abort(world.held);
        for (int i = 0; i < 4; i++) {
            CHECK(answers[i].code != 0);
            http_answer_deinit(&answers[i]);
        }
        if (round == 50)
            before = open_descriptors();
    }
    TURN_UNTIL(world.loop, open_descriptors() <= before + 4);
    tear_down(&world);
}

TEST(destroying_the_client_ends_everything_before_it_returns)
{
    struct world world;
    struct http_answer queued = {0}, active = {0};
    set_up(&world);
    start(&world, (struct pl_http_request){0}, "/watch", &active);
    TURN_UNTIL(world.loop, active.responses);
    start(&world, (struct pl_http_request){0}, "/", &queued);
    pl_http_client_destroy(world.client);
    world.client = NULL;
    CHECK_INT(queued.code, PL_ECANCELED);
    CHECK_INT(active.code, PL_ECANCELED);
    http_answer_deinit(&queued);
    http_answer_deinit(&active);
    tear_down(&world);
}

static struct pl_http_call *start_upgrade(struct world *world, const char *path, int64_t timeout_ms,
                                          struct http_answer *answer)
{
    static const struct pl_http_header headers[] = {{"Connection", "Upgrade"}, {"Upgrade", "echo"}};
    const struct pl_http_request request = {
        .headers = headers, .header_count = 2, .upgrade = true, .timeout_ms = timeout_ms};
    return start(world, request, path, answer);
}

static void say(struct world *world, struct pl_http_call *call, const char *text)
{
    world->transport.ops->send(world->transport.self, call, pl_slice_z(text));
}

TEST(an_upgraded_request_talks_both_ways_until_the_server_ends_it)
{
    struct world world;
    struct http_answer answer = {0};
    set_up(&world);
    struct pl_http_call *call = start_upgrade(&world, "/upgrade", 0, &answer);
    TURN_UNTIL(world.loop, answer.body.len == 8);
    CHECK_INT(answer.status, 101);
    CHECK(strstr(pl_buf_z(&answer.headers), "upgrade: echo\n") != NULL);
    say(&world, call, "one");
    TURN_UNTIL(world.loop, answer.body.len == 11);
    for (int i = 0; i < 100000; i++)
        say(&world, call, "0123456789");
    TURN_UNTIL(world.loop, answer.body.len == 1000011);
    CHECK_INT(answer.done, 0);
    say(&world, call, "end");
    TURN_UNTIL(world.loop, answer.done);
    CHECK_INT(answer.code, 0);
    CHECK(memcmp(answer.body.ptr, "welcome one01234567890", 22) == 0);
    http_answer_deinit(&answer);
    tear_down(&world);
}

TEST(an_upgrade_that_the_server_does_not_make_is_answered_like_any_request)
{
    struct world world;
    struct http_answer answer = {0};
    set_up(&world);
    start_upgrade(&world, "/other?a=b", 0, &answer);
    TURN_UNTIL(world.loop, answer.done);
    CHECK_INT(answer.code, 0);
    CHECK_INT(answer.status, 200);
    CHECK(strstr(pl_buf_z(&answer.body), "GET /other?a=b\nhost: 127.0.0.1:") != NULL);
    http_answer_deinit(&answer);
    tear_down(&world);
}

TEST(an_upgraded_request_ends_when_cut_cancelled_or_out_of_time)
{
    struct world world;
    struct http_answer cut = {0}, canceled = {0}, late = {0}, last = {0};
    set_up(&world);
    struct pl_http_call *call = start_upgrade(&world, "/upgrade", 0, &cut);
    TURN_UNTIL(world.loop, cut.body.len == 8);
    say(&world, call, "abort");
    TURN_UNTIL(world.loop, cut.done);
    CHECK(cut.code == 0 || cut.code == PL_ENETWORK);

    call = start_upgrade(&world, "/upgrade", 0, &canceled);
    TURN_UNTIL(world.loop, canceled.body.len == 8);
    cancel(&world, call);
    TURN_UNTIL(world.loop, canceled.done);
    CHECK_INT(canceled.code, PL_ECANCELED);
    TURN_UNTIL(world.loop, world.closed == 1);

    start_upgrade(&world, "/upgrade", 50, &late);
    TURN_UNTIL(world.loop, late.done);
    CHECK_INT(late.code, PL_ETIMEOUT);
    TURN_UNTIL(world.loop, world.closed == 2);

    start_upgrade(&world, "/upgrade", 0, &last); /* left to tear_down */
    http_answer_deinit(&cut);
    http_answer_deinit(&canceled);
    tear_down(&world);
    CHECK_INT(last.code, PL_ECANCELED);
    http_answer_deinit(&late);
    http_answer_deinit(&last);
}

TEST(what_is_no_path_is_not_upgraded)
{
    struct world world;
    struct http_answer answer = {0};
    set_up(&world);
    start_upgrade(&world, "/a b", 0, &answer);
    TURN_UNTIL(world.loop, answer.done);
    CHECK_INT(answer.code, PL_EINVAL);
    http_answer_deinit(&answer);
    tear_down(&world);
}

TEST_MAIN()
