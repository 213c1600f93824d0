/* One request as libcurl sees it: an easy handle, its callbacks and the timers that end it.
 *
 * No byte may be sent without permission: may_send is asked when the connection is ready and before
 * each piece of the body. A request is sent again only if that does no harm: GET, PUT and DELETE,
 * and requests that the server has not processed by its own words.
 *
 * curl's callbacks call only may_send, on_response and on_body. A failure is stored, the first
 * reason counts, and the client reports it later. Connecting and the response's head always have a
 * time limit; silence, the whole request and the body have one if the request says so. */
#include "net/http_call.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/text.h"
#include "net/http_upgrade.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#define MAX_RESPONSE_HEAD (256 * 1024)
#define MAX_WHOLE_BODY    8192 /* fits with its head into an empty socket buffer */
/* curl reads up to a hundred pieces in one turn of the loop. With TLS a piece is at most a record,
 * 16 KiB as curl has it anyway. */
#define LARGE_PIECE        (32L * 1024)
#define HEAD_PIECE         (16L * 1024) /* a watch keeps the buffer that its head was sent from */
#define CONNECT_TIMEOUT_MS 10000
/* A peer whose packets vanish is given up after this time, whether we wait for an acknowledgement
 * (user time-out) or for data (keepalive: 15 + 3 x 10 s). */
#define DEAD_PEER_MS      45000
#define KEEPALIVE_IDLE_S  15
#define KEEPALIVE_PROBE_S 10
#define KEEPALIVE_PROBES  3

void pl_http_call_fail(struct pl_http_call *call, int code, const char *reason, const char *message)
{
    if (call->err.code != 0)
        return;
    pl_err_set(&call->err, code, "%.64s %s: %s", call->method, pl_http_call_where(call), message);
    snprintf(call->err.reason, sizeof call->err.reason, "%s", reason);
    if (call->ending != NULL)
        call->ending(call);
}

void pl_http_call_finish(struct pl_http_call *call, CURLcode result)
{
    if (call->err.code == 0 && result != CURLE_OK)
        pl_http_error(&call->err, call, result);
}

/* ---- guards ---- */

static void on_connect_timeout(struct pl_timer *timer)
{
    struct pl_http_call *call = PL_CONTAINER_OF(timer, struct pl_http_call, connecting);
    char message[80];
    snprintf(message, sizeof message, "no connection within %.3g s",
             (double)call->connect_ns / (double)PL_SECOND);
    pl_http_call_fail(call, PL_ETIMEOUT, "ConnectTimeout", message);
}

static void on_http_call_silence(struct pl_timer *timer)
{
    struct pl_http_call *call = PL_CONTAINER_OF(timer, struct pl_http_call, silence);
    int64_t rest = call->heard_ns + call->silence_ns - pl_clock_mono(call->timers->clock);
    /* Restarting the timer for each byte would cost more than checking here. */
    if (rest > 0) {
        pl_timer_start(call->timers, timer, rest, on_http_call_silence);
        return;
    }
    char message[64];
    snprintf(message, sizeof message, "nothing was received for %.3g s",
             (double)call->silence_ns / (double)PL_SECOND);
    pl_http_call_fail(call, PL_ETIMEOUT, "Silence", message);
}

static void heard(struct pl_http_call *call)
{
    if (call->turn != NULL)
        call->turn->records = 0;
    if (call->silence_ns > 0)
        call->heard_ns = pl_clock_mono(call->timers->clock);
}

void pl_http_call_begin(struct pl_http_call *call)
{
    pl_timer_start(call->timers, &call->connecting, call->connect_ns, on_connect_timeout);
    if (call->silence_ns <= 0)
        return;
    heard(call);
    pl_timer_start(call->timers, &call->silence, call->silence_ns, on_http_call_silence);
}

/* ---- curl's callbacks ---- */

bool pl_http_call_may_send(struct pl_http_call *call)
{
    if (call->err.code != 0)
        return false;
    if (pl_fence_is_open(call->fence) &&
        (call->may_send == NULL || call->may_send(call->may_send_arg)))
        return true;
    pl_http_call_fail(call, PL_EREFUSED, "", "sending is no longer allowed");
    return false;
}

static size_t on_http_call_read(char *out, size_t size, size_t count, void *arg)
{
    struct pl_http_call *call = arg;
    if (!pl_http_call_may_send(call))
        return CURL_READFUNC_ABORT;
    size_t n = call->body.len - call->sent;
    if (n > size * count)
        n = size * count;
    if (n > 0)
        memcpy(out, call->body.ptr + call->sent, n);
    call->sent += n;
    return n;
}

/* True when sending it again does no harm, or when it has not been processed at all. */
static bool is_repeatable(const struct pl_http_call *call)
{
    return strcmp(call->method, "PUT") == 0 || strcmp(call->method, "DELETE") == 0 ||
           strcmp(call->method, "GET") == 0 || call->unseen;
}

/* If curl has the whole body, it sends it again without asking, see on_seek. So it must not have
 * been sent before. */
static bool may_go_again(struct pl_http_call *call)
{
    long sent = 0;
    if (!call->whole || is_repeatable(call) ||
        curl_easy_getinfo(call->easy, CURLINFO_REQUEST_SIZE, &sent) != CURLE_OK || sent == 0)
        return true;
    pl_http_call_fail(call, PL_ENETWORK, "ConnectionReset",
                      "the connection was lost; the server may have carried out the request");
    return false;
}

static int on_ready_to_send(void *arg, char *peer, char *local, int peer_port, int local_port)
{
    PL_UNUSED(peer), PL_UNUSED(local), PL_UNUSED(peer_port), PL_UNUSED(local_port);
    struct pl_http_call *call = arg;
    pl_timer_stop(call->timers, &call->connecting);
    return may_go_again(call) && pl_http_call_may_send(call) ? CURL_PREREQFUNC_OK
                                                             : CURL_PREREQFUNC_ABORT;
}

/* The number after `word` in a text that is not NUL-terminated; -1: the word is not there. */
static int64_t number_after(struct pl_slice text, const char *word)
{
    size_t len = strlen(word);
    const char *at = memmem(text.ptr, text.len, word, len);
    if (at == NULL)
        return -1;
    int64_t value = 0;
    for (at += len; at < text.ptr + text.len && pl_is_digit(*at); at++)
        value = value < INT32_MAX ? value * 10 + (*at - '0') : value;
    return value;
}

/* An HTTP/2 server that goes away says which requests it has processed. curl sends the others again
 * over another connection, but only its log says which those are. If another version of curl logs
 * other words, the requests end as if they might have been processed. */
static int on_curl_says(CURL *easy, curl_infotype type, char *bytes, size_t len, void *arg)
{
    struct pl_http_call *call = arg;
    PL_UNUSED(easy);
    if (type != CURLINFO_TEXT)
        return 0;
    struct pl_slice text = pl_slice(bytes, len);
    int64_t stream = number_after(text, "Using Stream ID: ");
    int64_t last =
        memmem(bytes, len, "GOAWAY", 6) != NULL ? number_after(text, "last_stream=") : -1;
    int64_t connection = number_after(text, "Re-using existing connection #");
    if (connection < 0 && memmem(bytes, len, "Connected to ", 13) != NULL)
        connection = number_after(text, " (#");
    if (connection >= 0)
        call->connection = connection;
    if (stream >= 0) {
        call->stream = stream;
        call->unseen = false;
    }
    if (memmem(bytes, len, "REFUSED_STREAM, retrying", 24) != NULL)
        call->unseen = true; /* RFC 9113, 8.7: no part of it was processed */
    if (last >= 0 && call->going_away != NULL)
        call->going_away(call, last);
    return 0;
}

/* curl wants to send the body again, because a reused connection died before an answer came. Only
 * repeatable and unprocessed requests are sent again. */
static int on_seek(void *arg, curl_off_t offset, int origin)
{
    struct pl_http_call *call = arg;
    if (origin != SEEK_SET || offset < 0 || (size_t)offset > call->body.len)
        return CURL_SEEKFUNC_FAIL;
    if (call->sent > 0 && !is_repeatable(call))
        return CURL_SEEKFUNC_FAIL;
    call->sent = (size_t)offset;
    return CURL_SEEKFUNC_OK;
}

static curl_socket_t on_open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
    PL_UNUSED(purpose);
    struct pl_http_call *call = arg;
    if (!may_go_again(call))
        return CURL_SOCKET_BAD;
    /* Programs that the host runs must not inherit it. */
    int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    call->no_descriptors = fd < 0 && (errno == EMFILE || errno == ENFILE);
    return fd;
}

static int on_socket_made(void *arg, curl_socket_t fd, curlsocktype purpose)
{
    PL_UNUSED(purpose);
    const struct pl_http_call *call = arg;
    int on = 1, idle = KEEPALIVE_IDLE_S, interval = KEEPALIVE_PROBE_S, probes = KEEPALIVE_PROBES;
    unsigned dead_ms = DEAD_PEER_MS;
    /* Fails on Unix sockets, which do not need it. */
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &dead_ms, sizeof dead_ms);
    if (call->fence != NULL && !pl_fence_add_socket(call->fence, fd))
        return CURL_SOCKOPT_ERROR;
    return CURL_SOCKOPT_OK;
}

static struct pl_slice trim(const char *text, size_t len)
{
    while (len > 0 && (*text == ' ' || *text == '\t'))
        text++, len--;
    while (len > 0 && strchr(" \t\r\n", text[len - 1]) != NULL)
        len--;
    return pl_slice(text, len);
}

static void http_call_add_header(struct pl_http_call *call, struct pl_slice line)
{
    const char *colon = pl_slice_chr(line, ':');
    if (colon == NULL)
        return;
    if (call->head_count == call->head_cap) {
        call->head_cap = call->head_cap ? call->head_cap * 2 : 16;
        call->head_offsets =
            pl_reallocarray(call->head_offsets, call->head_cap, 2 * sizeof(size_t));
    }
    size_t *offsets = &call->head_offsets[2 * call->head_count++];
    struct pl_slice name = trim(line.ptr, (size_t)(colon - line.ptr));
    offsets[0] = call->head.len;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        pl_buf_add_char(&call->head, c >= 'A' && c <= 'Z' ? (char)(c + 32) : c);
    }
    pl_buf_add_char(&call->head, '\0');
    offsets[1] = call->head.len;
    pl_buf_add_slice(&call->head, trim(colon + 1, line.len - name.len - 1));
    pl_buf_add_char(&call->head, '\0');
}

static void respond(struct pl_http_call *call)
{
    struct pl_http_header *headers = pl_calloc(call->head_count + 1, sizeof *headers);
    for (size_t i = 0; i < call->head_count; i++) {
        headers[i].name = call->head.ptr + call->head_offsets[2 * i];
        headers[i].value = call->head.ptr + call->head_offsets[2 * i + 1];
    }
    struct pl_http_response response = {call->status, headers, call->head_count};
    call->responded = true;
    if (call->ops->on_response != NULL)
        call->ops->on_response(call->arg, &response);
    pl_free(headers);
    pl_buf_deinit(&call->head);
    pl_free(call->head_offsets);
    call->head_offsets = NULL;
    call->head_count = call->head_cap = 0;
}

static void begin_head(struct pl_http_call *call, struct pl_slice line)
{
    const char *space = pl_slice_chr(line, ' ');
    call->status = 0;
    for (const char *p = space ? space + 1 : NULL;
         p != NULL && p < line.ptr + line.len && pl_is_digit(*p) && call->status < 1000; p++)
        call->status = call->status * 10 + (*p - '0');
    pl_buf_clear(&call->head);
    call->head_count = 0;
}

/* Called for each header line, also of interim responses and for trailers. */
bool pl_http_call_head(struct pl_http_call *call, struct pl_slice line)
{
    if (call->err.code != 0)
        return false;
    heard(call);
    if (call->responded)
        return true;
    line = trim(line.ptr, line.len);
    if (pl_text_begins(line, "HTTP/")) {
        begin_head(call, line);
    } else if (line.len > 0) {
        if (call->head.len + line.len > MAX_RESPONSE_HEAD) {
            pl_http_call_fail(call, PL_ELIMIT, "", "the response's headers are over 256 KiB");
            return false;
        }
        http_call_add_header(call, line);
    } else if (call->status >= 200 || (call->status == 101 && call->upgrade != NULL)) {
        respond(call);
    }
    return call->err.code == 0;
}

static size_t on_header(char *bytes, size_t size, size_t count, void *arg)
{
    return pl_http_call_head(arg, pl_slice(bytes, size * count)) ? size * count : 0;
}

bool pl_http_call_body(struct pl_http_call *call, struct pl_slice piece)
{
    if (call->err.code != 0)
        return false;
    heard(call);
    if (call->max_response > 0 && piece.len > call->max_response - call->received) {
        char message[80];
        snprintf(message, sizeof message, "the response is over the limit of %zu bytes",
                 call->max_response);
        pl_http_call_fail(call, PL_ELIMIT, "", message);
        return false;
    }
    call->received += piece.len;
    int code = piece.len > 0 ? call->ops->on_body(call->arg, piece) : 0;
    if (code != 0)
        pl_http_call_fail(call, code, "", "the response's reader ended it");
    return call->err.code == 0;
}

static size_t on_write(char *bytes, size_t size, size_t count, void *arg)
{
    size_t len = size * count;
    if (!pl_http_call_body(arg, pl_slice(bytes, len)))
        return len == 0 ? 1 : 0;
    return len;
}

/* ---- setting up ---- */

#define SET(option, value) PL_REQUIRE(curl_easy_setopt(call->easy, (option), (value)) == CURLE_OK)

static void set_method(struct pl_http_call *call, const struct pl_http_request *request)
{
    bool has_body = request->body.len > 0 || strcmp(request->method, "POST") == 0 ||
                    strcmp(request->method, "PUT") == 0 || strcmp(request->method, "PATCH") == 0;
    if (!has_body)
        SET(CURLOPT_UPLOAD_BUFFERSIZE, HEAD_PIECE);
    if (strcmp(request->method, "HEAD") == 0 && !has_body) {
        SET(CURLOPT_NOBODY, 1L);
        return;
    }
    /* A small body is sent together with the head, unless it is a frame of its own (HTTP/2). */
    call->whole = call->body.len > 0 && call->body.len <= MAX_WHOLE_BODY &&
                  strncasecmp(request->url, "http:", 5) == 0;
    if (has_body) {
        SET(CURLOPT_POST, 1L);
        SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.len);
    }
    if (call->whole) {
        SET(CURLOPT_POSTFIELDS, call->body.ptr);
    } else if (has_body) {
        SET(CURLOPT_READFUNCTION, on_http_call_read);
        SET(CURLOPT_READDATA, call);
        SET(CURLOPT_SEEKFUNCTION, on_seek);
        SET(CURLOPT_SEEKDATA, call);
    }
    SET(CURLOPT_CUSTOMREQUEST, request->method);
}

static void set_basics(struct pl_http_call *call, const struct pl_http_request *request)
{
    SET(CURLOPT_PRIVATE, call);
    SET(CURLOPT_ERRORBUFFER, call->error);
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_PATH_AS_IS, 1L);
    /* A running name look-up must not block the loop when its request ends. */
    SET(CURLOPT_QUICK_EXIT, 1L);
    SET(CURLOPT_CA_CACHE_TIMEOUT, 60L);
    SET(CURLOPT_TIMEOUT_MS, (long)(request->timeout_ms > 0 ? request->timeout_ms : 0));
    SET(CURLOPT_CONNECTTIMEOUT_MS, (long)(call->connect_ns / PL_MS));
    SET(CURLOPT_OPENSOCKETFUNCTION, on_open_socket);
    SET(CURLOPT_OPENSOCKETDATA, call);
    SET(CURLOPT_SOCKOPTFUNCTION, on_socket_made);
    SET(CURLOPT_SOCKOPTDATA, call);
    bool is_secure = strncasecmp(request->url, "https:", 6) == 0;
    if (is_secure) {
        SET(CURLOPT_VERBOSE, 1L); /* goes to on_curl_says only */
        SET(CURLOPT_DEBUGFUNCTION, on_curl_says);
        SET(CURLOPT_DEBUGDATA, call);
    }
    SET(CURLOPT_PREREQFUNCTION, on_ready_to_send);
    SET(CURLOPT_PREREQDATA, call);
    if (request->long_response && !is_secure)
        SET(CURLOPT_BUFFERSIZE, LARGE_PIECE);
    SET(CURLOPT_HEADERFUNCTION, on_header);
    SET(CURLOPT_HEADERDATA, call);
    SET(CURLOPT_WRITEFUNCTION, on_write);
    SET(CURLOPT_WRITEDATA, call);
}

static bool set_up(struct pl_http_call *call, const struct pl_http_request *request)
{
    call->easy = curl_easy_init();
    PL_REQUIRE(call->easy != NULL);
    if (request->lane < 0 || request->lane > PL_HTTP_LANE_FENCED ||
        (request->fence != NULL) != (request->lane == PL_HTTP_LANE_FENCED)) {
        pl_http_call_fail(call, PL_EINVAL, "", "there is no such connection lane");
        return false;
    }
    set_basics(call, request);
    if (request->upgrade)
        call->upgrade = pl_http_upgrade_create(call);
    if (!pl_http_call_describe(call, request))
        return false;
    if (request->upgrade)
        return pl_http_upgrade_describe(call->upgrade, request);
    set_method(call, request);
    return true;
}

struct pl_http_call *pl_http_call_create(const struct pl_http_request *request,
                                         const struct pl_http_ops *ops, void *arg,
                                         struct pl_timers *timers)
{
    struct pl_http_call *call = PL_NEW(struct pl_http_call);
    call->ops = ops;
    call->arg = arg;
    call->timers = timers;
    call->lane = request->lane;
    call->connection = -1;
    call->method = pl_strdup(request->method);
    call->may_send = request->may_send;
    call->may_send_arg = request->may_send_arg;
    call->fence = request->fence;
    call->max_response = request->max_response;
    call->silence_ns = request->silence_ms * PL_MS;
    call->connect_ns =
        (request->connect_timeout_ms > 0 ? request->connect_timeout_ms : CONNECT_TIMEOUT_MS) *
        PL_MS;
    pl_buf_add_slice(&call->body, request->body);
    if (!set_up(call, request)) {
        curl_easy_cleanup(call->easy);
        call->easy = NULL;
    }
    return call;
}

void pl_http_call_destroy(struct pl_http_call *call)
{
    pl_timer_stop(call->timers, &call->connecting);
    pl_timer_stop(call->timers, &call->silence);
    pl_http_upgrade_destroy(call->upgrade);
    curl_easy_cleanup(call->easy);
    curl_slist_free_all(call->header_list);
    curl_slist_free_all(call->connect_to);
    pl_buf_deinit(&call->body);
    pl_buf_deinit(&call->head);
    pl_free(call->head_offsets);
    pl_free(call->method);
    pl_free(call->url);
    pl_free(call->where);
    pl_secrets_clear(&call->secrets);
    pl_free(call);
}
