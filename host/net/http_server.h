/* An HTTP/1.1 server on the loop: llhttp on libuv streams, TLS through OpenSSL's
 * memory BIOs. Limits on header, body, idle time and unread output. Loop's thread. */
#pragma once

#include "base/buf.h"
#include "net/http.h"
#include "net/loop.h"

struct pl_server;
struct pl_exchange; /* one request and its answer */

struct pl_server_options {
    const char *unix_path;          /* a Unix socket (mode 0600) instead of host and port */
    const char *host;               /* address to bind, e.g. "127.0.0.1"; NULL: all */
    int port;                       /* 0: any free port */
    const char *cert_pem, *key_pem; /* both or neither: TLS or plain */
    bool plain_too; /* with TLS: clients that speak plain HTTP are answered in plain HTTP */
    const char *client_ca_pem;   /* with TLS: clients need a certificate of this CA; or NULL */
    size_t max_body;             /* bytes; 0: 4 MiB */
    int64_t request_deadline_ms; /* from a request's first byte to its last; 0: 30 s */
    int64_t idle_ms;             /* of a keep-alive connection without a request; 0: 120 s */
    /* Bytes of a stream that a client may leave unread; beyond that it is cut; 0: 16 MiB. A whole
     * reply may be larger. A client that reads nothing for idle_ms is cut in any case. */
    size_t max_unread;
    /* 0: 4096. A connection beyond the limit replaces the one that is idle for the longest time,
     * else one that has not sent its request or not read its answer. If all are being answered, it
     * gets 503. */
    size_t max_connections;
};

struct pl_server_ops {
    /* The whole request has arrived. The handler answers now or later, exactly once, with
     * pl_exchange_reply or begin/write/end. */
    void (*on_request)(void *arg, struct pl_exchange *exchange);
};

/* NULL and err when the address cannot be bound or the certificate is invalid. ops is borrowed. */
struct pl_server *pl_server_create(struct pl_loop *loop, const struct pl_server_options *options,
                                   const struct pl_server_ops *ops, void *arg, struct pl_err *err);
int pl_server_port(const struct pl_server *server);
/* Sets the certificate for new connections. */
PL_MUST_USE int pl_server_set_certificate(struct pl_server *server, const char *cert_pem,
                                          const char *key_pem, struct pl_err *err);
/* From now on each connection is closed after its next answer; new connections are still accepted.
 */
void pl_server_close_after(struct pl_server *server);
/* Stops listening and cuts every connection. Streams get on_close before it returns; exchanges
 * without an answer stay valid until they are answered, to no effect. The memory is freed in later
 * turns of the loop. Accepts NULL. */
void pl_server_destroy(struct pl_server *server);

/* ---- the request; borrowed until the exchange ends ---- */
const char *pl_exchange_method(const struct pl_exchange *exchange);
struct pl_slice
pl_exchange_path(const struct pl_exchange *exchange); /* before "?", still escaped */
struct pl_slice
pl_exchange_query(const struct pl_exchange *exchange); /* after "?", still escaped */
const char *pl_exchange_header(const struct pl_exchange *exchange,
                               const char *name); /* lower case */
/* Header i, its name in lower case; false when there are not so many. */
bool pl_exchange_header_at(const struct pl_exchange *exchange, size_t i,
                           struct pl_http_header *header);
struct pl_slice pl_exchange_body(const struct pl_exchange *exchange);

/* ---- the answer ----
 * These functions may be called whether or not the client is still connected, but never after the
 * exchange has ended. They call no callback. The answer to a HEAD request is given as for GET; the
 * body is left out. */
/* Answers with a whole body and Content-Length. Ends the exchange. */
void pl_exchange_reply(struct pl_exchange *exchange, int status, const char *content_type,
                       struct pl_slice body);
/* The same with additional headers. */
void pl_exchange_reply_with(struct pl_exchange *exchange, int status,
                            const struct pl_http_header *headers, size_t header_count,
                            struct pl_slice body);
/* A stream (chunked). on_close is called once if the client or the server ends it first; the
 * exchange ends with on_close or pl_exchange_end. */
void pl_exchange_begin(struct pl_exchange *exchange, int status, const char *content_type,
                       void (*on_close)(void *arg), void *arg);
/* The same with 101: from now on the connection speaks another protocol. Pieces go out as they are,
 * and on_bytes has what the client sends, never from inside one of these calls. headers say which
 * protocol (beside Connection). */
void pl_exchange_upgrade(struct pl_exchange *exchange, const struct pl_http_header *headers,
                         size_t header_count, void (*on_bytes)(void *arg, struct pl_slice bytes),
                         void (*on_close)(void *arg), void *arg);
void pl_exchange_write(struct pl_exchange *exchange, struct pl_slice piece);
void pl_exchange_end(struct pl_exchange *exchange);
/* Cuts the connection without a proper end (fault injection, overload). on_close is not called.
 * Ends the exchange. */
void pl_exchange_abort(struct pl_exchange *exchange);
/* Bytes on the wire that were written but not yet taken by the client. 0 when the client is gone.
 * For pacing long streams; see pl_exchange_on_drained. */
size_t pl_exchange_unread(const struct pl_exchange *exchange);
/* After begin: calls on_drained(arg of begin) once, later, when no byte is unread any more (in the
 * next turn at the earliest). Not called after on_close or end. */
void pl_exchange_on_drained(struct pl_exchange *exchange, void (*on_drained)(void *arg));

/* Query parameters and %-escapes. True and the decoded value of the first parameter with this name.
 */
bool pl_query_get(struct pl_slice query, const char *name, struct pl_buf *value);
void pl_url_unescape(struct pl_slice text, bool plus_is_space, struct pl_buf *out);
/* "user:password" of a URL, even of a malformed one; empty when there is none. */
struct pl_slice pl_url_userinfo(struct pl_slice url);
/* Appends the URL without secrets: without user and password, and with its query replaced by
 * "?...". */
void pl_url_add_public(struct pl_buf *out, struct pl_slice url);
void pl_url_escape(struct pl_slice text, struct pl_buf *out); /* one path segment or query value */
