/* Finds requests in a connection's bytes, with llhttp. All input is hostile and limited: 64 KiB of
 * head, 512 headers, the body as the options say.
 *
 * One request at a time is handed over; the parser pauses after it, and pipelined requests wait in
 * `pending`; above its limit reading stops. A loop and not recursion goes through them. A malformed
 * request is answered with its status and the connection is closed; its remaining bytes are not
 * parsed.
 *
 * llhttp may be built in a lenient mode, so names of headers are checked again here. */
#include "net/http_conn.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define MAX_HEAD    ((size_t)64 * 1024)
#define MAX_HEADERS 512
#define MAX_PENDING ((size_t)64 * 1024) /* of pipelined requests; then reading pauses */

static int http_parse_refuse(struct pl_conn *conn, int status)
{
    conn->reject = status;
    return -1;
}

static int http_parse_add_text(struct pl_conn *conn, const char *bytes, size_t len)
{
    if (conn->head_done)
        return 0; /* trailers are not used */
    struct pl_buf *text = &conn->exchange->text;
    if (len > MAX_HEAD - text->len)
        return http_parse_refuse(conn, 431);
    pl_buf_add(text, bytes, len);
    return 0;
}

static int on_message_begin(llhttp_t *parser)
{
    struct pl_conn *conn = parser->data;
    conn->exchange = PL_NEW(struct pl_exchange);
    conn->exchange->conn = conn;
    conn->exchange->loop = conn->server->loop;
    conn->head_done = false;
    return 0;
}

static int on_url(llhttp_t *parser, const char *bytes, size_t len)
{
    return http_parse_add_text(parser->data, bytes, len);
}

static int end_text(struct pl_conn *conn)
{
    return http_parse_add_text(conn, "", 1);
}

static int on_url_complete(llhttp_t *parser)
{
    return end_text(parser->data);
}

static struct pl_exchange_header *last_header(struct pl_exchange *exchange)
{
    return exchange->header_count > 0 ? &exchange->headers[exchange->header_count - 1] : NULL;
}

/* Starts a header with the first piece of its name: a name is complete before its value begins. */
static int on_header_field(llhttp_t *parser, const char *bytes, size_t len)
{
    struct pl_conn *conn = parser->data;
    struct pl_exchange *exchange = conn->exchange;
    if (conn->head_done)
        return 0;
    struct pl_exchange_header *last = last_header(exchange);
    if (last == NULL || last->value != 0) {
        if (exchange->header_count == MAX_HEADERS)
            return http_parse_refuse(conn, 431);
        if (exchange->header_count == exchange->header_cap) {
            exchange->header_cap = exchange->header_cap ? exchange->header_cap * 2 : 16;
            exchange->headers =
                pl_reallocarray(exchange->headers, exchange->header_cap, sizeof *exchange->headers);
        }
        exchange->headers[exchange->header_count++] =
            (struct pl_exchange_header){.name = (uint32_t)exchange->text.len, .value = 0};
    }
    size_t at = exchange->text.len;
    int rc = http_parse_add_text(conn, bytes, len);
    for (; at < exchange->text.len; at++) {
        char *c = &exchange->text.ptr[at];
        if (*c >= 'A' && *c <= 'Z')
            *c = (char)(*c + 32);
    }
    return rc;
}

/* In lower case. */
static bool is_token_char(char c)
{
    return pl_is_lower_or_digit(c) || (c != '\0' && strchr("-!#$%&'*+.^_`|~", c) != NULL);
}

static int on_header_field_complete(llhttp_t *parser)
{
    struct pl_conn *conn = parser->data;
    if (conn->head_done)
        return 0;
    struct pl_exchange_header *header = last_header(conn->exchange);
    if (header == NULL || header->value != 0)
        return http_parse_refuse(conn, 400); /* an empty name */
    if (end_text(conn) != 0)
        return -1;
    struct pl_exchange *exchange = conn->exchange;
    header->value = (uint32_t)exchange->text.len;
    /* llhttp may be built in a mode that accepts spaces. */
    const char *name = exchange->text.ptr + header->name;
    size_t len = header->value - header->name - 1, good = 0;
    while (good < len && is_token_char(name[good]))
        good++;
    return len > 0 && good == len ? 0 : http_parse_refuse(conn, 400);
}

static int on_header_value(llhttp_t *parser, const char *bytes, size_t len)
{
    return http_parse_add_text(parser->data, bytes, len);
}

static int on_header_value_complete(llhttp_t *parser)
{
    struct pl_conn *conn = parser->data;
    struct pl_buf *text = &conn->exchange->text;
    struct pl_exchange_header *header = last_header(conn->exchange);
    if (!conn->head_done && header != NULL) {
        while (text->len > header->value && strchr(" \t", text->ptr[text->len - 1]) != NULL)
            text->len--;
    }
    return end_text(parser->data);
}

/* "/a/b?c=d", or "http://host/a/b?c=d" as sent to proxies. */
static void split_url(struct pl_exchange *exchange)
{
    const char *text = exchange->text.ptr;
    size_t start = 0, len = strlen(text);
    const char *scheme = text[0] == '/' ? NULL : strstr(text, "://");
    if (scheme != NULL) {
        start = (size_t)(scheme - text) + 3;
        start += strcspn(text + start, "/?");
    }
    size_t end = start + strcspn(text + start, "#");
    size_t mark = start + strcspn(text + start, "?#");
    PL_REQUIRE(end <= len);
    exchange->path = start;
    exchange->path_len = mark - start;
    exchange->query = mark < end ? mark + 1 : end;
    exchange->query_len = end - exchange->query;
}

/* HTTP/1.1 requires one, and two are never allowed (RFC 9112, 3.2). */
static bool has_proper_host(const struct pl_exchange *exchange, const llhttp_t *parser)
{
    size_t hosts = 0;
    for (size_t i = 0; i < exchange->header_count; i++)
        hosts += strcmp(exchange->text.ptr + exchange->headers[i].name, "host") == 0;
    bool needs_one = parser->http_major == 1 && parser->http_minor >= 1;
    return hosts == 1 || (hosts == 0 && !needs_one);
}

static int on_headers_complete(llhttp_t *parser)
{
    struct pl_conn *conn = parser->data;
    struct pl_exchange *exchange = conn->exchange;
    conn->head_done = true;
    if (!has_proper_host(exchange, parser))
        return http_parse_refuse(conn, 400);
    parser->upgrade = 0; /* no upgrades here: treat it as an ordinary request */
    exchange->method = *conn->other_method != '\0'
                           ? conn->other_method
                           : llhttp_method_name((llhttp_method_t)parser->method);
    exchange->is_head = parser->method == HTTP_HEAD;
    exchange->chunked = parser->http_major > 1 || parser->http_minor >= 1;
    split_url(exchange);
    if ((parser->flags & F_CONTENT_LENGTH) &&
        parser->content_length > conn->server->options.max_body)
        return http_parse_refuse(conn, 413);
    const char *expect = pl_exchange_header(exchange, "expect");
    if (expect != NULL && strcasecmp(expect, "100-continue") == 0 && exchange->chunked) {
        struct pl_slice go_on = pl_slice_z("HTTP/1.1 100 Continue\r\n\r\n");
        pl_conn_write(conn, &go_on, 1);
    }
    return 0;
}

static int on_http_parse_body(llhttp_t *parser, const char *bytes, size_t len)
{
    struct pl_conn *conn = parser->data;
    struct pl_buf *body = &conn->exchange->body;
    if (len > conn->server->options.max_body - body->len)
        return http_parse_refuse(conn, 413);
    pl_buf_add(body, bytes, len);
    return 0;
}

static int on_message_complete(llhttp_t *parser)
{
    struct pl_conn *conn = parser->data;
    conn->exchange->keep_alive = llhttp_should_keep_alive(parser) != 0;
    return HPE_PAUSED; /* the next request waits for this one's answer */
}

void pl_conn_parser_init(struct pl_conn *conn)
{
    static const llhttp_settings_t settings = {
        .on_message_begin = on_message_begin,
        .on_url = on_url,
        .on_url_complete = on_url_complete,
        .on_header_field = on_header_field,
        .on_header_field_complete = on_header_field_complete,
        .on_header_value = on_header_value,
        .on_header_value_complete = on_header_value_complete,
        .on_headers_complete = on_headers_complete,
        .on_body = on_http_parse_body,
        .on_message_complete = on_message_complete,
    };
    llhttp_init(&conn->parser, HTTP_REQUEST, &settings);
    conn->parser.data = conn;
}

void pl_conn_reject(struct pl_conn *conn, int status)
{
    char head[160];
    int len = snprintf(head, sizeof head,
                       "HTTP/1.1 %d %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", status,
                       pl_http_status_text(status));
    struct pl_slice answer = pl_slice(head, (size_t)len);
    pl_exchange_destroy(conn->exchange);
    conn->exchange = NULL;
    pl_conn_write(conn, &answer, 1);
    pl_conn_linger(conn);
}

/* Whether a line of the head continues in the next one. llhttp accepts that, as RFC 2616 did; other
 * servers would see another header there (RFC 9112, 5.2). */
static bool is_folded(struct pl_conn *conn, struct pl_slice bytes)
{
    for (size_t i = 0; i < bytes.len && conn->line != PL_HEAD_OVER; i++) {
        if (conn->line == PL_HEAD_INSIDE) { /* nothing counts before the line's end */
            const char *end = memchr(bytes.ptr + i, '\n', bytes.len - i);
            i = end != NULL ? (size_t)(end - bytes.ptr) : bytes.len - 1;
        }
        char c = bytes.ptr[i];
        if (c == '\n' && conn->line != PL_HEAD_BEFORE)
            conn->line = conn->line == PL_HEAD_BEGIN ? PL_HEAD_OVER : PL_HEAD_BEGIN;
        else if ((c == ' ' || c == '\t') && conn->line == PL_HEAD_BEGIN)
            return true;
        else if (c != '\r' && c != '\n')
            conn->line = PL_HEAD_INSIDE;
    }
    return false;
}

static bool is_known_method(struct pl_slice word)
{
    for (int i = 0; i <= HTTP_PRI; i++)
        if (pl_slice_eqz(word, llhttp_method_name((llhttp_method_t)i)))
            return true;
    return false;
}

/* A method that llhttp does not know is a request, too: its handler refuses it. The parser is told
 * another method that has no meaning here. Returns the length of the method's name; 0: llhttp knows
 * it, it is no name, or it has not arrived as a whole. */
static size_t take_other_method(struct pl_conn *conn, struct pl_slice bytes)
{
    size_t len = 0;
    while (len < bytes.len && (pl_is_alnum(bytes.ptr[len]) || bytes.ptr[len] == '-'))
        len++;
    struct pl_slice word = pl_slice(bytes.ptr, len);
    *conn->other_method = '\0';
    if (len == 0 || len >= sizeof(conn->other_method) || len + 1 >= bytes.len ||
        bytes.ptr[len] != ' ' || bytes.ptr[len + 1] != '/' || is_known_method(word))
        return 0;
    snprintf(conn->other_method, sizeof(conn->other_method), "%.*s", PL_FMT(word));
    return llhttp_execute(&conn->parser, "PURGE", 5) == HPE_OK ? len : 0;
}

/* Parses up to the end of one request and hands it over; returns the number of bytes used. */
static size_t parse_one(struct pl_conn *conn, struct pl_slice bytes)
{
    size_t skip = 0;
    if (!conn->in_request) {
        conn->in_request = true;
        conn->line = PL_HEAD_BEFORE;
        skip = take_other_method(conn, bytes);
        pl_conn_limit(conn); /* from the first byte: slow senders gain no time by sending more */
    }
    if (is_folded(conn, bytes)) {
        pl_conn_reject(conn, 400);
        return bytes.len;
    }
    llhttp_errno_t rc = llhttp_execute(&conn->parser, bytes.ptr + skip, bytes.len - skip);
    if (rc == HPE_OK)
        return bytes.len;
    if (rc != HPE_PAUSED) {
        pl_conn_reject(conn, conn->reject != 0 ? conn->reject : 400);
        return bytes.len;
    }
    size_t used = (size_t)(llhttp_get_error_pos(&conn->parser) - bytes.ptr);
    llhttp_resume(&conn->parser);
    conn->state = PL_CONN_HANDLING;
    pl_conn_limit(conn);
    conn->server->ops->on_request(conn->server->arg, conn->exchange);
    return used;
}

static bool is_upgraded(const struct pl_conn *conn)
{
    return !conn->dead && conn->state == PL_CONN_STREAMING && conn->exchange->on_bytes != NULL;
}

static void http_parse_keep(struct pl_conn *conn, struct pl_slice bytes)
{
    pl_buf_add_slice(&conn->pending, bytes);
    conn->paused = conn->pending.len > MAX_PENDING;
}

void pl_conn_feed(struct pl_conn *conn, struct pl_slice bytes)
{
    if (is_upgraded(conn)) {
        if (conn->pending.len > 0)
            http_parse_keep(conn, bytes); /* behind what waits for its turn */
        else
            conn->exchange->on_bytes(conn->exchange->arg, bytes);
        return;
    }
    if (conn->state == PL_CONN_STREAMING || conn->state == PL_CONN_LINGERING)
        return;
    if (conn->state == PL_CONN_HANDLING || conn->pending.len > 0) {
        http_parse_keep(conn, bytes);
        return;
    }
    /* A loop and not recursion, however many pipelined requests are answered at once. */
    conn->parsing = true;
    while (bytes.len > 0 && !conn->dead && conn->state == PL_CONN_READING) {
        size_t used = parse_one(conn, bytes);
        bytes = pl_slice(bytes.ptr + used, bytes.len - used);
    }
    conn->parsing = false;
    bool upgraded = is_upgraded(conn);
    if (!conn->dead && (conn->state == PL_CONN_HANDLING || upgraded) && bytes.len > 0)
        http_parse_keep(conn, bytes);
    if (!conn->dead && conn->state == PL_CONN_READING && conn->eof)
        pl_conn_linger(conn);
}

void pl_conn_resume(struct pl_conn *conn)
{
    struct pl_buf pending = conn->pending;
    conn->pending = PL_BUF_INIT;
    pl_conn_feed(conn, pl_buf_slice(&pending));
    pl_buf_deinit(&pending);
}
