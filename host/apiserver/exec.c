/* Simulated commands: over WebSocket, with the channels of v5.channel.k8s.io and v4, the server
 * sends the output and the exit code that the code around it gives (commands.h), or else those of
 * the Pod's annotation.
 *
 *     perilune.dev/exec: '{"stdout": "...", "stderr": "...", "code": 3, "echo": true}'
 *
 * With echo, stdin is copied to stdout, and the command ends with stdin. The code around the server
 * is asked once stdin is complete. A session owns itself: it
 * is freed when the client leaves or when everything was sent. The client is hostile: frames are
 * checked, messages have a size limit, and a violation ends the session. */
#include "apiserver/exec.h"

#include "base/alloc.h"
#include "base/text.h"
#include "net/http_server.h"
#include "net/websocket.h"
#include "value/scan.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#define MAX_MESSAGE ((size_t)1 << 20)
#define MAX_INPUT   ((size_t)64 << 20)
#define PIECE       ((size_t)32 * 1024)

enum channel { STDIN = 0, STDOUT = 1, STDERR = 2, STATUS = 3, CLOSING = 255 };

struct session {
    struct pl_api_responder responder;
    struct pl_ws_reader reader;
    struct pl_doc *answer; /* counted; NULL: `commands` is asked when stdin is complete */
    const struct pl_api_commands *commands;
    char *ns, *pod, *query; /* owned; NULL if there is an answer */
    struct pl_buf input;    /* for `commands` */
    bool reads, over;
    size_t received;
};

static void destroy(struct session *session)
{
    pl_ws_reader_deinit(&session->reader);
    pl_doc_unref(session->answer);
    pl_buf_deinit(&session->input);
    pl_free(session->ns);
    pl_free(session->pod);
    pl_free(session->query);
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

/* The output that `commands` gives. If `commands` fails, the command fails. */
static void ask_commands(struct session *session)
{
    const struct pl_api_command command = {pl_slice_z(session->ns), pl_slice_z(session->pod),
                                           pl_slice_z(session->query),
                                           pl_buf_slice(&session->input)};
    struct pl_buf text = PL_BUF_INIT;
    if (session->commands->answer(session->commands->arg, &command, &text))
        session->answer =
            pl_scan_text(pl_buf_slice(&text), &(struct pl_scan_options){.max_depth = 8}, NULL);
    if (session->answer == NULL)
        session->answer =
            pl_scan_text(pl_slice_z("{\"code\":1}"), &(struct pl_scan_options){0}, NULL);
    pl_buf_deinit(&text);
    print(session, STDOUT, "stdout");
}

/* The command ends, and the session with it. */
static void exec_finish(struct session *session)
{
    static const char normal[] = {3, (char)0xe8}; /* 1000 */
    if (session->answer == NULL)
        ask_commands(session);
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
    if (channel == STDIN && session->reads && !session->over) {
        session->received += text.len;
        if (session->received > MAX_INPUT)
            return PL_ELIMIT;
        if (session->answer == NULL)
            pl_buf_add_slice(&session->input, text);
        else
            exec_say(session, PL_WS_BINARY, STDOUT, text);
    } else if (channel == CLOSING && text.len == 1 && text.ptr[0] == STDIN && session->reads) {
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

static bool echoes(const struct pl_doc *answer)
{
    return pl_node_bool(pl_node_getz(pl_doc_root(answer), "echo"));
}

static bool asks_for_stdin(const struct pl_api_ctx *ctx)
{
    struct pl_buf value = PL_BUF_INIT;
    bool asks = pl_query_get(ctx->request.call.query, "stdin", &value) &&
                (strcmp(pl_buf_z(&value), "true") == 0 || strcmp(pl_buf_z(&value), "1") == 0);
    pl_buf_deinit(&value);
    return asks;
}

/* answer: a reference to take; NULL: `commands` answers. */
static struct session *exec_open(struct pl_api_ctx *ctx, struct pl_doc *answer)
{
    struct session *session = PL_NEW(struct session);
    session->responder = ctx->responder;
    session->reader = (struct pl_ws_reader){.max_message = MAX_MESSAGE, .from_client = true};
    session->answer = answer;
    session->commands = &ctx->api->commands;
    session->reads = asks_for_stdin(ctx) && (answer == NULL || echoes(answer));
    if (answer == NULL) {
        struct pl_slice query = ctx->request.call.query;
        session->ns = pl_text_copy(ctx->request.ns);
        session->pod = pl_text_copy(ctx->request.name);
        session->query = pl_text_copy(query);
    }
    return session;
}

static void begin(struct pl_api_ctx *ctx, struct pl_doc *answer, const char *protocol)
{
    char accept[PL_WS_ACCEPT];
    struct session *session = exec_open(ctx, answer);
    pl_ws_accept(ctx->request.call.ws_key, accept);
    const struct pl_http_header headers[] = {{"Upgrade", "websocket"},
                                             {"Sec-WebSocket-Accept", accept},
                                             {"Sec-WebSocket-Protocol", protocol}};
    struct pl_api_responder responder = session->responder;
    responder.ops->upgrade(responder.self, headers, 3, on_bytes, on_close, session);
    if (answer != NULL)
        print(session, STDOUT, "stdout");
    if (session->reads)
        return;
    exec_finish(session);
    destroy(session);
    responder.ops->end(responder.self);
}

/* `commands` answers for this Pod. */
static bool is_answered(const struct pl_api_ctx *ctx)
{
    const struct pl_api_commands *commands = &ctx->api->commands;
    const struct pl_api_command command = {.ns = ctx->request.ns, .pod = ctx->request.name};
    return commands->answer != NULL && commands->answer(commands->arg, &command, NULL);
}

int pl_api_exec(struct pl_api_ctx *ctx, struct pl_node pod)
{
    const struct pl_api_call *call = &ctx->request.call;
    struct pl_node noted =
        pl_node_getz(pl_node_dig(pod, "metadata", "annotations"), PL_API_EXEC_ANNOTATION);
    bool upgrades = call->upgrade != NULL && strcasecmp(call->upgrade, "websocket") == 0 &&
                    call->ws_key != NULL && strcmp(call->method, "GET") == 0;
    if (!upgrades || !pl_slice_eqz(ctx->request.subresource, "exec") ||
        ctx->responder.ops->upgrade == NULL)
        return 1;
    bool answered = is_answered(ctx);
    if (!answered && pl_node_is_missing(noted))
        return 1;
    const char *protocol = offers(call->ws_protocol, "v5.channel.k8s.io")   ? "v5.channel.k8s.io"
                           : offers(call->ws_protocol, "v4.channel.k8s.io") ? "v4.channel.k8s.io"
                                                                            : NULL;
    if (protocol == NULL)
        return pl_api_bad_request(&ctx->status, "unable to upgrade: none of v5.channel.k8s.io and "
                                                "v4.channel.k8s.io is offered");
    struct pl_doc *answer = answered ? NULL : answer_of(ctx, pod);
    if (answer == NULL && !answered)
        return -1;
    begin(ctx, answer, protocol);
    return 0;
}
