/* Webhooks as the host has them: the server, its certificate, and what the API server is told.
 * Nothing is opened, made or written before a script declares a handler. I/O thread. */
#pragma once

#include "webhook/hooks.h"

#include <stdatomic.h>

struct pl_webhooks;

struct pl_webhooks_options {
    struct pl_loop *loop; /* borrowed for life, as is all that follows */
    struct pl_cluster *cluster;
    struct pl_metrics *metrics;
    /* --webhook-bind-address */
    bool off;
    bool is_default;  /* nobody asked for it: when it can't be had, that is a warning */
    bool any_port;    /* then any free one will do */
    const char *host; /* "": every address */
    int port;
    atomic_int *port_told; /* the port is written here once it listens; NULL: nowhere */
    const char *cert_dir;  /* NULL: the host makes its certificate itself */
    const char *client_ca; /* a file; NULL: clients need no certificate */
    int64_t drain_ns;
    /* Where replicas share what the host makes itself; NULL: in memory. */
    const char *secret_ns, *secret_name;
    /* Where API servers reach the webhooks: a URL, "https://HOST:PORT", or a service. Both NULL:
     * nothing is registered. own_url: at the address where it listens. */
    const char *url, *service_ns, *service_name;
    int service_port;
    bool own_url;
    bool tell_unregistered;  /* say once that nothing is registered */
    const char *config_name; /* of what is registered; with either of them */
    bool remove;             /* a stop takes back what was registered */
};

/* NULL and err when a file that is named can't be read. */
struct pl_webhooks *pl_webhooks_create(const struct pl_webhooks_options *options,
                                       struct pl_err *err);
/* Accepts NULL. */
void pl_webhooks_destroy(struct pl_webhooks *webhooks);

/* From now on these handle requests (pl_hooks_switch). Opens the listener for the first of them. An
 * error when its address was asked for and can't be had; the handlers have been switched, and it
 * is tried again now and then. */
PL_MUST_USE int pl_webhooks_switch(struct pl_webhooks *webhooks, struct pl_edition *const *editions,
                                   size_t count, struct pl_err *err);
/* See pl_hooks_stop; with --webhook-drain. done is called once, later. */
void pl_webhooks_stop(struct pl_webhooks *webhooks, void (*done)(void *arg), void *arg);

/* Are there handlers that should be reached? */
bool pl_webhooks_is_used(const struct pl_webhooks *webhooks);
/* Can they be? Else why not is appended. */
bool pl_webhooks_is_ready(const struct pl_webhooks *webhooks, struct pl_buf *why);
const struct pl_hooks *pl_webhooks_hooks(const struct pl_webhooks *webhooks);
/* "127.0.0.1:9443"; "" while it does not listen. */
const char *pl_webhooks_address(const struct pl_webhooks *webhooks);
/* When the certificate that is served ends, in seconds since 1970; 0: there is none. */
int64_t pl_webhooks_expiry(const struct pl_webhooks *webhooks);
