/* HTTP requests, and the interface of a transport that carries them. The client on libcurl
 * (net/http_client.h) is one transport; tests use a scripted one. Loop's thread. */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "net/fence.h"

#include <stdbool.h>
#include <stdint.h>

struct pl_http_header {
    const char *name; /* borrowed for the call that takes it */
    const char *value;
};

/* How to reach a server and verify it. Borrowed by requests: must outlive them. Texts are PEM;
 * NULL: none. */
struct pl_tls_options {
    const char *ca_pem;   /* NULL: the system's CAs */
    const char *cert_pem; /* client certificate */
    const char *key_pem;
    const char *server_name; /* SNI and verification; NULL: the host of the URL */
    bool insecure;           /* no verification */
};

#define PL_HTTP_LANES 8
/* Requests behind a fence have their own connections, which end when the fence closes. */
#define PL_HTTP_LANE_FENCED PL_HTTP_LANES

struct pl_http_request {
    const char *method; /* "GET" */
    const char *url;    /* absolute, escaped */
    /* Content-Length and Transfer-Encoding are refused. */
    const struct pl_http_header *headers;
    size_t header_count;
    struct pl_slice body;             /* copied when the request starts */
    const struct pl_tls_options *tls; /* NULL for plain http */
    /* URL (http, https, socks5), may contain user and password; NULL: none. The environment is not
     * read here. */
    const char *proxy;
    const char *unix_socket;    /* path to connect to instead of the URL's host; NULL: none */
    const char *user_password;  /* "user:password" for basic auth; NULL: none */
    int64_t timeout_ms;         /* for the whole request; 0: none (a watch) */
    int64_t connect_timeout_ms; /* until the connection is ready; 0: 10 s */
    int64_t silence_ms;         /* ETIMEOUT when no byte arrives for this time; 0: never */
    size_t max_response;        /* bytes; 0: no limit (streams) */
    bool long_response;         /* read in larger pieces: fewer system calls */
    bool fresh_connection;      /* for a retry, which must not reuse a dead connection */
    int lane; /* 0 to PL_HTTP_LANES - 1: requests share connections only within a lane */
    /* Asked right before the first byte is sent and before each piece of the body (a small body may
     * be sent together with the head). It must read the clock afresh. False: the request ends with
     * EREFUSED and nothing (more) is sent. NULL: always allowed. */
    bool (*may_send)(void *arg);
    void *may_send_arg;
    /* Asked in addition, whenever bytes could be sent. When the fence is closed, its connections
     * are cut, so that a partly sent request is never completed, and its requests end with
     * EREFUSED. Only with PL_HTTP_LANE_FENCED; a client has at most one fence. NULL: none. */
    const struct pl_fence *fence;
    /* A GET whose headers ask for another protocol on the connection, which is its own: HTTP/1.1,
     * used for nothing else. After a 101 on_body has what the server says in that protocol, and the
     * transport's `send` answers; timeout_ms is until all of that has ended. */
    bool upgrade;
};

struct pl_http_response {
    int status;
    const struct pl_http_header *headers; /* names in lower case; borrowed */
    size_t header_count;
};

/* Callbacks come on the loop's thread and never inside start or cancel. */
struct pl_http_ops {
    /* Called once, when the final status line and headers are complete. May be NULL. */
    void (*on_response)(void *arg, const struct pl_http_response *response);
    /* Pieces of the body as they arrive. A non-zero return ends the request with that code. */
    int (*on_body)(void *arg, struct pl_slice piece);
    /* Called exactly once, last. err is NULL when the response was read to its end, whatever its
     * status. Else its code is ENETWORK, ETIMEOUT, ECANCELED, EREFUSED, ELIMIT (max_response),
     * EINVAL (the request cannot be sent) or the code from on_body. err->reason for ENETWORK is
     * "ConnectionRefused", "ConnectionReset", "NotProcessed" (lost, but the server said that it had
     * not processed the request), "Unreachable", "DNS", "TLS", "Proxy" or "Protocol"; for ETIMEOUT
     * "ConnectTimeout", "Silence" or "Timeout". */
    void (*on_done)(void *arg, const struct pl_err *err);
};

struct pl_http_call; /* one request under way; ends with on_done */

struct pl_transport_ops {
    /* Never returns NULL; failures come through on_done. ops and arg must live until then. */
    struct pl_http_call *(*start)(void *self, const struct pl_http_request *request,
                                  const struct pl_http_ops *ops, void *arg);
    /* on_done follows later with ECANCELED. */
    void (*cancel)(void *self, struct pl_http_call *call);
    /* For a request with `upgrade`, from its on_response with 101 until its on_done: sends the
     * bytes, which are copied. A peer that leaves over 16 MiB of them unread ends the request
     * (ELIMIT). */
    void (*send)(void *self, struct pl_http_call *call, struct pl_slice bytes);
};

struct pl_transport {
    const struct pl_transport_ops *ops;
    void *self;
};

/* The value of the first header with that (lower-case) name, or NULL. Borrowed from the response.
 */
const char *pl_http_header(const struct pl_http_response *response, const char *name);
