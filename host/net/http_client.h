/* The transport on libcurl's multi interface, driven by the loop: HTTP/1.1 and
 * HTTP/2 over TLS, connection reuse, proxies, keepalive and TCP_USER_TIMEOUT
 * against peers that vanish. Loop's thread. */
#pragma once

#include "net/http.h"
#include "net/loop.h"

struct pl_http_client;

/* The caller owns the client. The loop must outlive it. */
struct pl_http_client *pl_http_client_create(struct pl_loop *loop);
/* Cancels all calls; each on_done is called before it returns. */
void pl_http_client_destroy(struct pl_http_client *client);
struct pl_transport pl_http_client_transport(struct pl_http_client *client);
/* Drops idle connections, e.g. after certificates changed. */
void pl_http_client_forget_connections(struct pl_http_client *client);
/* "libcurl/7.88.1 OpenSSL/3.0.15 ...". It lives as long as the process. */
const char *pl_http_client_version(void);
