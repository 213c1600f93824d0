/* The channels of a command: the first byte of each message is the number of its channel.
 *
 * The server is hostile: net/websocket checks its frames, its output is limited before it is
 * stored, and a message on an unknown channel ends the command. The exit code is in the Status on
 * the error channel. Without a Status the end of the command is not known, which is an error. Pings
 * are answered, up to a limit. */
#include "kube/exec.h"

#include "base/alloc.h"
#include "kube/status.h"
#include "net/websocket.h"
#include "value/scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MAX_MESSAGE ((size_t)1 << 20)
#define PIECE       ((size_t)32 * 1024) /* bytes of stdin per message */
#define MAX_PINGS   10000

enum channel { STDIN = 0, STDOUT = 1, STDERR = 2, STATUS = 3, CLOSING = 255 };

struct pl_exec {
    struct pl_rand *rand;
    void (*send)(void *arg, struct pl_slice bytes);
    void *arg;
    size_t most;
    struct pl_ws_reader reader;
    struct pl_exec_result result;
    struct pl_err *err; /* the error of the current feed call */
    bool has_result, closed;
    int pings;
};

static void send_frame(struct pl_exec *exec, enum pl_ws_type type, int front,
                       struct pl_slice payload)
{
    struct pl_buf frame = PL_BUF_INIT;
    uint64_t bits = pl_rand_u64(exec->rand);
    uint8_t mask[4];
    memcpy(mask, &bits, sizeof mask);
    pl_ws_write(&frame, type, front, payload, mask);
    exec->send(exec->arg, pl_buf_slice(&frame));
    pl_buf_deinit(&frame);
}

/* ---- the handshake ---- */

static int refuse(struct pl_err *err, const char *why)
{
    pl_err_set(err, PL_ENETWORK, "exec: %s", why);
    if (err != NULL)
        snprintf(err->reason, sizeof err->reason, "Protocol");
    return PL_ENETWORK;
}

static int check_handshake(const struct pl_exec_params *params,
                           const struct pl_http_response *response, bool *ends_input,
                           struct pl_err *err)
{
    char want[PL_WS_ACCEPT];
    const char *upgrade = pl_http_header(response, "upgrade");
    const char *accept = pl_http_header(response, "sec-websocket-accept");
    const char *protocol = pl_http_header(response, "sec-websocket-protocol");
    if (upgrade == NULL || strcasecmp(upgrade, "websocket") != 0)
        return refuse(err, "the server switched to something that is not WebSocket");
    pl_ws_accept(params->key, want);
    if (accept == NULL || strcmp(accept, want) != 0)
        return refuse(err, "the server's WebSocket handshake does not match the request");
    if (protocol == NULL)
        return refuse(err, "the server speaks neither v5.channel.k8s.io nor v4.channel.k8s.io");
    *ends_input = strcmp(protocol, "v5.channel.k8s.io") == 0;
    if (!*ends_input && strcmp(protocol, "v4.channel.k8s.io") != 0)
        return refuse(err, "the server chose a protocol that was not offered");
    if (!*ends_input && params->input.ptr != NULL)
        return refuse(err, "stdin needs v5.channel.k8s.io (Kubernetes 1.30 and later), which can "
                           "end it; the server chose v4.channel.k8s.io");
    return 0;
}

static void send_input(struct pl_exec *exec, struct pl_slice input)
{
    static const char end[] = {STDIN};
    for (size_t at = 0; at < input.len; at += PIECE) {
        size_t len = input.len - at < PIECE ? input.len - at : PIECE;
        send_frame(exec, PL_WS_BINARY, STDIN, pl_slice(input.ptr + at, len));
    }
    send_frame(exec, PL_WS_BINARY, CLOSING, pl_slice(end, 1));
}

struct pl_exec *pl_exec_create(const struct pl_exec_params *params,
                               const struct pl_http_response *response, struct pl_err *err)
{
    bool ends_input = false;
    if (check_handshake(params, response, &ends_input, err) != 0)
        return NULL;
    struct pl_exec *exec = PL_NEW(struct pl_exec);
    exec->rand = params->rand;
    exec->send = params->send;
    exec->arg = params->arg;
    exec->most = params->most;
    exec->reader.max_message = MAX_MESSAGE;
    if (params->input.ptr != NULL)
        send_input(exec, params->input);
    return exec;
}

void pl_exec_destroy(struct pl_exec *exec)
{
    if (exec == NULL)
        return;
    pl_ws_reader_deinit(&exec->reader);
    pl_buf_deinit(&exec->result.out);
    pl_buf_deinit(&exec->result.err);
    pl_free(exec);
}

/* ---- the status ---- */

/* The cause's message is the code in digits. */
static bool exit_code(struct pl_node status, int *code)
{
    struct pl_scratch scratch;
    struct pl_iter it = pl_iter(pl_node_dig(status, "details", "causes"));
    while (pl_iter_next(&it)) {
        struct pl_slice text = pl_node_str(pl_node_getz(it.value, "message"), &scratch);
        char digits[12], *end;
        if (!pl_node_str_eq(pl_node_getz(it.value, "reason"), pl_slice_z("ExitCode")) ||
            text.len == 0 || text.len >= sizeof digits)
            continue;
        memcpy(digits, text.ptr, text.len);
        digits[text.len] = '\0';
        long value = strtol(digits, &end, 10);
        if (*end != '\0' || value < INT32_MIN || value > INT32_MAX)
            continue;
        *code = (int)value;
        return true;
    }
    return false;
}

static int read_status(struct pl_exec *exec, struct pl_slice text)
{
    struct pl_doc *doc = pl_scan_text(text, &(struct pl_scan_options){.max_depth = 0}, exec->err);
    if (doc == NULL) {
        pl_err_prefix(exec->err, "exec: the command's status");
        return PL_ESYNTAX;
    }
    struct pl_node status = pl_doc_root(doc);
    int code = 0;
    if (pl_node_str_eq(pl_node_getz(status, "status"), pl_slice_z("Success"))) {
        exec->result.code = 0;
    } else if (!pl_node_str_eq(pl_node_getz(status, "reason"), pl_slice_z("NonZeroExitCode")) ||
               !exit_code(status, &exec->result.code)) {
        int64_t number = 0;
        if (!pl_node_int(pl_node_getz(status, "code"), &number) || number < 400 || number > 599)
            number = 500;
        pl_status_to_err((int)number, status, text, exec->err);
        code = PL_EAPI;
    }
    exec->has_result = code == 0;
    pl_doc_unref(doc);
    return code;
}

/* ---- messages ---- */

static int add_output(struct pl_exec *exec, struct pl_buf *out, struct pl_slice text)
{
    if (text.len > exec->most - exec->result.out.len - exec->result.err.len)
        return pl_err_set(exec->err, PL_ELIMIT,
                          "exec: the command printed more than %zu bytes; raise limit_bytes, or "
                          "print less",
                          exec->most);
    pl_buf_add_slice(out, text);
    return 0;
}

static int on_message(struct pl_exec *exec, struct pl_slice message)
{
    if (message.len == 0)
        return 0;
    struct pl_slice text = pl_slice(message.ptr + 1, message.len - 1);
    switch ((uint8_t)message.ptr[0]) {
    case STDOUT:
        return add_output(exec, &exec->result.out, text);
    case STDERR:
        return add_output(exec, &exec->result.err, text);
    case STATUS:
        if (text.len == 0)
            return 0; /* servers open each channel with an empty message */
        if (exec->has_result)
            return pl_err_set(exec->err, PL_ESYNTAX, "exec: the server sent the status twice");
        return read_status(exec, text);
    case STDIN:
    case CLOSING:
        return 0; /* the channel is opened, or closed by the server; the status says the latter, too
                   */
    default:
        return pl_err_set(exec->err, PL_ESYNTAX,
                          "exec: the server sent data on the unknown channel %u",
                          (unsigned)(uint8_t)message.ptr[0]);
    }
}

static int exec_tell(void *arg, enum pl_ws_type type, struct pl_slice payload)
{
    struct pl_exec *exec = arg;
    switch (type) {
    case PL_WS_PING:
        if (++exec->pings > MAX_PINGS)
            return pl_err_set(exec->err, PL_ELIMIT, "exec: the server sends too many pings");
        send_frame(exec, PL_WS_PONG, -1, payload);
        return 0;
    case PL_WS_CLOSE:
        exec->closed = true;
        send_frame(exec, PL_WS_CLOSE, -1, payload);
        return 0;
    case PL_WS_BINARY:
    case PL_WS_TEXT:
        return on_message(exec, payload);
    case PL_WS_PONG:
    case PL_WS_MORE:
        break;
    }
    return 0;
}

int pl_exec_feed(struct pl_exec *exec, struct pl_slice bytes, struct pl_err *err)
{
    exec->err = err;
    int code = pl_ws_feed(&exec->reader, bytes, exec_tell, exec, err);
    exec->err = NULL;
    return code;
}

bool pl_exec_has_result(const struct pl_exec *exec)
{
    return exec->has_result;
}

bool pl_exec_is_closed(const struct pl_exec *exec)
{
    return exec->closed;
}

const struct pl_exec_result *pl_exec_end(struct pl_exec *exec, struct pl_err *err)
{
    if (exec->has_result)
        return &exec->result;
    pl_err_set(err, PL_ENETWORK,
               "exec: the connection ended before the command's status came; whether it has run to "
               "its end is not known");
    if (err != NULL)
        snprintf(err->reason, sizeof err->reason, "ConnectionReset");
    return NULL;
}
