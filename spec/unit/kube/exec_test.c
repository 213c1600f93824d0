#include "kube/exec.h"

#include "harness.h"
#include "kube/status.h"
#include "net/websocket.h"
#include "value/scan.h"

#define KEY    "dGhlIHNhbXBsZSBub25jZQ=="
#define ACCEPT "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
#define OPTIONS                                                                                    \
    "{\"command\":[\"sh\",\"-c\",\"a&b\",\"\"],\"container\":\"c\",\"stdin\":true,\"stdout\":"     \
    "true,"                                                                                        \
    "\"stderr\":true}"
#define SUCCESS "{\"metadata\":{},\"status\":\"Success\"}"
#define EXITED_7                                                                                   \
    "{\"status\":\"Failure\",\"reason\":\"NonZeroExitCode\",\"details\":{\"causes\":[{\"reason\":" \
    "\"ExitCode\",\"message\":\"7\"}]}}"
#define BROKEN                                                                                     \
    "{\"status\":\"Failure\",\"reason\":\"InternalError\",\"message\":\"no "                       \
    "runtime\",\"code\":500}"

/* ---- the channels ---- */

struct session {
    struct pl_rand rand;
    struct pl_buf sent;
    struct pl_exec *exec;
    struct pl_err err;
};

static void on_send(void *arg, struct pl_slice bytes)
{
    pl_buf_add_slice(&((struct session *)arg)->sent, bytes);
}

static void open_with(struct session *s, const char *accept, const char *protocol,
                      struct pl_slice input)
{
    const struct pl_http_header headers[] = {{"upgrade", "WebSocket"},
                                             {"sec-websocket-accept", accept},
                                             {"sec-websocket-protocol", protocol}};
    struct pl_http_response response = {101, headers, protocol != NULL ? 3 : 2};
    memset(s, 0, sizeof *s);
    pl_rand_seed(&s->rand, 1);
    struct pl_exec_params params = {
        .key = KEY, .input = input, .most = 100, .rand = &s->rand, .send = on_send, .arg = s};
    pl_err_clear(&s->err);
    s->exec = pl_exec_create(&params, &response, &s->err);
}

static void open_session(struct session *s)
{
    open_with(s, ACCEPT, "v5.channel.k8s.io", pl_slice(NULL, 0));
    REQUIRE(s->exec != NULL);
}

static int hear(struct session *s, int channel, const char *text)
{
    struct pl_buf frame = PL_BUF_INIT;
    pl_ws_write(&frame, PL_WS_BINARY, channel, pl_slice_z(text), NULL);
    int code = pl_exec_feed(s->exec, pl_buf_slice(&frame), &s->err);
    pl_buf_deinit(&frame);
    return code;
}

static void close_session(struct session *s)
{
    pl_exec_destroy(s->exec);
    pl_buf_deinit(&s->sent);
}

static int add_said(void *arg, enum pl_ws_type type, struct pl_slice payload)
{
    pl_buf_add_f(arg, "%d:", (int)type);
    for (size_t i = 0; i < payload.len; i++)
        pl_buf_add_f(arg,
                     (uint8_t)payload.ptr[i] < 32 || (uint8_t)payload.ptr[i] > 126 ? "<%u>" : "%c",
                     (unsigned)(uint8_t)payload.ptr[i]);
    pl_buf_add_z(arg, "\n");
    return 0;
}

/* What was sent, as the server reads it. */
static void check_sent(struct pl_slice sent, const char *want)
{
    struct pl_ws_reader reader = {.max_message = 1 << 20, .from_client = true};
    struct pl_buf said = PL_BUF_INIT;
    CHECK_INT(pl_ws_feed(&reader, sent, add_said, &said, NULL), 0);
    CHECK_STR(pl_buf_z(&said), want);
    pl_ws_reader_deinit(&reader);
    pl_buf_deinit(&said);
}

TEST(output_and_code_come_by_their_channels)
{
    struct session s;
    open_session(&s);
    CHECK_INT(hear(&s, 1, ""), 0);
    CHECK_INT(hear(&s, 1, "one "), 0);
    CHECK_INT(hear(&s, 2, "bad"), 0);
    CHECK_INT(hear(&s, 1, "two"), 0);
    CHECK(!pl_exec_has_result(s.exec));
    CHECK_INT(hear(&s, 3, EXITED_7), 0);
    CHECK(pl_exec_has_result(s.exec) && !pl_exec_is_closed(s.exec));
    CHECK_INT(pl_exec_feed(s.exec, pl_slice("\x88\x02\x03\xe8", 4), &s.err), 0);
    CHECK(pl_exec_is_closed(s.exec));
    const struct pl_exec_result *result = pl_exec_end(s.exec, &s.err);
    REQUIRE(result != NULL);
    CHECK_STR(pl_buf_z(&result->out), "one two");
    CHECK_STR(pl_buf_z(&result->err), "bad");
    CHECK_INT(result->code, 7);
    check_sent(pl_buf_slice(&s.sent), "8:<3><232>\n");
    close_session(&s);
}

TEST(stdin_is_sent_and_its_end_told_where_the_server_knows_of_ends)
{
    struct session s;
    open_with(&s, ACCEPT, "v5.channel.k8s.io", pl_slice_z("hi"));
    REQUIRE(s.exec != NULL);
    check_sent(pl_buf_slice(&s.sent), "2:<0>hi\n2:<255><0>\n");
    close_session(&s);
    open_with(&s, ACCEPT, "v4.channel.k8s.io", pl_slice_z("hi"));
    CHECK(s.exec == NULL);
    CHECK(strstr(s.err.message, "stdin needs v5.channel.k8s.io") != NULL);
    open_with(&s, ACCEPT, "v4.channel.k8s.io", pl_slice(NULL, 0));
    REQUIRE(s.exec != NULL);
    CHECK_INT(hear(&s, 3, SUCCESS), 0);
    CHECK_INT(pl_exec_end(s.exec, NULL)->code, 0);
    close_session(&s);
}

TEST(a_handshake_that_is_not_ours_is_refused)
{
    struct session s;
    open_with(&s, "s3pPLMBiTxaQ9kYGzzhZRbK+xOO=", "v5.channel.k8s.io", pl_slice(NULL, 0));
    CHECK(s.exec == NULL && s.err.code == PL_ENETWORK);
    CHECK_STR(s.err.reason, "Protocol");
    open_with(&s, ACCEPT, "v3.channel.k8s.io", pl_slice(NULL, 0));
    CHECK(s.exec == NULL);
    open_with(&s, ACCEPT, NULL, pl_slice(NULL, 0));
    CHECK(s.exec == NULL);
    CHECK_STR(s.err.message,
              "exec: the server speaks neither v5.channel.k8s.io nor v4.channel.k8s.io");
}

static void check_broken(int channel, const char *text, int code, const char *message)
{
    struct session s;
    open_session(&s);
    CHECK_INT(hear(&s, channel, text), code);
    if (strstr(s.err.message, message) == NULL)
        TEST_FAIL("%s", s.err.message);
    close_session(&s);
}

TEST(a_server_that_lies_ends_the_command)
{
    char much[102];
    memset(much, 'x', 101);
    much[101] = '\0';
    check_broken(1, much, PL_ELIMIT, "printed more than 100 bytes; raise limit_bytes");
    check_broken(2, much, PL_ELIMIT, "printed more than 100 bytes");
    check_broken(4, "x", PL_ESYNTAX, "unknown channel 4");
    check_broken(3, "no JSON", PL_ESYNTAX, "exec: the command's status: ");
    check_broken(3, BROKEN, PL_EAPI, "no runtime");
    check_broken(3, "[]", PL_EAPI, "");
    check_broken(3, "{\"status\":\"Failure\",\"reason\":\"NonZeroExitCode\"}", PL_EAPI, "");
    check_broken(3,
                 "{\"status\":\"Failure\",\"reason\":\"NonZeroExitCode\",\"details\":{\"causes\":[{"
                 "\"reason\":\"ExitCode\",\"message\":\"99999999999\"}]}}",
                 PL_EAPI, "");
    struct session s;
    open_session(&s);
    CHECK_INT(hear(&s, 3, SUCCESS), 0);
    CHECK_INT(hear(&s, 3, SUCCESS), PL_ESYNTAX);
    close_session(&s);
    open_session(&s);
    CHECK_INT(hear(&s, 1, "some"), 0);
    CHECK(pl_exec_end(s.exec, &s.err) == NULL);
    CHECK(strstr(s.err.message, "ended before the command's status came") != NULL);
    close_session(&s);
}

TEST(pings_are_answered_but_not_without_end)
{
    struct session s;
    int code = 0;
    open_session(&s);
    CHECK_INT(pl_exec_feed(s.exec, pl_slice("\x89\x01p", 3), &s.err), 0);
    check_sent(pl_buf_slice(&s.sent), "10:p\n");
    for (int i = 0; i < 20000 && code == 0; i++)
        code = pl_exec_feed(s.exec, pl_slice("\x89\x00", 2), &s.err);
    CHECK_INT(code, PL_ELIMIT);
    close_session(&s);
}

/* ---- the operation ---- */

struct answered {
    int count, code;
    struct pl_buf out;
    struct pl_err err;
};

static void on_answer(void *arg, const struct pl_answer *answer)
{
    struct answered *got = arg;
    got->count++;
    if (answer->err != NULL)
        got->err = *answer->err;
    if (answer->exec == NULL)
        return;
    got->code = answer->exec->code;
    pl_buf_add_slice(&got->out, pl_buf_slice(&answer->exec->out));
}

static struct fake_request *start(struct bench *b, struct answered *got)
{
    struct pl_doc *options =
        pl_scan_text(pl_slice_z(OPTIONS), &(struct pl_scan_options){.max_depth = 0}, NULL);
    struct pl_call call = {.verb = PL_VERB_CREATE,
                           .resource = &pods,
                           .ns = pl_slice_z("default"),
                           .name = pl_slice_z("a"),
                           .subresource = pl_slice_z("exec"),
                           .exec = true,
                           .input = pl_slice_z("in"),
                           .most = 100,
                           .grace_period = -1,
                           .body = options};
    memset(got, 0, sizeof *got);
    pl_client_start(b->client, &call, on_answer, got);
    pl_doc_unref(options);
    struct fake_request *request = FAKE_EXPECT(
        &b->net, "GET",
        "/prefix/api/v1/namespaces/default/pods/a/exec?command=sh&command=-c&command=a%26b&command="
        "&container=c&stdin=true&stdout=true&stderr=true");
    CHECK(request->request.upgrade);
    CHECK_STR(fake_header(request, "upgrade"), "websocket");
    CHECK_STR(fake_header(request, "sec-websocket-protocol"), PL_EXEC_PROTOCOLS);
    return request;
}

static void switch_protocols(struct fake_request *request)
{
    char accept[PL_WS_ACCEPT];
    pl_ws_accept(fake_header(request, "sec-websocket-key"), accept);
    const struct pl_http_header headers[] = {{"upgrade", "websocket"},
                                             {"sec-websocket-accept", accept},
                                             {"sec-websocket-protocol", "v5.channel.k8s.io"}};
    fake_begin_with(request, 101, headers, 3);
}

static void stream(struct fake_request *request, int channel, const char *text)
{
    struct pl_buf frame = PL_BUF_INIT;
    pl_ws_write(&frame, channel < 0 ? PL_WS_CLOSE : PL_WS_BINARY, channel, pl_slice_z(text), NULL);
    fake_stream_bytes(request, pl_buf_slice(&frame));
    pl_buf_deinit(&frame);
}

TEST(a_command_is_a_handshake_and_its_result)
{
    struct bench b;
    struct answered got;
    bench_init(&b);
    struct fake_request *request = start(&b, &got);
    switch_protocols(request);
    check_sent(pl_buf_slice(&request->said), "2:<0>in\n2:<255><0>\n");
    stream(request, 1, "out");
    stream(request, 3, EXITED_7);
    CHECK_INT(got.count, 0);
    stream(request, -1, "");
    bench_run(&b, 0);
    CHECK_INT(got.count, 1);
    CHECK_INT(got.code, 7);
    CHECK_STR(pl_buf_z(&got.out), "out");
    pl_buf_deinit(&got.out);
    bench_deinit(&b);
}

TEST(a_result_is_enough_where_the_server_does_not_close)
{
    struct bench b;
    struct answered got;
    bench_init(&b);
    struct fake_request *request = start(&b, &got);
    switch_protocols(request);
    stream(request, 3, SUCCESS);
    bench_run(&b, 990 * PL_MS);
    CHECK_INT(got.count, 0);
    bench_run(&b, 20 * PL_MS);
    CHECK_INT(got.count, 1);
    CHECK_INT(got.err.code, 0);
    CHECK(request->canceled);
    pl_buf_deinit(&got.out);
    bench_deinit(&b);
}

TEST(a_command_that_may_have_run_is_not_asked_for_again)
{
    struct bench b;
    struct answered got;
    bench_init(&b);
    struct fake_request *request = start(&b, &got);
    switch_protocols(request);
    stream(request, 1, "out");
    fake_fail(request, PL_ENETWORK, "ConnectionReset");
    bench_run(&b, 10 * PL_SECOND);
    CHECK_INT(got.count, 1);
    CHECK_INT(got.err.code, PL_ENETWORK);
    CHECK_INT(b.net.start_count, 1);

    request = start(&b, &got);
    fake_fail(request, PL_ENETWORK, "ConnectionReset"); /* before its answer */
    bench_run(&b, 10 * PL_SECOND);
    CHECK_INT(got.count, 1);
    CHECK_INT(b.net.start_count, 2);

    request = start(&b, &got);
    switch_protocols(request);
    bench_run(&b, 31 * PL_SECOND);
    CHECK_INT(got.err.code, PL_ETIMEOUT);
    bench_deinit(&b);
}

TEST(what_the_server_answers_instead_is_told)
{
    struct bench b;
    struct answered got;
    bench_init(&b);
    fake_reply(start(&b, &got), 403,
               "{\"kind\":\"Status\",\"reason\":\"Forbidden\",\"message\":\"no pods/exec\"}");
    CHECK(pl_err_is_forbidden(&got.err));
    fake_reply(start(&b, &got), 200, "{}");
    CHECK_INT(got.err.code, PL_ENETWORK);
    CHECK(strstr(got.err.message, "answered 200 instead of switching to WebSocket") != NULL);
    fake_reply(start(&b, &got), 101, "");
    bench_run(&b, 0);
    CHECK_INT(got.count, 1);
    CHECK(strstr(got.err.message, "switched to something that is not WebSocket") != NULL);
    bench_deinit(&b);
}

TEST(a_command_can_be_cancelled_at_any_moment)
{
    struct bench b;
    struct answered got;
    bench_init(&b);
    for (int when = 0; when < 4; when++) {
        memset(&got, 0, sizeof got);
        struct pl_doc *options = pl_scan_text(pl_slice_z("{\"command\":[\"a\"]}"),
                                              &(struct pl_scan_options){.max_depth = 0}, NULL);
        struct pl_call call = {.verb = PL_VERB_CREATE,
                               .resource = &pods,
                               .ns = pl_slice_z("d"),
                               .name = pl_slice_z("a"),
                               .subresource = pl_slice_z("exec"),
                               .exec = true,
                               .most = 10,
                               .grace_period = -1,
                               .body = options};
        struct pl_op *op = pl_client_start(b.client, &call, on_answer, &got);
        struct fake_request *request = FAKE_EXPECT(&b.net, "GET", "");
        if (when > 0)
            switch_protocols(request);
        if (when > 1)
            stream(request, 3, SUCCESS);
        if (when > 2)
            stream(request, -1, "");
        pl_op_cancel(op);
        bench_run(&b, 2 * PL_SECOND);
        CHECK_INT(got.count, 1);
        CHECK_INT(got.err.code, PL_ECANCELED);
        pl_doc_unref(options);
    }
    bench_deinit(&b);
}

TEST_MAIN()
