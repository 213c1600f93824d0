#include "net/http_server.h"

#include "base/alloc.h"
#include "crypto/self_signed.h"
#include "support/turn.h"
#include "support/virtual_clock.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>

/* The test uses plain sockets on the same thread, with the kernel's buffers between. The server's
 * time is virtual. */
struct world {
    struct virtual_clock time;
    struct pl_loop *loop;
    struct pl_server *server;
    int port;
    int requests, closed, drained;
    struct pl_exchange *held[8]; /* by /hold and /watch, in order */
    int held_count;
    struct pl_exchange **watchers; /* by /watch, when given */
    int watcher_count;
    struct pl_buf log; /* "METHOD path?query body\n" of each request */
    bool destroy_in_request;
};

static void on_close(void *arg)
{
    ((struct world *)arg)->closed++;
}

static void on_drained(void *arg)
{
    ((struct world *)arg)->drained++;
}

static void hold(struct world *world, struct pl_exchange *exchange)
{
    if (world->watchers != NULL)
        world->watchers[world->watcher_count++] = exchange;
    else if (world->held_count < 8)
        world->held[world->held_count++] = exchange;
}

static void on_request(void *arg, struct pl_exchange *exchange)
{
    struct world *world = arg;
    struct pl_slice path = pl_exchange_path(exchange), query = pl_exchange_query(exchange);
    struct pl_slice body = pl_exchange_body(exchange);
    world->requests++;
    pl_buf_add_f(&world->log, "%s %.*s?%.*s %zu\n", pl_exchange_method(exchange), PL_FMT(path),
                 PL_FMT(query), body.len);
    if (world->destroy_in_request) {
        pl_server_destroy(world->server);
        world->server = NULL;
    }
    if (pl_slice_eqz(path, "/hold")) {
        hold(world, exchange);
    } else if (pl_slice_eqz(path, "/watch")) {
        pl_exchange_begin(exchange, 200, "application/json", on_close, world);
        hold(world, exchange);
    } else if (pl_slice_eqz(path, "/none")) {
        pl_exchange_reply_with(exchange, 204, NULL, 0, pl_slice_z("ignored"));
    } else if (pl_slice_eqz(path, "/header")) {
        const char *value = pl_exchange_header(exchange, "x-name");
        pl_exchange_reply(exchange, 200, "text/plain", pl_slice_z(value ? value : "(none)"));
    } else {
        pl_exchange_reply(exchange, 200, "text/plain", path);
    }
}

static const struct pl_server_ops ops = {on_request};

static void set_up_with(struct world *world, struct pl_server_options options)
{
    struct pl_err err = {0};
    memset(world, 0, sizeof *world);
    virtual_clock_init(&world->time, PL_SECOND);
    world->loop = pl_loop_create(&world->time.clock);
    if (options.host == NULL)
        options.host = "127.0.0.1";
    world->server = pl_server_create(world->loop, &options, &ops, world, &err);
    CHECK_STR(err.message, "");
    REQUIRE(world->server != NULL);
    world->port = pl_server_port(world->server);
}

static void set_up(struct world *world)
{
    set_up_with(world, (struct pl_server_options){0});
}

static void tear_down(struct world *world)
{
    pl_server_destroy(world->server);
    pl_loop_destroy(world->loop);
    pl_buf_deinit(&world->log);
}

/* Lets that much time pass and does the work that becomes due. */
static void pass(struct world *world, int64_t ms)
{
    world->time.now_ns += ms * PL_MS;
    pl_loop_turn(world->loop, 0);
    pl_loop_turn(world->loop, 0);
}

TEST(a_request_is_taken_apart_and_answered)
{
    struct world world;
    struct raw_peer peer;
    set_up(&world);
    raw_connect(&peer, world.port);
    raw_send(&peer, "GET /a/%20b?c=d&e#f HTTP/1.1\r\nHost: h\r\n\r\n");
    TURN_UNTIL(world.loop, raw_got(&peer, "/a/%20b"));
    CHECK_STR(pl_buf_z(&peer.got), "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
                                   "Content-Length: 7\r\n\r\n/a/%20b");
    CHECK_STR(pl_buf_z(&world.log), "GET /a/%20b?c=d&e 0\n");
    CHECK(raw_read(&peer));
    raw_close(&peer);
    tear_down(&world);
}

TEST(header_names_do_not_care_for_case_and_values_for_pieces)
{
    struct world world;
    struct raw_peer peer;
    set_up(&world);
    raw_connect(&peer, world.port);
    const char *text =
        "GET http://example.org/header HTTP/1.1\r\nHost: h\r\nX-NaMe:  some value \r\n\r\n";
    for (const char *p = text; *p != '\0'; p++) {
        raw_send_bytes(&peer, p, 1);
        pl_loop_turn(world.loop, 0);
    }
    TURN_UNTIL(world.loop, raw_got(&peer, "some value"));
    CHECK(strstr(pl_buf_z(&peer.got), "Content-Length: 10\r\n\r\nsome value") != NULL);
    raw_close(&peer);
    tear_down(&world);
}

TEST(an_empty_header_is_there_and_empty)
{
    struct world world;
    struct raw_peer peer;
    set_up(&world);
    raw_connect(&peer, world.port);
    raw_send(&peer, "GET /header HTTP/1.1\r\nHost: h\r\nX-Name:\r\nX-Other: o\r\n\r\n"
                    "GET /header HTTP/1.1\r\nHost: h\r\nX-Other: o\r\nX-Name: \r\n\r\nGET /end "
                    "HTTP/1.1\r\nHost: h\r\n\r\n");
    TURN_UNTIL(world.loop, raw_got(&peer, "/end"));
    CHECK(strstr(pl_buf_z(&peer.got), "Length: 0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Type: text/plain"
                                      "\r\nContent-Length: 0\r\n\r\nHTTP") != NULL);
    raw_close(&peer);
    tear_down(&world);
}

TEST(bodies_come_whole_with_a_length_or_in_chunks)
{
    struct world world;
    struct raw_peer peer;
    set_up(&world);
    raw_connect(&peer, world.port);
    raw_send(&peer, "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello");
    raw_send(&peer, "PATCH /y HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: "
                    "chunked\r\n\r\n3\r\nabc\r\n4;x=y\r\ndefg\r\n"
                    "0\r\nTrailer: t\r\n\r\n");
    raw_send(&peer, "GET /z HTTP/1.1\r\nHost: h\r\n\r\n");
    TURN_UNTIL(world.loop, world.requests == 3);
    CHECK_STR(pl_buf_z(&world.log), "POST /x? 5\nPATCH /y? 7\nGET /z? 0\n");
    raw_close(&peer);
    tear_down(&world);
}

TEST(pipelined_requests_are_answered_in_order_also_when_the_first_is_late)
{
    struct world world;
    struct raw_peer peer;
    set_up(&world);
    raw_connect(&peer, world.port);
    raw_send(&peer, "GET /1 HTTP/1.1\r\nHost: h\r\n\r\nGET /hold HTTP/1.1\r\nHost: h\r\n\r\nGET /2 "
                    "HTTP/1.1\r\nHost: h\r\n\r\n"
                    "GET /hold HTTP/1.1\r\nHost: h\r\n\r\nGET /3 HTTP/1.1\r\nHost: h\r\n\r\n");
    TURN_UNTIL(world.loop, world.held_count == 1);
    CHECK_INT(world.requests, 2);
    pl_exchange_reply(world.held[0], 200, "text/plain", pl_slice_z("late1"));
    CHECK_INT(world.requests, 2); /* never from inside the reply */
    TURN_UNTIL(world.loop, world.held_count == 2);
    pl_exchange_reply(world.held[1], 200, "text/plain", pl_slice_z("late2"));
    TURN_UNTIL(world.loop, raw_got(&peer, "/3"));
    const char *want[] = {"\r\n\r\n/1", "late1", "/2", "late2", "/3"}, *at = pl_buf_z(&peer.got);
    for (size_t i = 0; i < PL_ARRAY_LEN(want) && at != NULL; i++) {
        at = strstr(at, want[i]);
        CHECK(at != NULL);
    }
    raw_close(&peer);
    tear_down(&world);
}

TEST(a_flood_of_pipelined_requests_is_answered_without_recursion_and_with_bounded_memory)
{
    struct world world;
    struct raw_peer peer;
    set_up(&world);
    raw_connect(&peer, world.port);
    const char *request = "GET /12 HTTP/1.1\r\nHost: h\r\n\r\n";
    struct pl_buf flood = PL_BUF_INIT;
    for (int i = 0; i < 50000; i++)
        pl_buf_add_z(&flood, request);
    size_t sent = 0;
    for (int turn = 0; world.requests < 50000 && turn < 100000; turn++) {
        ssize_t n = send(peer.fd, flood.ptr + sent, flood.len - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        sent += n > 0 ? (size_t)n : 0;
        pl_loop_turn(world.loop, 1);
        raw_read(&peer);
        pl_buf_clear(&peer.got);
        pl_buf_clear(&world.log);
    }
    CHECK_INT(world.requests, 50000);
    pl_buf_deinit(&flood);
    raw_close(&peer);
    tear_down(&world);
}

TEST(head_and_204_have_no_body)
{
    struct world world;
    struct raw_peer peer;
    set_up(&world);
    raw_connect(&peer, world.port);
    raw_send(&peer, "HEAD /four HTTP/1.1\r\nHost: h\r\n\r\nGET /none HTTP/1.1\r\nHost: "
                    "h\r\n\r\nGET /end HTTP/1.1\r\nHost: h\r\n\r\n");
    TURN_UNTIL(world.loop, raw_got(&peer, "/end"));
    CHECK_STR(pl_buf_z(&peer.got), "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
                                   "Content-Length: 5\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n"
                                   "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
                                   "Content-Length: 4\r\n\r\n/end");
    raw_close(&peer);
    tear_down(&world);
}

TEST(connection_close_and_http_1_0_end_the_connection_after_the_answer)
{
    struct world world;
    const char *requests[] = {"GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
                              "GET /a HTTP/1.0\r\n\r\n"};
    set_up(&world);
    for (int i = 0; i < 2; i++) {
        struct raw_peer peer;
        raw_connect(&peer, world.port);
        raw_send(&peer, requests[i]);
        TURN_UNTIL(world.loop, raw_ended(&peer));
        CHECK(strstr(pl_buf_z(&peer.got), "Connection: close\r\n") != NULL);
        CHECK(strstr(pl_buf_z(&peer.got), "\r\n\r\n/a") != NULL);
        raw_close(&peer);
    }
    tear_down(&world);
}

TEST(an_http_1_0_client_gets_a_stream_without_chunks)
{
    struct world world;
    struct raw_peer peer;
    set_up(&world);
    raw_connect(&peer, world.port);
    raw_send(&peer, "GET /watch HTTP/1.0\r\n\r\n");
    TURN_UNTIL(world.loop, world.held_count);
    pl_exchange_write(world.held[0], pl_slice_z("event\n"));
    pl_exchange_end(world.held[0]);
    TURN_UNTIL(world.loop, raw_ended(&peer));
    CHECK(strstr(pl_buf_z(&peer.got), "chunked") == NULL);
    CHECK(strstr(pl_buf_z(&peer.got), "\r\n\r\nevent\n") != NULL);
    raw_close(&peer);
    tear_down(&world);
}

TEST(a_client_that_expects_100_continue_gets_it)
{
    struct world world;
    struct raw_peer peer;
    set_up_with(&world, (struct pl_server_options){.max_body = 10});
    raw_connect(&peer, world.port);
    raw_send(&peer,
             "PUT /x HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nExpect: 100-Continue\r\n\r\n");
    TURN_UNTIL(world.loop, raw_got(&peer, "HTTP/1.1 100 Continue\r\n\r\n"));
    raw_send(&peer, "ok");
    TURN_UNTIL(world.loop, raw_got(&peer, "HTTP/1.1 200 OK"));
    raw_close(&peer);
    raw_connect(&peer, world.port);
    raw_send(&peer,
             "PUT /x HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\nExpect: 100-continue\r\n\r\n");
    TURN_UNTIL(world.loop, raw_ended(&peer));
    CHECK(strncmp(pl_buf_z(&peer.got), "HTTP/1.1 413 ", 13) == 0);
    raw_close(&peer);
    tear_down(&world);
}

/* Sends a request that must be refused with that status, and the connection with it. */
static void check_refused(struct pl_server_options options, struct pl_slice request, int status)
{
    struct world world;
    struct raw_peer peer;
    char want[32];
    set_up_with(&world, options);
    raw_connect(&peer, world.port);
    for (size_t sent = 0; sent < request.len;) {
        ssize_t n =
            send(peer.fd, request.ptr + sent, request.len - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && errno != EAGAIN)
            break;
        sent += n > 0 ? (size_t)n : 0;
        pl_loop_turn(world.loop, 1);
    }
    TURN_UNTIL(world.loop, raw_got(&peer, "\r\n\r\n"));
    snprintf(want, sizeof want, "HTTP/1.1 %d ", status);
    CHECK(strncmp(pl_buf_z(&peer.got), want, strlen(want)) == 0);
    CHECK(strstr(pl_buf_z(&peer.got), "Connection: close\r\n") != NULL);
    TURN_UNTIL(world.loop, raw_ended(&peer));
    CHECK_INT(world.requests, 0);
    raw_close(&peer);
    tear_down(&world);
}

TEST(a_body_over_the_limit_is_413_at_once_with_a_length)
{
    /* The answer comes although nothing of the body is sent. */
    check_refused((struct pl_server_options){.max_body = 1000},
                  pl_slice_z("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1001\r\n\r\n"), 413);
    check_refused(
        (struct pl_server_options){0},
        pl_slice_z("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999999\r\n\r\n"), 413);
}

TEST(a_body_over_the_limit_is_413_at_once_in_chunks)
{
    check_refused(
        (struct pl_server_options){.max_body = 5},
        pl_slice_z(
            "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n3\r\nd"
            "ef\r\n"),
        413);
}

TEST(a_413_arrives_although_the_client_is_still_sending)
{
    struct pl_buf request = PL_BUF_INIT;
    pl_buf_add_z(&request, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 8000000\r\n\r\n");
    pl_buf_reserve(&request, 8000000);
    memset(request.ptr + request.len, 'x', 8000000);
    request.len += 8000000;
    check_refused((struct pl_server_options){.max_body = 1000}, pl_buf_slice(&request), 413);
    pl_buf_deinit(&request);
}

TEST(headers_over_64_kib_or_too_many_are_431)
{
    struct pl_buf request = PL_BUF_INIT;
    pl_buf_add_z(&request, "GET / HTTP/1.1\r\nHost: h\r\nX: ");
    for (int i = 0; i < 65536; i++)
        pl_buf_add_char(&request, 'x');
    check_refused((struct pl_server_options){0}, pl_buf_slice(&request), 431);
    pl_buf_clear(&request);
    pl_buf_add_z(&request, "GET /");
    for (int i = 0; i < 65536; i++)
        pl_buf_add_char(&request, 'x');
    check_refused((struct pl_server_options){0}, pl_buf_slice(&request), 431);
    pl_buf_clear(&request);
    pl_buf_add_z(&request, "GET / HTTP/1.1\r\nHost: h\r\n");
    for (int i = 0; i < 513; i++)
        pl_buf_add_z(&request, "a:b\r\n");
    check_refused((struct pl_server_options){0}, pl_buf_slice(&request), 431);
    pl_buf_deinit(&request);
}

TEST(what_is_not_http_is_400)
{
    check_refused((struct pl_server_options){0}, pl_slice_z("hello\r\n\r\n"), 400);
    check_refused((struct pl_server_options){0},
                  pl_slice_z("GET / HTTP/1.1\r\nHost: h\r\nA B: c\r\n\r\n"), 400);
    check_refused(
        (struct pl_server_options){0},
        pl_slice_z("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"),
        400);
    check_refused(
        (struct pl_server_options){0},
        pl_slice_z(
            "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n"
            "\r\n"),
        400);
    check_refused((struct pl_server_options){0},
                  pl_slice_z("GET / HTTP/1.1\r\nHost: h\r\n: c\r\n\r\n"), 400);
    check_refused((struct pl_server_options){0},
                  pl_slice_z("GET / HTTP/1.1\r\nHost: h\r\nA: b\r\n: c\r\n\r\n"), 400);
    check_refused((struct pl_server_options){0}, pl_slice_z("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
                  400);
}

TEST(a_method_that_nobody_knows_is_a_request)
{
    static const char *const methods[] = {"FOO", "get", "M-X9"};
    for (size_t i = 0; i < 3; i++) {
        struct world world;
        struct raw_peer peer;
        char request[80];
        set_up(&world);
        raw_connect(&peer, world.port);
        int len =
            snprintf(request, sizeof(request), "%s /a HTTP/1.1\r\nHost: h\r\n\r\n", methods[i]);
        raw_send_bytes(&peer, request, (size_t)len);
        TURN_UNTIL(world.loop, raw_got(&peer, "\r\n\r\n"));
        CHECK_INT(world.requests, 1);
        raw_close(&peer);
        tear_down(&world);
    }
    check_refused((struct pl_server_options){0}, pl_slice_z("FOO  /a HTTP/1.1\r\nHost: h\r\n\r\n"),
                  400);
    check_refused((struct pl_server_options){0}, pl_slice_z("F:O /a HTTP/1.1\r\nHost: h\r\n\r\n"),
                  400);
}

static void check_refused_in_pieces(const char *request, size_t size)
{
    struct world world;
    struct raw_peer peer;
    set_up(&world);
    raw_connect(&peer, world.port);
    for (const char *at = request; *at != '\0' && !raw_got(&peer, "\r\n\r\n");) {
        size_t len = strnlen(at, size);
        raw_send_bytes(&peer, at, len);
        for (int i = 0; i < 3; i++)
            pl_loop_turn(world.loop, 0);
        at += len;
    }
    TURN_UNTIL(world.loop, raw_got(&peer, "\r\n\r\n"));
    if (strncmp(pl_buf_z(&peer.got), "HTTP/1.1 400 ", 13) != 0)
        TEST_FAIL("%zu bytes at a time of %s: %.60s", size, request, pl_buf_z(&peer.got));
    CHECK_INT(world.requests, 0);
    raw_close(&peer);
    tear_down(&world);
}

/* Requests that servers and their proxies could interpret differently. */
TEST(a_request_that_can_be_read_in_two_ways_is_400)
{
    static const char *const requests[] = {
        "GET / HTTP/1.1\r\nHost: h\r\nX: a\r\n b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nX: a\r\n\tb\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nX:\r\n b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nX: a\r\n \r\n\r\n",
        "GET / HTTP/1.1\r\n Host: h\r\n\r\n",
        "\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\nX: a\n b\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nX-Host: h\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nHost: h\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nX: a\r\nhOST: g\r\n\r\n",
        "GET / HTTP/1.0\r\nHost: h\r\nHost: g\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nX: a\rY: b\r\n\r\n",
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(requests); i++)
        for (size_t size = 1; size < 40; size += size < 4 ? 1 : 16)
            check_refused_in_pieces(requests[i], size);
}

TEST(space_at_the_beginning_of_a_line_is_fine_in_a_body)
{
    struct world world;
    struct raw_peer peer;
    set_up(&world);
    raw_connect(&peer, world.port);
    raw_send(&peer, "\r\nPOST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 8\r\n\r\n a\r\n b\r\n"
                    "POST /b HTTP/1.1\r\nHost:\r\nTransfer-Encoding: chunked\r\n\r\n"
                    "4\r\n\r\n b\r\n0\r\n\r\nGET /end HTTP/1.0\r\n\r\n");
    TURN_UNTIL(world.loop, raw_got(&peer, "/end"));
    CHECK_STR(pl_buf_z(&world.log), "POST /a? 8\nPOST /b? 4\nGET /end? 0\n");
    raw_close(&peer);
    tear_down(&world);
}

TEST(an_upgrade_is_a_request_like_any_other)
{
    struct world world;
    struct raw_peer peer;
    set_up(&world);
    raw_connect(&peer, world.port);
    raw_send(&peer,
             "GET /up HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n"
             "GET /next HTTP/1.1\r\nHost: h\r\n\r\n");
    TURN_UNTIL(world.loop, raw_got(&peer, "/next"));
    CHECK_INT(world.requests, 2);
    raw_close(&peer);
    tear_down(&world);
}

TEST(a_slow_request_is_cut_at_its_deadline_however_busily_it_drips)
{
    struct world world;
    struct raw_peer peer;
    set_up_with(&world, (struct pl_server_options){.request_deadline_ms = 40});
    raw_connect(&peer, world.port);
    raw_send(&peer, "GET / HTTP/1.1\r\nHost: h\r\nA: ");
    for (int i = 0; i < 39; i++) {
        raw_send(&peer, "b");
        pass(&world, 1);
    }
    CHECK(raw_read(&peer));
    CHECK_INT(peer.got.len, 0);
    pass(&world, 2);
    TURN_UNTIL(world.loop, raw_ended(&peer));
    CHECK(strncmp(pl_buf_z(&peer.got), "HTTP/1.1 408 ", 13) == 0);
    CHECK_INT(world.requests, 0);
    raw_close(&peer);
    tear_down(&world);
}

TEST(a_silent_connection_is_cut_before_and_after_a_request)
{
    struct world world;
    struct raw_peer silent, after;
    set_up_with(&world, (struct pl_server_options){.idle_ms = 30});
    raw_connect(&silent, world.port);
    raw_connect(&after, world.port);
    raw_send(&after, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    TURN_UNTIL(world.loop, raw_got(&after, "200 OK"));
    pass(&world, 29);
    CHECK(raw_read(&silent) && raw_read(&after));
    pass(&world, 2);
    TURN_UNTIL(world.loop, raw_ended(&silent) && raw_ended(&after));
    CHECK_INT(silent.got.len, 0);
    raw_close(&silent);
    raw_close(&after);
    tear_down(&world);
}

TEST(a_client_that_stops_in_the_handshake_is_cut_after_the_idle_time)
{
    static const char hello[] = "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"; /* its begin */
    struct world world;
    struct raw_peer peer;
    struct pl_err err = {0};
    char *cert, *key;
    REQUIRE(pl_self_signed("127.0.0.1", &cert, &key, &err) == 0);
    set_up_with(&world,
                (struct pl_server_options){.idle_ms = 30, .cert_pem = cert, .key_pem = key});
    raw_connect(&peer, world.port);
    for (size_t i = 0; i < 11; i++) { /* a byte every 3 ms does not prolong it */
        CHECK(send(peer.fd, hello + i, 1, MSG_NOSIGNAL) == 1);
        pass(&world, 3);
    }
    TURN_UNTIL(world.loop, raw_ended(&peer));
    CHECK_INT(peer.got.len, 0);
    raw_close(&peer);
    tear_down(&world);
    pl_free(cert);
    pl_free(key);
}

TEST(a_slow_handler_and_a_watch_are_not_cut_by_the_limits_on_clients)
{
    struct world world;
    struct raw_peer slow, watch;
    set_up_with(&world, (struct pl_server_options){.idle_ms = 20, .request_deadline_ms = 20});
    raw_connect(&slow, world.port);
    raw_connect(&watch, world.port);
    raw_send(&slow, "GET /hold HTTP/1.1\r\nHost: h\r\n\r\n");
    TURN_UNTIL(world.loop, world.held_count == 1);
    raw_send(&watch, "GET /watch HTTP/1.1\r\nHost: h\r\n\r\n");
    TURN_UNTIL(world.loop, world.held_count == 2);
    pass(&world, 1000000);
    pl_exchange_reply(world.held[0], 200, "text/plain", pl_slice_z("at last"));
    pl_exchange_write(world.held[1], pl_slice_z("event"));
    TURN_UNTIL(world.loop, raw_got(&slow, "at last") && raw_got(&watch, "event"));
    CHECK_INT(world.closed, 0);
    raw_close(&slow);
    raw_close(&watch);
    tear_down(&world);
    CHECK_INT(world.closed, 1);
}

TEST(a_watcher_that_leaves_is_told_once)
{
    struct world world;
    struct raw_peer peer;
    set_up(&world);
    raw_connect(&peer, world.port);
    raw_send(&peer, "GET /watch HTTP/1.1\r\nHost: h\r\n\r\n");
    TURN_UNTIL(world.loop, raw_got(&peer, "chunked\r\n\r\n"));
    raw_close(&peer);
    TURN_UNTIL(world.loop, world.closed);
    tear_down(&world);
    CHECK_INT(world.closed, 1);
}

TEST(writes_to_a_watcher_that_is_gone_are_harmless_until_on_close)
{
    struct world world;
    struct raw_peer peer;
    set_up(&world);
    raw_connect(&peer, world.port);
    raw_send(&peer, "GET /watch HTTP/1.1\r\nHost: h\r\n\r\n");
    TURN_UNTIL(world.loop, world.held_count);
    struct linger reset = {.l_onoff = 1, .l_linger = 0};
    setsockopt(peer.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    raw_close(&peer);
    for (int i = 0; i < 10; i++)
        pl_exchange_write(world.held[0], pl_slice_z("into the void"));
    CHECK_INT(world.closed, 0);
    TURN_UNTIL(world.loop, world.closed);
    tear_down(&world);
    CHECK_INT(world.closed, 1);
}

TEST(ending_a_stream_whose_client_just_left_suppresses_on_close)
{
    struct world world;
    struct raw_peer peer;
    set_up(&world);
    raw_connect(&peer, world.port);
    raw_send(&peer, "GET /watch HTTP/1.1\r\nHost: h\r\n\r\n");
    TURN_UNTIL(world.loop, world.held_count);
    struct linger reset = {.l_onoff = 1, .l_linger = 0};
    setsockopt(peer.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    raw_close(&peer);
    pl_exchange_write(world.held[0], pl_slice_z("x"));
    pl_exchange_write(world.held[0], pl_slice_z("x"));
    pl_exchange_end(world.held[0]);
    for (int i = 0; i < 5; i++)
        pl_loop_turn(world.loop, 1);
    tear_down(&world);
    CHECK_INT(world.closed, 0);
}

TEST(a_handler_may_answer_after_its_client_left)
{
    struct world world;
    struct raw_peer replies, begins, begins_and_ends;
    set_up(&world);
    struct raw_peer *peers[] = {&replies, &begins, &begins_and_ends};
    for (int i = 0; i < 3; i++) {
        raw_connect(peers[i], world.port);
        raw_send(peers[i], "GET /hold HTTP/1.1\r\nHost: h\r\n\r\n");
        TURN_UNTIL(world.loop, world.held_count == i + 1);
        struct linger reset = {.l_onoff = 1, .l_linger = 0};
        setsockopt(peers[i]->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
        raw_close(peers[i]);
    }
    for (int i = 0; i < 5; i++)
        pl_loop_turn(world.loop, 1);
    CHECK_STR(pl_exchange_method(world.held[0]), "GET"); /* still readable */
    pl_exchange_reply(world.held[0], 200, "text/plain", pl_slice_z("late"));
    pl_exchange_begin(world.held[1], 200, "text/plain", on_close, &world);
    pl_exchange_write(world.held[1], pl_slice_z("late"));
    CHECK_INT(world.closed, 0);
    pl_exchange_begin(world.held[2], 200, "text/plain", on_close, &world);
    pl_exchange_end(world.held[2]);
    TURN_UNTIL(world.loop, world.closed);
    tear_down(&world);
    CHECK_INT(world.closed, 1);
}

TEST(a_client_that_shuts_its_half_down_still_gets_its_answers)
{
    struct world world;
    struct raw_peer peer;
    set_up(&world);
    raw_connect(&peer, world.port);
    raw_send(&peer, "GET /hold HTTP/1.1\r\nHost: h\r\n\r\nGET /two HTTP/1.1\r\nHost: h\r\n\r\n");
    shutdown(peer.fd, SHUT_WR);
    TURN_UNTIL(world.loop, world.held_count);
    for (int i = 0; i < 5; i++)
        pl_loop_turn(world.loop, 1);
    pl_exchange_reply(world.held[0], 200, "text/plain", pl_slice_z("one"));
    TURN_UNTIL(world.loop, raw_ended(&peer));
    CHECK(strstr(pl_buf_z(&peer.got), "one") != NULL);
    CHECK(strstr(pl_buf_z(&peer.got), "/two") != NULL);
    raw_close(&peer);
    tear_down(&world);
}

TEST(junk_sent_on_a_watch_is_dropped)
{
    struct world world;
    struct raw_peer peer;
    set_up(&world);
    raw_connect(&peer, world.port);
    raw_send(&peer, "GET /watch HTTP/1.1\r\nHost: h\r\n\r\n");
    TURN_UNTIL(world.loop, world.held_count);
    char *junk = pl_calloc(1, 65536);
    size_t sent = 0;
    for (int turn = 0; sent < 20 * 1000 * 1000 && turn < 1000000; turn++) {
        ssize_t n = send(peer.fd, junk, 65536, MSG_DONTWAIT | MSG_NOSIGNAL);
        sent += n > 0 ? (size_t)n : 0;
        pl_loop_turn(world.loop, 0);
    }
    CHECK(sent >= 20 * 1000 * 1000);
    pl_exchange_write(world.held[0], pl_slice_z("event"));
    TURN_UNTIL(world.loop, raw_got(&peer, "5\r\nevent\r\n"));
    CHECK_INT(world.requests, 1);
    pl_free(junk);
    raw_close(&peer);
    tear_down(&world);
}

TEST(a_watcher_that_does_not_read_is_cut_at_the_limit)
{
    struct world world;
    struct raw_peer peer;
    set_up_with(&world, (struct pl_server_options){.max_unread = 1 << 20});
    raw_connect(&peer, world.port);
    raw_send(&peer, "GET /watch HTTP/1.1\r\nHost: h\r\n\r\n");
    TURN_UNTIL(world.loop, world.held_count);
    char *event = pl_calloc(1, 65536);
    size_t written = 0, most_unread = 0;
    while (world.closed == 0 && written < 256 * 1000 * 1000) {
        pl_exchange_write(world.held[0], pl_slice(event, 65536));
        written += 65536;
        size_t unread = pl_exchange_unread(world.held[0]);
        most_unread = unread > most_unread ? unread : most_unread;
        pl_loop_turn(world.loop, 0);
    }
    CHECK_INT(world.closed, 1);
    CHECK(most_unread <= (1 << 20) + 70000);
    CHECK(most_unread > 1 << 19);
    pl_free(event);
    raw_close(&peer);
    tear_down(&world);
}

TEST(a_reply_larger_than_the_limit_on_streams_arrives_when_it_is_read)
{
    struct world world;
    struct raw_peer peer;
    set_up_with(&world, (struct pl_server_options){.max_unread = 1 << 16, .idle_ms = 500});
    raw_connect(&peer, world.port);
    raw_send(&peer, "GET /hold HTTP/1.1\r\nHost: h\r\n\r\n");
    TURN_UNTIL(world.loop, world.held_count);
    size_t size = 32 * 1000 * 1000;
    char *body = pl_calloc(1, size);
    pl_exchange_reply(world.held[0], 200, "text/plain", pl_slice(body, size));
    int small = 1 << 17; /* so that the kernel wants more as soon as some bytes were read */
    setsockopt(peer.fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    /* Slowly, but always some bytes: for many times the limit on a standstill. */
    while (peer.got.len < size && !peer.ended) {
        char bytes[320000];
        ssize_t n = recv(peer.fd, bytes, sizeof bytes, MSG_DONTWAIT);
        if (n > 0)
            pl_buf_add(&peer.got, bytes, (size_t)n);
        peer.ended = n == 0;
        pass(&world, n > 0 ? 100 : 0);
    }
    CHECK(!peer.ended);
    pl_free(body);
    raw_close(&peer);
    tear_down(&world);
}

TEST(a_reply_that_is_not_read_at_all_is_cut_after_the_idle_time)
{
    struct world world;
    struct raw_peer peer;
    set_up_with(&world, (struct pl_server_options){.idle_ms = 30});
    raw_connect(&peer, world.port);
    raw_send(&peer, "GET /hold HTTP/1.1\r\nHost: h\r\n\r\n");
    TURN_UNTIL(world.loop, world.held_count);
    size_t size = 32 * 1000 * 1000;
    char *body = pl_calloc(1, size);
    pl_exchange_reply(world.held[0], 200, "text/plain", pl_slice(body, size));
    pl_free(body);
    for (int i = 0; i < 10; i++)
        pl_loop_turn(world.loop, 1); /* until the kernel's buffers are full */
    pass(&world, 31);
    pass(&world, 31);
    TURN_UNTIL(world.loop, raw_ended(&peer));
    CHECK(peer.got.len < size);
    raw_close(&peer);
    tear_down(&world);
}

TEST(a_stream_says_when_all_of_it_was_taken)
{
    struct world world;
    struct raw_peer peer;
    set_up(&world);
    raw_connect(&peer, world.port);
    raw_send(&peer, "GET /watch HTTP/1.1\r\nHost: h\r\n\r\n");
    TURN_UNTIL(world.loop, world.held_count);
    pl_exchange_on_drained(world.held[0], on_drained);
    CHECK_INT(world.drained, 0);
    TURN_UNTIL(world.loop, world.drained == 1); /* nothing was unread */
    char *event = pl_calloc(1, 8 << 20);
    pl_exchange_write(world.held[0], pl_slice(event, 8 << 20));
    pl_exchange_on_drained(world.held[0], on_drained);
    CHECK(pl_exchange_unread(world.held[0]) > 0);
    pl_loop_turn(world.loop, 0);
    CHECK_INT(world.drained, 1);
    TURN_UNTIL(world.loop, (raw_read(&peer), world.drained == 2));
    CHECK_INT(pl_exchange_unread(world.held[0]), 0);
    pl_free(event);
    raw_close(&peer);
    tear_down(&world);
}

TEST(connections_over_the_limit_get_503_while_all_others_are_answered)
{
    struct world world;
    struct raw_peer peers[3];
    set_up_with(&world, (struct pl_server_options){.max_connections = 2});
    raw_connect(&peers[0], world.port);
    raw_send(&peers[0], "GET /hold HTTP/1.1\r\nHost: h\r\n\r\n");
    TURN_UNTIL(world.loop, world.held_count == 1);
    raw_connect(&peers[1], world.port);
    raw_send(&peers[1], "GET /watch HTTP/1.1\r\nHost: h\r\n\r\n");
    TURN_UNTIL(world.loop, world.held_count == 2);
    raw_connect(&peers[2], world.port);
    TURN_UNTIL(world.loop, raw_got(&peers[2], "HTTP/1.1 503 "));
    for (int i = 0; i < 2; i++)
        CHECK(raw_read(&peers[i]));
    CHECK_INT(world.closed, 0);
    for (int i = 0; i < 3; i++)
        raw_close(&peers[i]);
    TURN_UNTIL(world.loop, world.closed == 1);
    pl_exchange_reply(world.held[0], 200, "text/plain", pl_slice_z("too late"));
    raw_connect(&peers[0], world.port);
    raw_send(&peers[0], "GET /a HTTP/1.1\r\nHost: h\r\n\r\n");
    TURN_UNTIL(world.loop, raw_got(&peers[0], "200 OK"));
    raw_close(&peers[0]);
    tear_down(&world);
}

static void check_answered(struct world *world, struct raw_peer *peer)
{
    raw_connect(peer, world->port);
    raw_send(peer, "GET /a HTTP/1.1\r\nHost: h\r\n\r\n");
    TURN_UNTIL(world->loop, raw_got(peer, "\r\n\r\n"));
    CHECK(raw_got(peer, "HTTP/1.1 200 OK\r\n"));
}

TEST(over_the_limit_the_connection_that_is_idle_for_longest_goes)
{
    struct world world;
    struct raw_peer peers[3], more;
    set_up_with(&world, (struct pl_server_options){.max_connections = 3});
    for (int i = 0; i < 3; i++)
        raw_connect(&peers[i], world.port);
    raw_send(&peers[0], "GET /b HTTP/1.1\r\nHost: h\r\n\r\n"); /* idle from now on */
    TURN_UNTIL(world.loop, raw_got(&peers[0], "200 OK"));
    check_answered(&world, &more);
    CHECK(raw_ended(&peers[1]));
    CHECK(raw_read(&peers[0]) && raw_read(&peers[2]));
    raw_close(&more);
    for (int i = 0; i < 3; i++)
        raw_close(&peers[i]);
    tear_down(&world);
}

TEST(idle_connections_go_before_those_in_a_request_and_these_before_a_503)
{
    struct world world;
    struct raw_peer slow, idle, watch, more[2];
    set_up_with(&world, (struct pl_server_options){.max_connections = 3});
    raw_connect(&watch, world.port);
    raw_send(&watch, "GET /watch HTTP/1.1\r\nHost: h\r\n\r\n");
    TURN_UNTIL(world.loop, world.held_count == 1);
    raw_connect(&slow, world.port);
    raw_send(&slow,
             "GET /slow HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n");
    TURN_UNTIL(world.loop, raw_got(&slow, "100 Continue"));
    raw_connect(&idle, world.port);
    check_answered(&world, &more[0]);
    CHECK(raw_ended(&idle));
    CHECK(raw_read(&slow) && raw_read(&watch));
    raw_send(&more[0], "GET /hold HTTP/1.1\r\nHost: h\r\n\r\n");
    TURN_UNTIL(world.loop, world.held_count == 2);
    check_answered(&world, &more[1]);
    CHECK(raw_ended(&slow));
    CHECK(raw_read(&more[0]) && raw_read(&watch));
    CHECK_INT(world.closed, 0);
    pl_exchange_reply(world.held[1], 200, "text/plain", pl_slice_z("at last"));
    struct raw_peer *all[] = {&slow, &idle, &watch, &more[0], &more[1]};
    for (size_t i = 0; i < PL_ARRAY_LEN(all); i++)
        raw_close(all[i]);
    tear_down(&world);
}

TEST(destroying_the_server_closes_streams_at_once_and_leaves_unanswered_requests_valid)
{
    struct world world;
    struct raw_peer watch, held;
    set_up(&world);
    raw_connect(&watch, world.port);
    raw_send(&watch, "GET /watch HTTP/1.1\r\nHost: h\r\n\r\n");
    TURN_UNTIL(world.loop, world.held_count == 1);
    raw_connect(&held, world.port);
    raw_send(&held, "GET /hold HTTP/1.1\r\nHost: h\r\n\r\n");
    TURN_UNTIL(world.loop, world.held_count == 2);
    pl_server_destroy(world.server);
    CHECK_INT(world.closed, 1);
    for (int i = 0; i < 3; i++)
        pl_loop_turn(world.loop, 0);
    CHECK_SLICE(pl_exchange_path(world.held[1]), "/hold");
    pl_exchange_reply(world.held[1], 200, "text/plain", pl_slice_z("x"));
    CHECK(raw_ended(&watch) && raw_ended(&held));
    world.server = NULL;
    raw_close(&watch);
    raw_close(&held);
    tear_down(&world);
}

TEST(a_handler_may_destroy_the_server)
{
    struct world world;
    struct raw_peer peer;
    set_up(&world);
    world.destroy_in_request = true;
    raw_connect(&peer, world.port);
    raw_send(&peer, "GET /a HTTP/1.1\r\nHost: h\r\n\r\nGET /b HTTP/1.1\r\nHost: h\r\n\r\n");
    TURN_UNTIL(world.loop, raw_ended(&peer));
    CHECK_INT(world.requests, 1);
    raw_close(&peer);
    tear_down(&world);
}

TEST(an_address_in_use_is_an_error_that_names_it)
{
    struct world world;
    struct pl_err err;
    set_up(&world);
    struct pl_server_options options = {.host = "127.0.0.1", .port = world.port};
    CHECK(pl_server_create(world.loop, &options, &ops, &world, &err) == NULL);
    char *want = pl_format("cannot listen on 127.0.0.1:%d: address already in use", world.port);
    CHECK_STR(err.message, want);
    pl_free(want);
    options =
        (struct pl_server_options){.host = "127.0.0.1", .cert_pem = "nonsense", .key_pem = "x"};
    CHECK(pl_server_create(world.loop, &options, &ops, &world, &err) == NULL);
    CHECK_INT(err.code, PL_EINVAL);
    tear_down(&world);
}

TEST(a_server_on_a_unix_socket_is_for_its_owner_alone)
{
    char dir[] = "/tmp/perilune-test-XXXXXX";
    struct world world;
    struct stat st;
    REQUIRE(mkdtemp(dir) != NULL);
    char *path = pl_format("%s/admin.sock", dir);
    set_up_with(&world, (struct pl_server_options){.unix_path = path});
    REQUIRE(stat(path, &st) == 0);
    CHECK_INT(st.st_mode & 0777, 0600);
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    snprintf(name.sun_path, sizeof name.sun_path, "%s", path);
    struct raw_peer peer = {.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    REQUIRE(connect(peer.fd, (struct sockaddr *)&name, sizeof name) == 0);
    raw_send(&peer, "GET /status HTTP/1.1\r\nHost: h\r\n\r\n");
    TURN_UNTIL(world.loop, raw_got(&peer, "/status"));
    raw_close(&peer);
    tear_down(&world);
    CHECK(stat(path, &st) != 0);
    rmdir(dir);
    pl_free(path);
}

TEST(a_thousand_watchers_get_each_event_once)
{
    enum { WATCHERS = 1000, EVENTS = 20 };
    struct world world;
    struct rlimit files;
    REQUIRE(getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_max > 2 * WATCHERS + 100);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    set_up(&world);
    world.watchers = pl_calloc(WATCHERS, sizeof(struct pl_exchange *));
    struct raw_peer *peers = pl_calloc(WATCHERS, sizeof *peers);
    for (int i = 0; i < WATCHERS; i++) {
        raw_connect(&peers[i], world.port);
        raw_send(&peers[i], "GET /watch HTTP/1.1\r\nHost: h\r\n\r\n");
        if (i % 50 == 49)
            TURN_UNTIL(world.loop, world.watcher_count == i + 1);
    }
    char event[1024];
    memset(event, 'e', sizeof event);
    for (int round = 0; round < EVENTS; round++) {
        for (int i = 0; i < WATCHERS; i++)
            pl_exchange_write(world.watchers[i], pl_slice(event, sizeof event));
        pl_loop_turn(world.loop, 0);
    }
    for (int i = 0; i < WATCHERS; i++)
        pl_exchange_end(world.watchers[i]);
    size_t want = strlen("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                         "Transfer-Encoding: chunked\r\n\r\n") +
                  EVENTS * (5 + 1024 + 2) + 5;
    for (int i = 0; i < WATCHERS; i++) {
        TURN_UNTIL(world.loop, raw_got(&peers[i], "\r\n0\r\n\r\n"));
        CHECK_INT(peers[i].got.len, want);
        raw_close(&peers[i]);
    }
    pl_free(peers);
    pl_free(world.watchers);
    tear_down(&world);
}

TEST_MAIN()
