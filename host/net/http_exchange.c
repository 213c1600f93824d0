/* One request and its answer, as the server's handlers use them.
 *
 * A handler owes each exchange exactly one answer: a reply, or a stream that it ends or aborts. It
 * may answer at once or much later. The client may disconnect meanwhile: then the exchange is
 * detached from its connection, a reply has no effect and frees it, and a stream's on_close is
 * called.
 *
 * A stream that the client does not read is cut at max_unread bytes. Line breaks are removed from
 * values of headers. */
#include "net/http_conn.h"

#include "base/alloc.h"
#include "base/check.h"

#include <stdio.h>
#include <string.h>

void pl_exchange_destroy(struct pl_exchange *exchange)
{
    if (exchange == NULL)
        return;
    pl_loop_undefer(&exchange->task);
    pl_buf_deinit(&exchange->text);
    pl_buf_deinit(&exchange->body);
    pl_free(exchange->headers);
    pl_free(exchange);
}

void pl_exchange_detach(struct pl_exchange *exchange)
{
    exchange->conn = NULL;
    if (!exchange->begun)
        return; /* its handler still owes an answer, which will free it */
    exchange->closing = true;
    if (exchange->on_close != NULL)
        exchange->on_close(exchange->arg);
    pl_exchange_destroy(exchange);
}

/* ---- the request ---- */

const char *pl_exchange_method(const struct pl_exchange *exchange)
{
    return exchange->method;
}

struct pl_slice pl_exchange_path(const struct pl_exchange *exchange)
{
    return pl_slice(exchange->text.ptr + exchange->path, exchange->path_len);
}

struct pl_slice pl_exchange_query(const struct pl_exchange *exchange)
{
    return pl_slice(exchange->text.ptr + exchange->query, exchange->query_len);
}

const char *pl_exchange_header(const struct pl_exchange *exchange, const char *name)
{
    for (size_t i = 0; i < exchange->header_count; i++) {
        const struct pl_exchange_header *header = &exchange->headers[i];
        if (strcmp(exchange->text.ptr + header->name, name) == 0)
            return exchange->text.ptr + header->value;
    }
    return NULL;
}

bool pl_exchange_header_at(const struct pl_exchange *exchange, size_t i,
                           struct pl_http_header *header)
{
    if (i >= exchange->header_count)
        return false;
    header->name = exchange->text.ptr + exchange->headers[i].name;
    header->value = exchange->text.ptr + exchange->headers[i].value;
    return true;
}

struct pl_slice pl_exchange_body(const struct pl_exchange *exchange)
{
    return pl_buf_slice(&exchange->body);
}

/* ---- the answer ---- */

static const struct {
    int status;
    char text[36];
} status_texts[] = {
    {101, "Switching Protocols"},
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {304, "Not Modified"},
    {307, "Temporary Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {413, "Payload Too Large"},
    {415, "Unsupported Media Type"},
    {422, "Unprocessable Entity"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
};

const char *pl_http_status_text(int status)
{
    for (size_t i = 0; i < PL_ARRAY_LEN(status_texts); i++) {
        if (status_texts[i].status == status)
            return status_texts[i].text;
    }
    return "Other";
}

/* A line break in a value would let its author start another header. */
static void http_exchange_add_value(struct pl_buf *head, const char *value)
{
    size_t at = head->len;
    pl_buf_add_z(head, value);
    for (; at < head->len; at++) {
        if (head->ptr[at] == '\r' || head->ptr[at] == '\n')
            head->ptr[at] = ' ';
    }
}

static void add_decimal(struct pl_buf *head, size_t number)
{
    char digits[20], *at = digits + sizeof digits;
    do {
        *--at = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    pl_buf_add(head, at, (size_t)(digits + sizeof digits - at));
}

static bool has_no_body(int status)
{
    return status < 200 || status == 204 || status == 304;
}

static struct pl_buf *begin_head(struct pl_exchange *exchange, int status,
                                 const struct pl_http_header *headers, size_t count)
{
    struct pl_buf *head = &exchange->conn->server->scratch;
    exchange->keep_alive = exchange->keep_alive && !exchange->conn->server->close_after;
    pl_buf_clear(head);
    pl_buf_add_z(head, "HTTP/1.1 ");
    add_decimal(head, (size_t)status);
    pl_buf_add_char(head, ' ');
    pl_buf_add_z(head, pl_http_status_text(status));
    pl_buf_add_z(head, "\r\n");
    for (size_t i = 0; i < count; i++) {
        if (headers[i].value == NULL)
            continue;
        http_exchange_add_value(head, headers[i].name);
        pl_buf_add_z(head, ": ");
        http_exchange_add_value(head, headers[i].value);
        pl_buf_add_z(head, "\r\n");
    }
    if (status == 101)
        pl_buf_add_z(head, "Connection: Upgrade\r\n");
    else if (!exchange->keep_alive)
        pl_buf_add_z(head, "Connection: close\r\n");
    else if (!exchange->chunked) /* HTTP/1.0 closes by default */
        pl_buf_add_z(head, "Connection: keep-alive\r\n");
    return head;
}

/* The handler has finished with it. */
static void http_exchange_finish(struct pl_exchange *exchange)
{
    struct pl_conn *conn = exchange->conn;
    bool keep_alive = exchange->keep_alive;
    pl_exchange_destroy(exchange);
    if (conn != NULL)
        pl_conn_next(conn, keep_alive);
}

void pl_exchange_reply_with(struct pl_exchange *exchange, int status,
                            const struct pl_http_header *headers, size_t header_count,
                            struct pl_slice body)
{
    PL_REQUIRE(!exchange->begun);
    if (exchange->conn != NULL) {
        struct pl_buf *head = begin_head(exchange, status, headers, header_count);
        if (!has_no_body(status)) {
            pl_buf_add_z(head, "Content-Length: ");
            add_decimal(head, body.len);
            pl_buf_add_z(head, "\r\n");
        }
        pl_buf_add_z(head, "\r\n");
        bool bare = exchange->is_head || has_no_body(status);
        struct pl_slice pieces[] = {pl_buf_slice(head), bare ? pl_slice(NULL, 0) : body};
        pl_conn_write(exchange->conn, pieces, 2);
    }
    http_exchange_finish(exchange);
}

void pl_exchange_reply(struct pl_exchange *exchange, int status, const char *content_type,
                       struct pl_slice body)
{
    struct pl_http_header header = {"Content-Type", content_type};
    pl_exchange_reply_with(exchange, status, &header, 1, body);
}

/* The client disconnected before the stream began. */
static void close_orphan(struct pl_task *task)
{
    pl_exchange_detach(PL_CONTAINER_OF(task, struct pl_exchange, task));
}

void pl_exchange_begin(struct pl_exchange *exchange, int status, const char *content_type,
                       void (*on_close)(void *arg), void *arg)
{
    PL_REQUIRE(!exchange->begun);
    struct pl_conn *conn = exchange->conn;
    exchange->begun = true;
    exchange->on_close = on_close;
    exchange->arg = arg;
    if (conn == NULL) {
        pl_loop_defer(exchange->loop, &exchange->task, close_orphan);
        return;
    }
    if (!exchange->chunked)
        exchange->keep_alive = false; /* the end of the connection is the end of the stream */
    struct pl_http_header header = {"Content-Type", content_type};
    struct pl_buf *head = begin_head(exchange, status, &header, 1);
    pl_buf_add_z(head, exchange->chunked ? "Transfer-Encoding: chunked\r\n\r\n" : "\r\n");
    struct pl_slice piece = pl_buf_slice(head);
    conn->state = PL_CONN_STREAMING;
    pl_buf_clear(&conn->pending);
    pl_conn_write(conn, &piece, 1);
    if (conn->eof)
        pl_conn_kill(conn);
}

void pl_exchange_upgrade(struct pl_exchange *exchange, const struct pl_http_header *headers,
                         size_t header_count, void (*on_bytes)(void *arg, struct pl_slice bytes),
                         void (*on_close)(void *arg), void *arg)
{
    PL_REQUIRE(!exchange->begun && !exchange->is_head);
    struct pl_conn *conn = exchange->conn;
    exchange->begun = true;
    exchange->on_bytes = on_bytes;
    exchange->on_close = on_close;
    exchange->arg = arg;
    if (conn == NULL) {
        pl_loop_defer(exchange->loop, &exchange->task, close_orphan);
        return;
    }
    struct pl_buf *head = begin_head(exchange, 101, headers, header_count);
    pl_buf_add_z(head, "\r\n");
    exchange->chunked = exchange->keep_alive = false;
    struct pl_slice piece = pl_buf_slice(head);
    conn->state = PL_CONN_STREAMING;
    pl_conn_write(conn, &piece, 1);
    if (conn->eof)
        pl_conn_kill(conn);
    else
        pl_conn_schedule(conn); /* the client may have sent more already */
}

void pl_exchange_write(struct pl_exchange *exchange, struct pl_slice piece)
{
    struct pl_conn *conn = exchange->conn;
    PL_REQUIRE(exchange->begun);
    if (conn == NULL || conn->dead || piece.len == 0 || exchange->is_head)
        return;
    if (exchange->chunked) {
        char size[24];
        int len = snprintf(size, sizeof size, "%zx\r\n", piece.len);
        struct pl_slice pieces[] = {pl_slice(size, (size_t)len), piece, pl_slice("\r\n", 2)};
        pl_conn_write(conn, pieces, 3);
    } else {
        pl_conn_write(conn, &piece, 1);
    }
    if (pl_conn_unread(conn) > conn->server->options.max_unread)
        pl_conn_kill(conn);
}

void pl_exchange_end(struct pl_exchange *exchange)
{
    PL_REQUIRE(exchange->begun);
    if (exchange->closing)
        return;
    if (exchange->conn != NULL && exchange->chunked && !exchange->is_head) {
        struct pl_slice last = pl_slice_z("0\r\n\r\n");
        pl_conn_write(exchange->conn, &last, 1);
    }
    http_exchange_finish(exchange);
}

void pl_exchange_abort(struct pl_exchange *exchange)
{
    struct pl_conn *conn = exchange->conn;
    if (exchange->closing)
        return;
    if (conn != NULL) {
        conn->exchange = NULL;
        pl_conn_kill(conn);
    }
    pl_exchange_destroy(exchange);
}

size_t pl_exchange_unread(const struct pl_exchange *exchange)
{
    return exchange->conn != NULL ? pl_conn_unread(exchange->conn) : 0;
}

void pl_exchange_on_drained(struct pl_exchange *exchange, void (*on_drained)(void *arg))
{
    PL_REQUIRE(exchange->begun);
    exchange->on_drained = on_drained;
    if (exchange->conn != NULL && pl_conn_unread(exchange->conn) == 0)
        pl_conn_schedule(exchange->conn);
}
