/* Simulated commands: over WebSocket, with the channels of v5.channel.k8s.io and v4, the server
 * sends the output and the exit code of the Pod's annotation.
 *
 *     perilune.dev/exec: '{"stdout": "...", "stderr": "...", "code": 3, "echo": true}'
 *
 * With echo, stdin is copied to stdout, and the command ends with stdin. A session owns itself: it
 * is freed when the client leaves or when everything was sent. The client is hostile: frames are
 * checked, messages have a size limit, and a violation ends the session. */
#include "apiserver/exec.h"

#include "base/alloc.h"
#include "net/http_server.h"
#include "net/websocket.h"
#include "object/meta.h"
#include "value/scan.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#define MAX_MESSAGE ((size_t)1 << 20)
#define MAX_ECHO    ((size_t)64 << 20)
#define PIECE       ((size_t)32 * 1024)

enum channel { STDIN = 0, STDOUT = 1, STDERR = 2, STATUS = 3, CLOSING = 255 };

struct session {
    struct pl_api_responder responder;
    struct pl_ws_reader reader;
    struct pl_doc *answer; /* counted */
    bool echo, over;
    size_t echoed;
};

static void destroy(struct session *session)
{
    pl_ws_reader_deinit(&session->reader);
    pl_doc_unref(session->answer);
    pl_free(session);
}

static void on_close(void *arg)
{
    destroy(arg);
}

static void exec_say(struct session *session, enum pl_ws_type type, int channel,
                     struct pl_slice text)
{
    struct pl_buf frame = PL_BUF_INIT;
    pl_ws_write(&frame, type, channel, text, NULL);
    session->responder.ops->write(session->responder.self, pl_buf_slice(&frame));
    pl_buf_deinit(&frame);
}

static void print(struct session *session, enum channel channel, const char *member)
{
    struct pl_scratch scratch;
    struct pl_slice text =
        pl_node_str(pl_node_getz(pl_doc_root(session->answer), member), &scratch);
    for (size_t at = 0; at < text.len; at += PIECE)
        exec_say(session, PL_WS_BINARY, channel,
                 pl_slice(text.ptr + at, text.len - at < PIECE ? text.len - at : PIECE));
}

static void tell_status(struct session *session)
{
    struct pl_buf text = PL_BUF_INIT;
    int64_t code = 0;
    pl_node_int(pl_node_getz(pl_doc_root(session->answer), "code"), &code);
    if (code == 0)
        pl_buf_add_z(&text, "{\"metadata\":{},\"status\":\"Success\"}");
    else
        pl_buf_add_f(
            &text,
            "{\"metadata\":{},\"status\":\"Failure\",\"message\":\"command terminated with "
            "non-zero exit code: exit status %" PRId64
            "\",\"reason\":\"NonZeroExitCode\",\"details\":{\"causes\":[{\"reason\":"
            "\"ExitCode\",\"message\":\"%" PRId64 "\"}]}}",
            code, code);
    exec_say(session, PL_WS_BINARY, STATUS, pl_buf_slice(&text));
    pl_buf_deinit(&text);
}

/* The command ends, and the session with it. */
static void exec_finish(struct session *session)
{
    static const char normal[] = {3, (char)0xe8}; /* 1000 */
    print(session, STDERR, "stderr");
    tell_status(session);
    exec_say(session, PL_WS_CLOSE, -1, pl_slice(normal, sizeof normal));
    session->over = true;
}

/* ---- messages of the client ---- */

static int on_message(struct session *session, struct pl_slice message)
{
    if (message.len == 0)
        return 0;
    struct pl_slice text = pl_slice(message.ptr + 1, message.len - 1);
    uint8_t channel = (uint8_t)message.ptr[0];
    if (channel == STDIN && session->echo && !session->over) {
        session->echoed += text.len;
        if (session->echoed > MAX_ECHO)
            return PL_ELIMIT;
        exec_say(session, PL_WS_BINARY, STDOUT, text);
    } else if (channel == CLOSING && text.len == 1 && text.ptr[0] == STDIN && session->echo) {
        exec_finish(session);
        return PL_ECLOSED;
    }
    return 0;
}

static int exec_tell(void *arg, enum pl_ws_type type, struct pl_slice payload)
{
    struct session *session = arg;
    if (type == PL_WS_CLOSE)
        return PL_ECLOSED;
    if (type == PL_WS_PING)
        exec_say(session, PL_WS_PONG, -1, payload);
    return type == PL_WS_BINARY || type == PL_WS_TEXT ? on_message(session, payload) : 0;
}

static void on_bytes(void *arg, struct pl_slice bytes)
{
    struct session *session = arg;
    struct pl_api_responder responder = session->responder;
    if (pl_ws_feed(&session->reader, bytes, exec_tell, session, NULL) == 0)
        return;
    destroy(session);
    responder.ops->end(responder.self);
}

/* ---- the handshake ---- */

/* One word of a header. */
static bool offers(const char *list, const char *word)
{
    size_t len = strlen(word);
    for (const char *at = list; at != NULL && *at != '\0';) {
        at += strspn(at, " ,");
        size_t end = strcspn(at, " ,");
        if (end == len && strncmp(at, word, len) == 0)
            return true;
        at += end;
    }
    return false;
}

/* NULL and the status if the annotation is malformed. */
static struct pl_doc *answer_of(struct pl_api_ctx *ctx, struct pl_node pod)
{
    struct pl_scratch scratch;
    struct pl_err err;
    struct pl_slice text = pl_node_str(
        pl_node_getz(pl_node_dig(pod, "metadata", "annotations"), PL_API_EXEC_ANNOTATION),
        &scratch);
    pl_err_clear(&err);
    struct pl_doc *doc = pl_scan_text(text, &(struct pl_scan_options){.max_depth = 8}, &err);
    if (doc != NULL && pl_node_type(pl_doc_root(doc)) == PL_OBJECT)
        return doc;
    pl_api_bad_request(
        &ctx->status,
        "the annotation " PL_API_EXEC_ANNOTATION " of pod %.*s is not a JSON object: %s",
        PL_FMT(ctx->request.name), doc == NULL ? err.message : "it is another JSON value");
    pl_doc_unref(doc);
    return NULL;
}

static bool asks_for_stdin(const struct pl_api_ctx *ctx)
{
    struct pl_buf value = PL_BUF_INIT;
    bool asks = pl_query_get(ctx->request.call.query, "stdin", &value) &&
                (strcmp(pl_buf_z(&value), "true") == 0 || strcmp(pl_buf_z(&value), "1") == 0);
    pl_buf_deinit(&value);
    return asks;
}

static void begin(struct pl_api_ctx *ctx, struct pl_doc *answer, const char *protocol)
{
    char accept[PL_WS_ACCEPT];
    struct session *session = PL_NEW(struct session);
    session->responder = ctx->responder;
    session->reader = (struct pl_ws_reader){.max_message = MAX_MESSAGE, .from_client = true};
    session->answer = answer;
    session->echo = asks_for_stdin(ctx) && pl_node_bool(pl_node_getz(pl_doc_root(answer), "echo"));
    pl_ws_accept(ctx->request.call.ws_key, accept);
    const struct pl_http_header headers[] = {{"Upgrade", "websocket"},
                                             {"Sec-WebSocket-Accept", accept},
                                             {"Sec-WebSocket-Protocol", protocol}};
    struct pl_api_responder responder = session->responder;
    responder.ops->upgrade(responder.self, headers, 3, on_bytes, on_close, session);
    print(session, STDOUT, "stdout");
    if (session->echo)
        return;
    exec_finish(session);
    destroy(session);
    responder.ops->end(responder.self);
}

int pl_api_exec(struct pl_api_ctx *ctx, struct pl_node pod)
{
    const struct pl_api_call *call = &ctx->request.call;
    struct pl_node answers = pl_node_dig(pod, "metadata", "annotations");
    bool upgrades = call->upgrade != NULL && strcasecmp(call->upgrade, "websocket") == 0 &&
                    call->ws_key != NULL && strcmp(call->method, "GET") == 0;
    if (pl_node_is_missing(pl_node_getz(answers, PL_API_EXEC_ANNOTATION)) || !upgrades ||
        !pl_slice_eqz(ctx->request.subresource, "exec") || ctx->responder.ops->upgrade == NULL)
        return 1;
    const char *protocol = offers(call->ws_protocol, "v5.channel.k8s.io")   ? "v5.channel.k8s.io"
                           : offers(call->ws_protocol, "v4.channel.k8s.io") ? "v4.channel.k8s.io"
                                                                            : NULL;
    if (protocol == NULL)
        return pl_api_bad_request(&ctx->status, "unable to upgrade: none of v5.channel.k8s.io and "
                                                "v4.channel.k8s.io is offered");
    struct pl_doc *answer = answer_of(ctx, pod);
    if (answer == NULL)
        return -1;
    begin(ctx, answer, protocol);
    return 0;
}
