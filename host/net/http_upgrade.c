/* A request that switches to another protocol. curl makes and keeps the connection
 * (CURLOPT_CONNECT_ONLY); this file polls it, writes with curl_easy_send and reads with
 * curl_easy_recv.
 *
 * The connection is not shared. No byte is sent unless may_send (the fence) allows it. The head of
 * the answer has the limits of every response; the bytes after a 101 are passed on unchanged. Only
 * a few pieces are read per turn, and at most 16 MiB wait for a peer that does not read. The call
 * ends once, by its `ending`; after that this file does not touch the connection. */
#include "net/http_upgrade.h"

#include "base/alloc.h"
#include "base/base64.h"
#include "base/check.h"

#include <llhttp.h>
#include <uv.h>

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define PIECE      ((size_t)16 * 1024)
#define PIECES     16 /* per turn */
#define MAX_UNSENT ((size_t)16 << 20)

struct pl_http_upgrade {
    struct pl_http_call *call; /* back-pointer; NULL: destroyed, waits for its poll to close */
    struct pl_loop *loop;      /* borrowed; NULL: not open yet */
    uv_poll_t poll;
    bool polling;        /* libuv owns the handle */
    bool over;           /* the call has ended */
    bool switched;       /* 101 was answered */
    bool complete;       /* the answer was not a 101 and is complete */
    bool begun;          /* the first byte was sent */
    int events;          /* the polled events of libuv */
    llhttp_t parser;     /* of the answer */
    struct pl_buf line;  /* the current line of its head */
    struct pl_buf out;   /* the bytes to send */
    size_t sent;         /* bytes of `out` that were sent */
    char *target;        /* owned: path and query */
    char *authorization; /* owned: for basic auth; NULL: none */
    int64_t timeout_ns;  /* 0: none */
    struct pl_timer deadline;
    struct pl_task task; /* continues reading, and writes added bytes */
};

static void http_upgrade_work(struct pl_http_upgrade *upgrade);

/* ---- the end ---- */

static void end(struct pl_http_upgrade *upgrade)
{
    if (upgrade->over)
        return;
    upgrade->over = true;
    upgrade->call->ending(upgrade->call);
}

static void fail(struct pl_http_upgrade *upgrade, int code, const char *reason, const char *message)
{
    if (upgrade->over)
        return;
    upgrade->over = true;
    pl_http_call_fail(upgrade->call, code, reason, message);
}

/* The connection was closed. */
static void on_end(struct pl_http_upgrade *upgrade)
{
    if (upgrade->switched || llhttp_finish(&upgrade->parser) == HPE_OK)
        end(upgrade);
    else
        fail(upgrade, PL_ENETWORK, "ConnectionReset",
             "the connection was closed in the middle of the answer");
}

static void on_curl_error(struct pl_http_upgrade *upgrade, CURLcode result)
{
    pl_http_call_finish(upgrade->call, result);
    end(upgrade);
}

static void on_deadline(struct pl_timer *timer)
{
    struct pl_http_upgrade *upgrade = PL_CONTAINER_OF(timer, struct pl_http_upgrade, deadline);
    char message[80];
    snprintf(message, sizeof message, "it has not ended within %.3g s",
             (double)upgrade->timeout_ns / (double)PL_SECOND);
    fail(upgrade, PL_ETIMEOUT, "Timeout", message);
}

/* ---- the answer ---- */

static int on_status(llhttp_t *parser)
{
    struct pl_http_upgrade *upgrade = parser->data;
    char line[32];
    int len = snprintf(line, sizeof line, "HTTP/1.1 %d", parser->status_code);
    return pl_http_call_head(upgrade->call, pl_slice(line, (size_t)len)) ? 0 : -1;
}

static int on_head_text(llhttp_t *parser, const char *bytes, size_t len)
{
    struct pl_http_upgrade *upgrade = parser->data;
    if (upgrade->line.len + len > PIECE * PIECES) {
        pl_http_call_fail(upgrade->call, PL_ELIMIT, "", "the response's headers are over 256 KiB");
        return -1;
    }
    pl_buf_add(&upgrade->line, bytes, len);
    return 0;
}

static int on_field_complete(llhttp_t *parser)
{
    return on_head_text(parser, ":", 1);
}

static int on_value_complete(llhttp_t *parser)
{
    struct pl_http_upgrade *upgrade = parser->data;
    bool ok = pl_http_call_head(upgrade->call, pl_buf_slice(&upgrade->line));
    pl_buf_clear(&upgrade->line);
    return ok ? 0 : -1;
}

static int on_head_complete(llhttp_t *parser)
{
    struct pl_http_upgrade *upgrade = parser->data;
    upgrade->switched = parser->status_code == 101 && parser->upgrade;
    return pl_http_call_head(upgrade->call, pl_slice("", 0)) ? 0 : -1;
}

static int on_body(llhttp_t *parser, const char *bytes, size_t len)
{
    struct pl_http_upgrade *upgrade = parser->data;
    return pl_http_call_body(upgrade->call, pl_slice(bytes, len)) ? 0 : -1;
}

static int on_complete(llhttp_t *parser)
{
    struct pl_http_upgrade *upgrade = parser->data;
    /* An interim answer is followed by the answer. */
    upgrade->complete = !upgrade->switched && upgrade->call->responded;
    return 0;
}

static void hand_on(struct pl_http_upgrade *upgrade, struct pl_slice bytes)
{
    if (!pl_http_call_body(upgrade->call, bytes))
        upgrade->over = true;
}

static void parse(struct pl_http_upgrade *upgrade, struct pl_slice bytes)
{
    if (upgrade->switched) {
        hand_on(upgrade, bytes);
        return;
    }
    llhttp_errno_t rc = llhttp_execute(&upgrade->parser, bytes.ptr, bytes.len);
    if (upgrade->call->err.code != 0) {
        upgrade->over = true; /* the end was reported */
    } else if (rc == HPE_PAUSED_UPGRADE && upgrade->switched) {
        size_t used = (size_t)(llhttp_get_error_pos(&upgrade->parser) - bytes.ptr);
        if (used < bytes.len)
            hand_on(upgrade, pl_slice(bytes.ptr + used, bytes.len - used));
    } else if (rc != HPE_OK) {
        fail(upgrade, PL_ENETWORK, "Protocol", "the answer is not HTTP");
    } else if (upgrade->complete) {
        end(upgrade);
    }
}

/* True if there may be more to read at once. */
static bool read_pieces(struct pl_http_upgrade *upgrade)
{
    char bytes[PIECE];
    for (int i = 0; i < PIECES && !upgrade->over; i++) {
        size_t len = 0;
        CURLcode result = curl_easy_recv(upgrade->call->easy, bytes, sizeof bytes, &len);
        if (result == CURLE_AGAIN)
            return false;
        if (result != CURLE_OK)
            on_curl_error(upgrade, result);
        else if (len == 0)
            on_end(upgrade);
        else
            parse(upgrade, pl_slice(bytes, len));
    }
    return !upgrade->over;
}

/* ---- sending ---- */

static void write_pieces(struct pl_http_upgrade *upgrade)
{
    struct pl_buf *out = &upgrade->out;
    while (upgrade->sent < out->len && !upgrade->over) {
        size_t len = 0;
        if (!pl_http_call_may_send(upgrade->call)) {
            upgrade->over = true;
            return;
        }
        CURLcode result = curl_easy_send(upgrade->call->easy, out->ptr + upgrade->sent,
                                         out->len - upgrade->sent, &len);
        if (result == CURLE_AGAIN)
            return;
        if (result != CURLE_OK)
            on_curl_error(upgrade, result);
        upgrade->sent += len;
    }
    pl_buf_clear(out);
    upgrade->sent = 0;
}

static void on_task(struct pl_task *task)
{
    http_upgrade_work(PL_CONTAINER_OF(task, struct pl_http_upgrade, task));
}

static void on_poll_cb(uv_poll_t *poll, int status, int events)
{
    struct pl_http_upgrade *upgrade = PL_CONTAINER_OF(poll, struct pl_http_upgrade, poll);
    PL_UNUSED(status), PL_UNUSED(events); /* reading reports errors */
    http_upgrade_work(upgrade);
}

static void http_upgrade_work(struct pl_http_upgrade *upgrade)
{
    if (upgrade->over || upgrade->loop == NULL)
        return;
    write_pieces(upgrade);
    bool more = read_pieces(upgrade);
    if (upgrade->over)
        return;
    if (upgrade->out.len > 0 && upgrade->sent == 0 && more)
        write_pieces(upgrade);
    int events = UV_READABLE | (upgrade->out.len > 0 ? UV_WRITABLE : 0);
    if (events != upgrade->events)
        uv_poll_start(&upgrade->poll, events, on_poll_cb);
    upgrade->events = events;
    if (more)
        pl_loop_defer(upgrade->loop, &upgrade->task, on_task);
}

void pl_http_upgrade_send(struct pl_http_upgrade *upgrade, struct pl_slice bytes)
{
    if (upgrade->over)
        return;
    if (bytes.len > MAX_UNSENT - (upgrade->out.len - upgrade->sent)) {
        fail(upgrade, PL_ELIMIT, "", "the server does not read what is sent");
        return;
    }
    if (upgrade->sent > PIECE) {
        pl_buf_drop_front(&upgrade->out, upgrade->sent);
        upgrade->sent = 0;
    }
    pl_buf_add_slice(&upgrade->out, bytes);
    pl_loop_defer(upgrade->loop, &upgrade->task, on_task);
}

/* ---- the request ---- */

/* curl's list has "name: value" for a header, "name;" for one with an empty value, and "name:" for
 * a header to leave out. */
static void add_head(struct pl_buf *out, struct pl_http_upgrade *upgrade)
{
    struct pl_http_call *call = upgrade->call;
    bool has_host = false;
    pl_buf_add_f(out, "%s %s HTTP/1.1\r\n", call->method, upgrade->target);
    for (struct curl_slist *line = call->header_list; line != NULL; line = line->next) {
        size_t len = strlen(line->data);
        has_host = has_host || strncasecmp(line->data, "host:", 5) == 0;
        if (line->data[len - 1] == ';' && strchr(line->data, ':') == NULL)
            pl_buf_add_f(out, "%.*s:\r\n", (int)len - 1, line->data);
        else if (line->data[len - 1] != ':')
            pl_buf_add_f(out, "%s\r\n", line->data);
    }
    if (!has_host)
        pl_buf_add_f(out, "Host: %s\r\n", pl_http_call_where(call));
    if (upgrade->authorization != NULL)
        pl_buf_add_f(out, "Authorization: %s\r\n", upgrade->authorization);
    pl_buf_add_z(out, "\r\n");
}

void pl_http_upgrade_open(struct pl_http_upgrade *upgrade, struct pl_loop *loop)
{
    static const llhttp_settings_t settings = {
        .on_status_complete = on_status,
        .on_header_field = on_head_text,
        .on_header_field_complete = on_field_complete,
        .on_header_value = on_head_text,
        .on_header_value_complete = on_value_complete,
        .on_headers_complete = on_head_complete,
        .on_body = on_body,
        .on_message_complete = on_complete,
    };
    struct pl_http_call *call = upgrade->call;
    curl_socket_t fd = CURL_SOCKET_BAD;
    pl_timer_stop(call->timers, &call->connecting);
    if (curl_easy_getinfo(call->easy, CURLINFO_ACTIVESOCKET, &fd) != CURLE_OK ||
        fd == CURL_SOCKET_BAD || uv_poll_init_socket(pl_loop_uv(loop), &upgrade->poll, fd) != 0) {
        fail(upgrade, PL_ENETWORK, "ConnectionReset", "the connection was lost");
        return;
    }
    upgrade->loop = loop;
    upgrade->polling = true;
    llhttp_init(&upgrade->parser, HTTP_RESPONSE, &settings);
    upgrade->parser.data = upgrade;
    add_head(&upgrade->out, upgrade);
    pl_loop_defer(loop, &upgrade->task, on_task);
}

static void set_authorization(struct pl_http_upgrade *upgrade, const char *user_password)
{
    struct pl_buf text = PL_BUF_INIT;
    pl_buf_add_z(&text, "Basic ");
    pl_base64_encode(pl_slice_z(user_password), &text);
    upgrade->authorization = pl_buf_take(&text);
}

#define SET(option, value) PL_REQUIRE(curl_easy_setopt(easy, (option), (value)) == CURLE_OK)

bool pl_http_upgrade_describe(struct pl_http_upgrade *upgrade,
                              const struct pl_http_request *request)
{
    CURL *easy = upgrade->call->easy;
    const char *authority = strstr(request->url, "://");
    const char *target =
        authority != NULL ? authority + 3 + strcspn(authority + 3, "/?#") : request->url;
    if (*target != '/' || strpbrk(target, " #\t\r\n") != NULL || request->body.len > 0) {
        pl_http_call_fail(upgrade->call, PL_EINVAL, "", "the URL is malformed");
        return false;
    }
    upgrade->target = pl_strdup(target);
    upgrade->timeout_ns = request->timeout_ms * PL_MS;
    if (request->user_password != NULL)
        set_authorization(upgrade, request->user_password);
    SET(CURLOPT_CONNECT_ONLY, 1L);
    SET(CURLOPT_HTTPPROXYTUNNEL, 1L);
    SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    SET(CURLOPT_PIPEWAIT, 0L);
    if (upgrade->timeout_ns > 0)
        pl_timer_start(upgrade->call->timers, &upgrade->deadline, upgrade->timeout_ns, on_deadline);
    return true;
}

/* ---- life ---- */

struct pl_http_upgrade *pl_http_upgrade_create(struct pl_http_call *call)
{
    struct pl_http_upgrade *upgrade = PL_NEW(struct pl_http_upgrade);
    upgrade->call = call;
    return upgrade;
}

static void release(struct pl_http_upgrade *upgrade)
{
    pl_buf_deinit(&upgrade->line);
    pl_buf_deinit(&upgrade->out);
    pl_free(upgrade->target);
    pl_free(upgrade->authorization);
    pl_free(upgrade);
}

static void on_poll_closed_cb(uv_handle_t *handle)
{
    struct pl_http_upgrade *upgrade = PL_CONTAINER_OF(handle, struct pl_http_upgrade, poll);
    upgrade->polling = false;
    if (upgrade->call == NULL)
        release(upgrade);
}

void pl_http_upgrade_close(struct pl_http_upgrade *upgrade)
{
    upgrade->over = true;
    pl_timer_stop(upgrade->call->timers, &upgrade->deadline);
    pl_loop_undefer(&upgrade->task);
    if (upgrade->polling && !uv_is_closing((uv_handle_t *)&upgrade->poll))
        uv_close((uv_handle_t *)&upgrade->poll, on_poll_closed_cb);
}

void pl_http_upgrade_destroy(struct pl_http_upgrade *upgrade)
{
    if (upgrade == NULL)
        return;
    pl_http_upgrade_close(upgrade);
    upgrade->call = NULL;
    if (!upgrade->polling)
        release(upgrade);
}
