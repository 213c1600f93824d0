/* HTTP requests: what they are, and who carries them. The client on libcurl
 * (net/http_client.h) is one transport; tests script another. Loop's thread. */
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

/* How to reach and trust a server. Borrowed by requests: must outlive them. Texts
 * are PEM; NULL: none. */
struct pl_tls_options {
    const char *ca_pem;   /* NULL: the system's */
    const char *cert_pem; /* client certificate */
    const char *key_pem;
    const char *server_name; /* SNI and verification; NULL: the host of the URL */
    bool insecure;           /* no verification */
};

#define PL_HTTP_LANES 8
/* Requests behind a fence have their connections to themselves: they end when it closes. */
#define PL_HTTP_LANE_FENCED PL_HTTP_LANES

struct pl_http_request {
    const char *method; /* "GET" */
    const char *url;    /* absolute, escaped */
    /* Neither Content-Length nor Transfer-Encoding: they are refused. */
    const struct pl_http_header *headers;
    size_t header_count;
    struct pl_slice body;             /* copied when the request starts */
    const struct pl_tls_options *tls; /* NULL for plain http */
    /* URL (http, https, socks5), may hold user and password; NULL: none. No environment
     * is read here. */
    const char *proxy;
    const char *unix_socket;    /* path to connect to instead of the URL's host; NULL: none */
    const char *user_password;  /* "user:password" for basic auth; NULL: none */
    int64_t timeout_ms;         /* of the whole request; 0: none (a watch) */
    int64_t connect_timeout_ms; /* until the connection is ready; 0: 10 s */
    int64_t silence_ms;         /* ETIMEOUT when no byte came for so long; 0: never */
    size_t max_response;        /* bytes; 0: no limit (streams) */
    bool long_response;         /* read from the socket in larger pieces: fewer system calls */
    bool fresh_connection;      /* a retry after a failure must not reuse a dead one */
    int lane; /* 0 to PL_HTTP_LANES - 1: connections are shared only within one number */
    /* Asked right before the first byte leaves and before each piece of body (a small one may
     * leave in one piece with the head), with fresh time; false: the request ends with EREFUSED
     * and nothing (more) is sent. NULL: yes. */
    bool (*may_send)(void *arg);
    void *may_send_arg;
    /* Asked besides, whenever anything could be sent; once closed, its connections are cut, so
     * that what was sent in part is never completed, and its requests end with EREFUSED. With
     * PL_HTTP_LANE_FENCED, and only there; a client knows one. NULL: none. */
    const struct pl_fence *fence;
};

struct pl_http_response {
    int status;
    const struct pl_http_header *headers; /* names in lower case; borrowed */
    size_t header_count;
};

/* Callbacks come on the loop's thread and never from inside start or cancel. */
struct pl_http_ops {
    /* Once, when the final status line and headers are there. May be NULL. */
    void (*on_response)(void *arg, const struct pl_http_response *response);
    /* Pieces of the body as they come. A non-zero return ends the request with that code. */
    int (*on_body)(void *arg, struct pl_slice piece);
    /* Exactly once, last: err is NULL when the response was read to its end, whatever
     * its status; else ENETWORK, ETIMEOUT, ECANCELED, EREFUSED, ELIMIT (max_response),
     * EINVAL (a request that cannot be sent) or what on_body said. err->reason is for
     * ENETWORK one of "ConnectionRefused", "ConnectionReset", "NotProcessed" (lost, but the
     * server said that it had not looked at the request), "Unreachable", "DNS", "TLS", "Proxy",
     * "Protocol"; for ETIMEOUT "ConnectTimeout", "Silence" or "Timeout". */
    void (*on_done)(void *arg, const struct pl_err *err);
};

struct pl_http_call; /* one request under way; ends with on_done */

struct pl_transport_ops {
    /* Never NULL; failures come through on_done. ops and arg must live until then. */
    struct pl_http_call *(*start)(void *self, const struct pl_http_request *request,
                                  const struct pl_http_ops *ops, void *arg);
    /* on_done comes with ECANCELED, later. */
    void (*cancel)(void *self, struct pl_http_call *call);
};

struct pl_transport {
    const struct pl_transport_ops *ops;
    void *self;
};

/* The first header of that (lower-case) name, or NULL. */
const char *pl_http_header(const struct pl_http_response *response, const char *name);
