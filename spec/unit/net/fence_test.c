#include "net/fence.h"

#include "base/alloc.h"
#include "net/http_client.h"
#include "support/http_answer.h"
#include "support/test.h"
#include "support/turn.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>

/* A client, and server sockets that the test reads byte by byte or not at all. */
struct stage {
    struct pl_loop *loop;
    struct pl_http_client *client;
    struct pl_fence fence;
    bool open;
    int asked;
    int listener;
    struct raw_peer peer; /* the last connection */
    struct http_answer answer;
    char url[64];
};

static bool may_write(void *arg)
{
    struct stage *stage = arg;
    stage->asked++;
    return stage->open;
}

static void stage_up(struct stage *stage)
{
    int port;
    memset(stage, 0, sizeof *stage);
    stage->loop = pl_loop_create(pl_clock_system());
    stage->client = pl_http_client_create(stage->loop);
    stage->fence = (struct pl_fence){may_write, stage};
    stage->open = true;
    stage->listener = raw_listen(16, &port);
    fcntl(stage->listener, F_SETFL, O_NONBLOCK);
    stage->peer.fd = -1;
    snprintf(stage->url, sizeof stage->url, "http://127.0.0.1:%d/", port);
}

static void stage_down(struct stage *stage)
{
    http_answer_deinit(&stage->answer);
    raw_close(&stage->peer);
    close(stage->listener);
    pl_http_client_destroy(stage->client);
    pl_loop_destroy(stage->loop);
}

static struct pl_http_call *ask(struct stage *stage, const char *method, struct pl_slice body)
{
    struct pl_transport transport = pl_http_client_transport(stage->client);
    struct pl_http_request request = {.method = method,
                                      .url = stage->url,
                                      .body = body,
                                      .lane = PL_HTTP_LANE_FENCED,
                                      .fence = &stage->fence};
    http_answer_deinit(&stage->answer);
    memset(&stage->answer, 0, sizeof stage->answer);
    return transport.ops->start(transport.self, &request, &http_answer_ops, &stage->answer);
}

/* Waits for a connection; reuses the last one unless it was forgotten. */
static bool accepted(struct stage *stage)
{
    if (stage->peer.fd < 0)
        stage->peer.fd = accept4(stage->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    return stage->peer.fd >= 0;
}

static void forget_peer(struct stage *stage)
{
    raw_close(&stage->peer);
    stage->peer = (struct raw_peer){.fd = -1};
}

#define OK_EMPTY "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
#define BIG      ((size_t)32 << 20) /* more than the sockets of both sides hold */

/* A request of which the kernel took only a part, because the peer does not read. */
static char *begin_big(struct stage *stage, struct pl_http_call **call)
{
    char *body = pl_calloc(1, BIG);
    *call = ask(stage, "POST", pl_slice(body, BIG));
    TURN_UNTIL(stage->loop, accepted(stage));
    for (int i = 0; i < 20; i++) /* it fills all buffers */
        pl_loop_turn(stage->loop, 1);
    CHECK_INT(stage->answer.done, 0);
    return body;
}

static void check_never_completed(struct stage *stage)
{
    TURN_UNTIL(stage->loop, raw_ended(&stage->peer));
    CHECK(stage->peer.got.len > 0);
    CHECK(stage->peer.got.len < BIG);
}

TEST(what_was_sent_in_part_when_the_fence_closed_is_never_completed)
{
    struct stage stage;
    struct pl_http_call *call;
    stage_up(&stage);
    char *body = begin_big(&stage, &call);
    stage.open = false;
    /* The peer reads again, so the socket accepts more; the client is not told. */
    check_never_completed(&stage);
    TURN_UNTIL(stage.loop, stage.answer.done);
    CHECK_INT(stage.answer.code, PL_EREFUSED);
    pl_free(body);
    stage_down(&stage);
}

/* curl, TLS and HTTP/2 buffer bytes and send them without a check at any event of the connection.
 * So the fence is asked before every event. */
TEST(nothing_happens_on_a_connection_behind_a_closed_fence_but_its_end)
{
    struct stage stage;
    stage_up(&stage);
    ask(&stage, "DELETE", pl_slice_z(""));
    TURN_UNTIL(stage.loop, accepted(&stage));
    TURN_UNTIL(stage.loop, raw_got(&stage.peer, "\r\n\r\n"));
    stage.open = false;
    raw_send(&stage.peer, "HTTP/1.1 100 Continue\r\n\r\n");
    TURN_UNTIL(stage.loop, stage.answer.done);
    CHECK_INT(stage.answer.code, PL_EREFUSED);
    CHECK(raw_ended(&stage.peer));
    stage_down(&stage);
}

TEST(canceling_behind_a_closed_fence_lets_nothing_more_out_either)
{
    struct stage stage;
    struct pl_http_call *call;
    struct pl_transport transport;
    stage_up(&stage);
    char *body = begin_big(&stage, &call);
    transport = pl_http_client_transport(stage.client);
    stage.open = false;
    transport.ops->cancel(transport.self, call);
    TURN_UNTIL(stage.loop, stage.answer.done);
    CHECK_INT(stage.answer.code, PL_ECANCELED);
    check_never_completed(&stage);
    pl_free(body);
    stage_down(&stage);
}

TEST(an_open_fence_lets_everything_out)
{
    struct stage stage;
    struct pl_http_call *call;
    stage_up(&stage);
    char *body = begin_big(&stage, &call);
    TURN_UNTIL(stage.loop, raw_read(&stage.peer) && stage.peer.got.len > BIG);
    raw_send(&stage.peer, OK_EMPTY);
    TURN_UNTIL(stage.loop, stage.answer.done);
    CHECK_INT(stage.answer.code, 0);
    CHECK(stage.asked > 10);
    pl_free(body);
    stage_down(&stage);
}

TEST(after_a_fence_has_opened_again_requests_go_over_new_connections)
{
    struct stage stage;
    stage_up(&stage);
    ask(&stage, "DELETE", pl_slice_z(""));
    TURN_UNTIL(stage.loop, accepted(&stage));
    TURN_UNTIL(stage.loop, raw_got(&stage.peer, "\r\n\r\n"));
    raw_send(&stage.peer, OK_EMPTY);
    TURN_UNTIL(stage.loop, stage.answer.done);
    stage.open = false;
    ask(&stage, "DELETE", pl_slice_z(""));
    TURN_UNTIL(stage.loop, stage.answer.done);
    CHECK_INT(stage.answer.code, PL_EREFUSED);
    TURN_UNTIL(stage.loop, raw_ended(&stage.peer));
    forget_peer(&stage);
    stage.open = true;
    ask(&stage, "DELETE", pl_slice_z(""));
    TURN_UNTIL(stage.loop, accepted(&stage));
    TURN_UNTIL(stage.loop, raw_got(&stage.peer, "\r\n\r\n"));
    raw_send(&stage.peer, OK_EMPTY);
    TURN_UNTIL(stage.loop, stage.answer.done);
    CHECK_INT(stage.answer.code, 0);
    stage_down(&stage);
}

TEST(a_request_behind_a_fence_needs_the_lane_of_such_requests)
{
    struct stage stage;
    stage_up(&stage);
    struct pl_transport transport = pl_http_client_transport(stage.client);
    struct pl_http_request request = {.method = "GET", .url = stage.url, .fence = &stage.fence};
    transport.ops->start(transport.self, &request, &http_answer_ops, &stage.answer);
    TURN_UNTIL(stage.loop, stage.answer.done);
    CHECK_INT(stage.answer.code, PL_EINVAL);
    stage_down(&stage);
}

/* libcurl does not always say that it closes one. */
TEST(a_number_that_became_another_sockets_is_left_alone)
{
    struct stage stage;
    int pair[2], fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    stage_up(&stage);
    REQUIRE(fd >= 0 && pl_fence_add_socket(&stage.fence, fd));
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    REQUIRE(dup2(pair[0], fd) == fd);
    pl_fence_shut(&stage.fence);
    CHECK_INT(send(fd, "x", 1, MSG_NOSIGNAL), 1);
    pl_fence_guard();
    stage.open = false;
    raise(SIGCONT);
    CHECK_INT(send(fd, "x", 1, MSG_NOSIGNAL), 1);
    pl_fence_unguard();
    pl_fence_remove_socket(fd);
    close(fd);
    close(pair[0]);
    close(pair[1]);
    stage_down(&stage);
}

/* If the queue is full, a connection gets no answer. */
static int join_queue(int port)
{
    struct sockaddr_in name = {.sin_family = AF_INET,
                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                               .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    REQUIRE(fd >= 0);
    CHECK(connect(fd, (struct sockaddr *)&name, sizeof name) == 0 || errno == EINPROGRESS);
    return fd;
}

/* Canceled or timed out while they still wait for the peer. */
TEST(connections_that_never_came_about_leave_room_for_others)
{
    struct stage stage;
    stage_up(&stage);
    struct pl_transport transport = pl_http_client_transport(stage.client);
    char good[sizeof stage.url];
    memcpy(good, stage.url, sizeof good);
    int port, full = raw_listen(0, &port), waits[3];
    for (size_t i = 0; i < PL_ARRAY_LEN(waits); i++)
        waits[i] = join_queue(port);
    snprintf(stage.url, sizeof stage.url, "http://127.0.0.1:%d/", port);
    for (int i = 0; i < 1100; i++) {
        struct pl_http_call *call = ask(&stage, "DELETE", pl_slice_z(""));
        for (int k = 0; k < 3; k++)
            pl_loop_turn(stage.loop, 0);
        REQUIRE(!stage.answer.done); /* it waits for its connection */
        transport.ops->cancel(transport.self, call);
        TURN_UNTIL(stage.loop, stage.answer.done);
        CHECK_INT(stage.answer.code, PL_ECANCELED);
    }
    memcpy(stage.url, good, sizeof good);
    ask(&stage, "DELETE", pl_slice_z(""));
    TURN_UNTIL(stage.loop, stage.answer.done || accepted(&stage));
    REQUIRE(accepted(&stage));
    TURN_UNTIL(stage.loop, raw_got(&stage.peer, "\r\n\r\n"));
    raw_send(&stage.peer, OK_EMPTY);
    TURN_UNTIL(stage.loop, stage.answer.done);
    CHECK_INT(stage.answer.code, 0);
    for (size_t i = 0; i < PL_ARRAY_LEN(waits); i++)
        close(waits[i]);
    close(full);
    stage_down(&stage);
}

/* F45. No turn of the loop runs between the signal and the next statement. */
TEST(a_process_that_goes_on_after_a_stop_asks_its_fences_first_of_all)
{
    struct stage stage;
    struct pl_http_call *call;
    stage_up(&stage);
    pl_fence_guard();
    char *body = begin_big(&stage, &call);
    raise(SIGCONT);
    CHECK(raw_read(&stage.peer)); /* an open fence changes nothing */
    stage.open = false;
    raise(SIGCONT);
    int64_t deadline = pl_clock_mono(pl_clock_system()) + 60 * PL_SECOND;
    while (!raw_ended(&stage.peer) && pl_clock_mono(pl_clock_system()) < deadline)
        continue;
    CHECK(raw_ended(&stage.peer));
    CHECK(stage.peer.got.len < BIG);
    TURN_UNTIL(stage.loop, stage.answer.done);
    CHECK(stage.answer.code == PL_EREFUSED || stage.answer.code == PL_ENETWORK);
    pl_fence_unguard();
    pl_free(body);
    stage_down(&stage);
}

TEST_MAIN()
