/* The two servers that an operator's machinery talks to: /metrics, and /healthz and /readyz.
 * The loop's thread. */
#pragma once

#include "base/metrics.h"
#include "serve/bind_address.h"
#include "serve/health.h"
#include "kube/client.h"
#include "net/loop.h"

struct pl_endpoints;

struct pl_endpoints_options {
    struct pl_loop *loop;       /* borrowed for life, as is what follows */
    struct pl_metrics *metrics; /* what /metrics shows */
    struct pl_health *health;   /* what the probes show */
    struct pl_bind_address metrics_address, health_address;
    bool metrics_secure;      /* TLS, for who may see them: metrics_guard.h */
    const char *metrics_cert; /* a folder with tls.crt and tls.key; NULL: it signs one itself */
};

/* Listens, and logs where. NULL and err when an address that was asked for can't be had; a default
 * of a developer's machine that is taken, as by another host, is logged and left. */
struct pl_endpoints *pl_endpoints_create(const struct pl_endpoints_options *options,
                                         struct pl_err *err);
/* With metrics_secure: who is asked who may see them; NULL: nobody any more, and nobody may. */
void pl_endpoints_ask(struct pl_endpoints *endpoints, struct pl_client *client);
/* Accepts NULL. */
void pl_endpoints_destroy(struct pl_endpoints *endpoints);
