/* One connection of the server: reading, writing, TLS, time limits and the end. Its states are in
 * http_conn.h.
 *
 * It is never freed inside a call: pl_conn_kill marks it and a deferred task frees it, so that
 * callers may go on using it until they return. Every state has a time limit: a request's arrival,
 * idling between requests, a client that reads nothing, lingering after the answer.
 *
 * After an answer, the connection is shut down and waits shortly for the client's end, since a
 * reset could overtake the answer. A reader counts as slow by what its kernel has acknowledged,
 * since our kernel takes megabytes at once. */
#include "net/http_conn.h"

#include "base/alloc.h"
#include "base/check.h"

#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>

#define LINGER_NS     (1 * PL_SECOND)
#define LINGER_BYTES  ((size_t)1 << 20)   /* bytes that are discarded; then the client is cut */
#define TLS_SLICE     ((size_t)64 * 1024) /* encrypted and sent before the next slice is encrypted */
#define SMALL_WRITE   ((size_t)16 * 1024) /* one TLS record */
#define MAX_PIECES    4
#define TLS_HANDSHAKE 0x16
#define KEEPALIVE_S   30

struct write_job {
    uv_write_t req;
    struct pl_conn *conn;
    char bytes[];
};

static struct pl_timers *http_conn_timers_of(struct pl_conn *conn)
{
    return pl_loop_timers(conn->server->loop);
}

/* ---- the end ---- */

static void on_http_conn_closed_cb(uv_handle_t *handle)
{
    struct pl_conn *conn = handle->data;
    struct pl_server *server = conn->server;
    pl_tls_destroy(conn->tls);
    pl_buf_deinit(&conn->pending);
    pl_free(conn);
    pl_server_release_handle(server);
}

void pl_conn_reap(struct pl_conn *conn)
{
    if (uv_is_closing(&conn->uv.handle))
        return;
    conn->dead = true;
    pl_timer_stop(http_conn_timers_of(conn), &conn->limit);
    pl_timer_stop(http_conn_timers_of(conn), &conn->stall);
    pl_loop_undefer(&conn->task);
    pl_link_unlink(&conn->link);
    conn->server->conn_count--;
    conn->server->lingering -= conn->state == PL_CONN_LINGERING;
    uv_close(&conn->uv.handle, on_http_conn_closed_cb);
    struct pl_exchange *exchange = conn->exchange;
    conn->exchange = NULL;
    if (exchange == NULL)
        return;
    if (conn->state == PL_CONN_READING)
        pl_exchange_destroy(exchange); /* no handler has seen it */
    else
        pl_exchange_detach(exchange);
}

void pl_conn_kill(struct pl_conn *conn)
{
    if (conn->dead)
        return;
    conn->dead = true;
    pl_conn_schedule(conn);
}

static void read_on(struct pl_conn *conn);

static void on_http_conn_task(struct pl_task *task)
{
    struct pl_conn *conn = PL_CONTAINER_OF(task, struct pl_conn, task);
    if (conn->dead) {
        pl_conn_reap(conn);
        return;
    }
    struct pl_exchange *exchange = conn->exchange;
    if (conn->state == PL_CONN_STREAMING && exchange->on_drained != NULL &&
        pl_conn_unread(conn) == 0) {
        void (*on_drained)(void *arg) = exchange->on_drained;
        exchange->on_drained = NULL;
        on_drained(exchange->arg);
    }
    if (conn->dead)
        return;
    bool upgraded = conn->state == PL_CONN_STREAMING && conn->exchange->on_bytes != NULL;
    if (conn->state == PL_CONN_READING || (upgraded && conn->pending.len > 0))
        pl_conn_resume(conn);
    if (upgraded)
        read_on(conn);
}

void pl_conn_schedule(struct pl_conn *conn)
{
    pl_loop_defer(conn->server->loop, &conn->task, on_http_conn_task);
}

/* ---- time limits ---- */

static void on_http_conn_limit(struct pl_timer *timer)
{
    struct pl_conn *conn = PL_CONTAINER_OF(timer, struct pl_conn, limit);
    bool between = conn->state == PL_CONN_READING && !conn->in_request;
    if (conn->state == PL_CONN_READING && conn->in_request)
        pl_conn_reject(conn, 408);
    else if (between && pl_conn_unread(conn) > 0)
        pl_conn_limit(conn); /* still reading the last answer, which has its own timer */
    else
        pl_conn_kill(conn);
}

void pl_conn_limit(struct pl_conn *conn)
{
    const struct pl_server_options *options = &conn->server->options;
    if (conn->dead)
        return;
    pl_link_unlink(&conn->link);
    pl_list_push(&conn->server->conns, &conn->link);
    if (conn->state == PL_CONN_READING)
        pl_timer_start(http_conn_timers_of(conn), &conn->limit,
                       (conn->in_request ? options->request_deadline_ms : options->idle_ms) * PL_MS,
                       on_http_conn_limit);
    else
        pl_timer_stop(http_conn_timers_of(conn), &conn->limit);
}

/* The number of queued bytes that the client's side has acknowledged. The kernel takes megabytes at
 * a time, so our own queue says too little about slow readers. */
static uint64_t drained_bytes(struct pl_conn *conn)
{
    uv_os_fd_t fd;
    int in_kernel = 0;
    if (uv_fileno(&conn->uv.handle, &fd) == 0)
        (void)ioctl(fd, SIOCOUTQ, &in_kernel);
    return conn->queued - pl_conn_unread(conn) - (uint64_t)in_kernel;
}

static void on_stall(struct pl_timer *timer)
{
    struct pl_conn *conn = PL_CONTAINER_OF(timer, struct pl_conn, stall);
    if (conn->dead || pl_conn_unread(conn) == 0)
        return;
    uint64_t drained = drained_bytes(conn);
    if (drained == conn->stall_mark) {
        pl_conn_kill(conn);
        return;
    }
    conn->stall_mark = drained;
    pl_timer_start(http_conn_timers_of(conn), timer, conn->server->options.idle_ms * PL_MS,
                   on_stall);
}

static void guard_against_stall(struct pl_conn *conn)
{
    if (pl_timer_is_active(&conn->stall))
        return;
    conn->stall_mark = drained_bytes(conn);
    pl_timer_start(http_conn_timers_of(conn), &conn->stall, conn->server->options.idle_ms * PL_MS,
                   on_stall);
}

/* ---- writing ---- */

size_t pl_conn_unread(const struct pl_conn *conn)
{
    return conn->dead ? 0 : uv_stream_get_write_queue_size(&conn->uv.stream);
}

static void on_written_cb(uv_write_t *req, int status)
{
    struct write_job *job = (struct write_job *)req;
    struct pl_conn *conn = job->conn;
    pl_free(job);
    if (conn->dead)
        return;
    if (status < 0) {
        pl_conn_kill(conn);
        return;
    }
    if (pl_conn_unread(conn) > 0)
        return;
    pl_timer_stop(http_conn_timers_of(conn), &conn->stall);
    if (conn->state == PL_CONN_STREAMING && conn->exchange->on_drained != NULL)
        pl_conn_schedule(conn);
}

static void queue(struct pl_conn *conn, const uv_buf_t *bufs, size_t count)
{
    size_t len = 0;
    for (size_t i = 0; i < count; i++)
        len += bufs[i].len;
    struct write_job *job = pl_malloc(sizeof *job + len);
    job->conn = conn;
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        if (bufs[i].len > 0)
            memcpy(job->bytes + at, bufs[i].base, bufs[i].len);
        at += bufs[i].len;
    }
    uv_buf_t all = {.base = job->bytes, .len = len};
    conn->queued += len;
    if (uv_write(&job->req, &conn->uv.stream, &all, 1, on_written_cb) != 0) {
        pl_free(job);
        pl_conn_kill(conn);
        return;
    }
    guard_against_stall(conn);
}

/* Sends on the socket: what it takes at once, the rest later. */
static void http_conn_put(struct pl_conn *conn, uv_buf_t *bufs, size_t count)
{
    int n = uv_try_write(&conn->uv.stream, bufs, (unsigned)count);
    if (n < 0 && n != UV_EAGAIN) {
        pl_conn_kill(conn);
        return;
    }
    size_t sent = n > 0 ? (size_t)n : 0, i = 0;
    for (; i < count && sent >= bufs[i].len; i++)
        sent -= bufs[i].len;
    if (i == count)
        return;
    bufs[i].base += sent;
    bufs[i].len -= sent;
    queue(conn, bufs + i, count - i);
}

static void put_tls_output(struct pl_conn *conn)
{
    struct pl_slice out = pl_tls_output(conn->tls);
    if (out.len > 0 && !conn->dead && !conn->shutting) {
        uv_buf_t buf = {.base = (char *)out.ptr, .len = out.len};
        http_conn_put(conn, &buf, 1);
    }
    pl_tls_output_taken(conn->tls);
}

static void write_tls(struct pl_conn *conn, const struct pl_slice *pieces, size_t count)
{
    size_t total = 0;
    for (size_t i = 0; i < count; i++)
        total += pieces[i].len;
    struct pl_slice together;
    struct pl_buf small = PL_BUF_INIT;
    if (count > 1 && total <= SMALL_WRITE) {
        for (size_t i = 0; i < count; i++)
            pl_buf_add_slice(&small, pieces[i]);
        together = pl_buf_slice(&small);
        pieces = &together;
        count = 1;
    }
    for (size_t i = 0; i < count; i++) {
        struct pl_slice rest = pieces[i];
        while (rest.len > 0 && !conn->dead) {
            size_t n = rest.len < TLS_SLICE ? rest.len : TLS_SLICE;
            if (pl_tls_write(conn->tls, pl_slice(rest.ptr, n)) != 0)
                pl_conn_kill(conn);
            put_tls_output(conn);
            rest = pl_slice(rest.ptr + n, rest.len - n);
        }
    }
    pl_buf_deinit(&small);
}

void pl_conn_write(struct pl_conn *conn, const struct pl_slice *pieces, size_t count)
{
    uv_buf_t bufs[MAX_PIECES];
    PL_REQUIRE(count <= MAX_PIECES);
    if (conn->dead || conn->shutting)
        return;
    if (conn->tls != NULL) {
        write_tls(conn, pieces, count);
        return;
    }
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        if (pieces[i].len > 0)
            bufs[n++] = (uv_buf_t){.base = (char *)pieces[i].ptr, .len = pieces[i].len};
    }
    if (n > 0)
        http_conn_put(conn, bufs, n);
}

static void on_shutdown_cb(uv_shutdown_t *req, int status)
{
    struct pl_conn *conn = req->data;
    if (conn->dead)
        return;
    if (status < 0 || conn->eof)
        pl_conn_kill(conn);
    else
        pl_timer_start(http_conn_timers_of(conn), &conn->limit, LINGER_NS, on_http_conn_limit);
}

/* If it closed while the client still sends, the kernel would answer with a reset, which can
 * overtake the reply. */
void pl_conn_linger(struct pl_conn *conn)
{
    if (conn->dead || conn->shutting)
        return;
    conn->server->lingering += conn->state != PL_CONN_LINGERING;
    conn->state = PL_CONN_LINGERING;
    pl_conn_limit(conn);
    if (conn->tls != NULL) {
        pl_tls_close(conn->tls);
        put_tls_output(conn);
    }
    conn->shutting = true;
    conn->shutdown.data = conn;
    if (uv_shutdown(&conn->shutdown, &conn->uv.stream, on_shutdown_cb) != 0)
        pl_conn_kill(conn);
}

/* ---- reading ---- */

static void on_alloc_cb(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    PL_UNUSED(suggested);
    struct pl_conn *conn = handle->data;
    *buf = (uv_buf_t){.base = conn->server->read_buf, .len = sizeof conn->server->read_buf};
}

static void on_eof(struct pl_conn *conn)
{
    conn->eof = true;
    /* A client that shut down its half may still wait for the current answer; a client that watches
     * or lingers has gone. */
    if (conn->state == PL_CONN_HANDLING ||
        (conn->state == PL_CONN_LINGERING && pl_conn_unread(conn) > 0))
        return;
    pl_conn_kill(conn);
}

static void decrypt(struct pl_conn *conn, struct pl_slice bytes)
{
    struct pl_server *server = conn->server;
    int n;
    pl_tls_feed(conn->tls, bytes);
    do {
        n = pl_tls_read(conn->tls, server->plain_buf, sizeof server->plain_buf);
        if (n > 0)
            pl_conn_feed(conn, pl_slice(server->plain_buf, (size_t)n));
    } while (n > 0 && !conn->dead && pl_tls_has_more(conn->tls));
    put_tls_output(conn);
    if (n == PL_ECLOSED)
        on_eof(conn);
    else if (n < 0)
        pl_conn_kill(conn);
}

/* A TLS handshake begins with its record type; no HTTP method begins with that byte. */
static void choose_protocol(struct pl_conn *conn, char first)
{
    if (!conn->heard && conn->tls != NULL && conn->server->options.plain_too &&
        first != TLS_HANDSHAKE) {
        pl_tls_destroy(conn->tls);
        conn->tls = NULL;
    }
    conn->heard = true;
}

static void on_read_cb(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct pl_conn *conn = stream->data;
    if (conn->dead || n == 0)
        return;
    if (n > 0 && conn->state == PL_CONN_LINGERING && (conn->lingered += (size_t)n) > LINGER_BYTES) {
        pl_conn_kill(conn);
        return;
    }
    if (n > 0)
        choose_protocol(conn, buf->base[0]);
    if (n == UV_EOF)
        on_eof(conn);
    else if (n < 0)
        pl_conn_kill(conn);
    else if (conn->tls != NULL)
        decrypt(conn, pl_slice(buf->base, (size_t)n));
    else
        pl_conn_feed(conn, pl_slice(buf->base, (size_t)n));
    if (!conn->dead && conn->paused)
        uv_read_stop(stream);
}

static void read_on(struct pl_conn *conn)
{
    if (!conn->paused || conn->eof || conn->dead)
        return;
    conn->paused = false;
    uv_read_start(&conn->uv.stream, on_alloc_cb, on_read_cb);
}

void pl_conn_next(struct pl_conn *conn, bool keep_alive)
{
    conn->exchange = NULL;
    if (conn->dead)
        return;
    bool more = keep_alive && (!conn->eof || conn->pending.len > 0 || conn->parsing);
    if (more) {
        conn->state = PL_CONN_READING;
        conn->in_request = false;
        pl_conn_limit(conn);
    } else {
        pl_conn_linger(conn);
    }
    read_on(conn);
    if (more && !conn->parsing && conn->pending.len > 0)
        pl_conn_schedule(conn);
}

/* ---- the beginning ---- */

static void init_stream(struct pl_conn *conn)
{
    uv_loop_t *uv = pl_loop_uv(conn->server->loop);
    if (conn->server->port < 0)
        PL_REQUIRE(uv_pipe_init(uv, &conn->uv.pipe, 0) == 0);
    else
        PL_REQUIRE(uv_tcp_init(uv, &conn->uv.tcp) == 0);
    conn->uv.handle.data = conn;
}

/* Which connections are closed first when there are too many: idle ones, then those that have not
 * sent their request, then those that read their answer slowly. Never one whose request is being
 * answered. */
enum worth { IDLE, ASKING, TAKING, KEPT };

static enum worth worth_of(const struct pl_conn *conn)
{
    if (conn->dead || conn->state != PL_CONN_READING)
        return KEPT;
    if (conn->in_request)
        return ASKING;
    return pl_conn_unread(conn) > 0 ? TAKING : IDLE;
}

/* False when no connection can be closed. */
static bool http_conn_make_room(struct pl_server *server, const struct pl_conn *newcomer)
{
    struct pl_conn *worst = NULL;
    PL_LIST_FOR (link, &server->conns) {
        struct pl_conn *conn = PL_CONTAINER_OF(link, struct pl_conn, link);
        if (conn != newcomer && worth_of(conn) < (worst != NULL ? worth_of(worst) : KEPT))
            worst = conn;
        if (worst != NULL && worth_of(worst) == IDLE)
            break;
    }
    if (worst != NULL)
        pl_conn_reap(worst);
    return worst != NULL;
}

/* Lingering connections do not count, as long as they are not too many themselves. */
static void make_lingering_few(struct pl_server *server)
{
    PL_LIST_FOR (link, &server->conns) {
        struct pl_conn *conn = PL_CONTAINER_OF(link, struct pl_conn, link);
        if (conn->state != PL_CONN_LINGERING)
            continue;
        pl_conn_reap(conn);
        return;
    }
}

static bool http_conn_has_room(struct pl_server *server, const struct pl_conn *newcomer)
{
    size_t most = server->options.max_connections;
    if (server->lingering > most)
        make_lingering_few(server);
    return server->conn_count - server->lingering <= most || http_conn_make_room(server, newcomer);
}

void pl_conn_accept(struct pl_server *server)
{
    struct pl_conn *conn = PL_NEW(struct pl_conn);
    conn->server = server;
    init_stream(conn);
    server->open_handles++;
    server->conn_count++;
    pl_list_push(&server->conns, &conn->link);
    if (server->tls != NULL)
        conn->tls = pl_tls_create(server->tls);
    pl_conn_parser_init(conn);
    if (uv_accept(&server->listener.stream, &conn->uv.stream) != 0) {
        pl_conn_kill(conn);
        return;
    }
    if (server->port >= 0) {
        uv_tcp_nodelay(&conn->uv.tcp, 1);
        uv_tcp_keepalive(&conn->uv.tcp, 1, KEEPALIVE_S);
    }
    pl_conn_limit(conn);
    bool room = http_conn_has_room(server, conn);
    if ((!room && conn->tls != NULL) ||
        uv_read_start(&conn->uv.stream, on_alloc_cb, on_read_cb) != 0)
        pl_conn_kill(conn);
    else if (!room)
        pl_conn_reject(conn, 503);
}
