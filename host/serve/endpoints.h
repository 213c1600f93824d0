/* The two HTTP servers for monitoring: /metrics, and /healthz and /readyz. The loop's thread. */
#pragma once

#include "base/metrics.h"
#include "serve/bind_address.h"
#include "serve/health.h"
#include "kube/client.h"
#include "net/loop.h"

struct pl_endpoints;

struct pl_endpoints_options {
    struct pl_loop *loop;       /* borrowed for life, like the following fields */
    struct pl_metrics *metrics; /* content of /metrics */
    struct pl_health *health;   /* content of the probes */
    struct pl_bind_address metrics_address, health_address;
    bool metrics_secure; /* TLS, and only for authorized clients: metrics_guard.h */
    const char
        *metrics_cert; /* a folder with tls.crt and tls.key; NULL: a self-signed certificate */
};

/* Listens, and logs the addresses. NULL and err when a requested address is not available. A
 * default address of a developer's machine that another program has is logged and skipped. The
 * caller owns the result. */
struct pl_endpoints *pl_endpoints_create(const struct pl_endpoints_options *options,
                                         struct pl_err *err);
/* With metrics_secure: the API server that authorizes clients; NULL: no one may see them any more.
 */
void pl_endpoints_ask(struct pl_endpoints *endpoints, struct pl_client *client);
/* Accepts NULL. */
void pl_endpoints_destroy(struct pl_endpoints *endpoints);
