/* Private to net: one connection of the server. http_conn.c moves bytes (uv, TLS, time limits, the
 * end), http_parse.c finds requests in them, http_exchange.c answers. Loop's thread. */
#pragma once

#include "crypto/tls.h"
#include "net/http_server.h"

#include <llhttp.h>
#include <uv.h>

#define PL_SERVER_READ_SIZE 65536

struct pl_server {
    struct pl_loop *loop;             /* borrowed */
    struct pl_server_options options; /* without its texts */
    const struct pl_server_ops *ops;  /* borrowed */
    void *arg;
    struct pl_tls_context *tls; /* owned; NULL for a plain server */
    char *client_ca_pem;        /* owned; for the next certificate */
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    } listener;
    /* struct pl_conn that are not closing, in the order of their last change of state. */
    struct pl_list conns;
    size_t conn_count;   /* their number */
    size_t lingering;    /* the number of them that linger */
    size_t open_handles; /* uv handles that are not closed yet, the listener's included */
    int port;
    bool closing;
    bool close_after;                    /* close each connection after its next answer */
    struct pl_buf scratch;               /* buffer for heads and small TLS records */
    char read_buf[PL_SERVER_READ_SIZE];  /* consumed before the next read */
    char plain_buf[PL_SERVER_READ_SIZE]; /* the same behind TLS */
};

enum pl_conn_state {
    PL_CONN_READING,   /* between requests or inside one */
    PL_CONN_HANDLING,  /* the handler has a request */
    PL_CONN_STREAMING, /* the handler sends a stream; bytes from the client are dropped */
    PL_CONN_LINGERING, /* everything is sent; waiting for the client to close */
};

enum pl_head_line {
    PL_HEAD_BEFORE, /* the request's first byte is still to come */
    PL_HEAD_INSIDE, /* of a line */
    PL_HEAD_BEGIN,  /* of a line */
    PL_HEAD_OVER,   /* the bytes that follow are not part of the head */
};

struct pl_conn {
    struct pl_link link;      /* in server->conns */
    struct pl_server *server; /* back-pointer */
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    } uv;
    uv_shutdown_t shutdown;
    struct pl_tls *tls; /* owned; NULL for plain */
    llhttp_t parser;
    enum pl_conn_state state;
    struct pl_exchange *exchange; /* owned while READING, later shared with the handler */
    struct pl_buf pending;        /* bytes that came after the current request */
    struct pl_timer limit;        /* limit for idling, for a request's arrival, or for lingering */
    struct pl_timer stall;        /* guards against a client that does not read */
    uint64_t queued, stall_mark;  /* bytes ever queued; bytes acknowledged at the last check */
    struct pl_task task;          /* continues parsing, calls on_drained, or reaps */
    int reject;             /* status of an error found while parsing, which ends the connection */
    char other_method[24];  /* of the request: one that llhttp does not know; empty: none */
    enum pl_head_line line; /* where in the request's head the next byte is */
    bool in_request;        /* the first byte of the request has arrived */
    bool head_done;         /* further header lines are trailers */
    bool heard;             /* the client's first bytes have arrived */
    bool parsing, paused, eof, shutting, dead;
    size_t lingered; /* bytes that came since everything was sent */
};

struct pl_exchange_header {
    uint32_t name, value; /* offsets in text */
};

struct pl_exchange {
    struct pl_conn *conn; /* NULL once the connection is gone */
    struct pl_loop *loop; /* borrowed; outlives the connection and the server */
    struct pl_task task;  /* calls on_close if the client was gone before the stream began */
    const char *method;   /* static */
    struct pl_buf text;   /* URL, then names and values, each with a NUL */
    struct pl_exchange_header *headers; /* owned */
    size_t header_count, header_cap;
    size_t path, path_len, query, query_len; /* inside text */
    struct pl_buf body;
    bool is_head, keep_alive, chunked, begun;
    bool closing;                                       /* on_close is being called */
    void (*on_bytes)(void *arg, struct pl_slice bytes); /* NULL: received bytes are dropped */
    void (*on_close)(void *arg);
    void (*on_drained)(void *arg);
    void *arg;
};

/* ---- http_conn.c ---- */
void pl_conn_accept(struct pl_server *server);
/* Sends the pieces; copies the bytes that the socket does not take at once. */
void pl_conn_write(struct pl_conn *conn, const struct pl_slice *pieces, size_t count);
size_t pl_conn_unread(const struct pl_conn *conn);
/* The current request was answered: continues with the next one, or ends the connection. */
void pl_conn_next(struct pl_conn *conn, bool keep_alive);
/* Ends in order: queued bytes are sent, then the client closes or is cut. */
void pl_conn_linger(struct pl_conn *conn);
/* Ends at once; the handler's on_close comes in a later callback. */
void pl_conn_kill(struct pl_conn *conn);
/* The same, but on_close is called before it returns. */
void pl_conn_reap(struct pl_conn *conn);
/* Runs waiting work (parsing, on_drained) in a separate callback. */
void pl_conn_schedule(struct pl_conn *conn);
/* The connection has changed its state: restarts the limit for idling or for the request's arrival,
 * or stops it. */
void pl_conn_limit(struct pl_conn *conn);
void pl_server_release_handle(struct pl_server *server);

/* ---- http_parse.c ---- */
void pl_conn_parser_init(struct pl_conn *conn);
/* Plain bytes from the client. */
void pl_conn_feed(struct pl_conn *conn, struct pl_slice bytes);
/* Parses the pending bytes. */
void pl_conn_resume(struct pl_conn *conn);
/* Answers with an error and lingers. */
void pl_conn_reject(struct pl_conn *conn, int status);

/* ---- http_exchange.c ---- */
void pl_exchange_destroy(struct pl_exchange *exchange);
/* The connection is gone: calls on_close, or leaves the exchange to its handler. */
void pl_exchange_detach(struct pl_exchange *exchange);
/* "Not Found"; "Other" for a status without a text here. A literal. */
const char *pl_http_status_text(int status);
