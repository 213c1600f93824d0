/* The webhook side of a host: the server, its certificate, and the registration. Nothing is opened,
 * created or written before a script declares a handler. I/O thread. */
#pragma once

#include "webhook/hooks.h"

#include <stdatomic.h>

struct pl_webhooks;

struct pl_webhooks_options {
    struct pl_loop *loop; /* borrowed for life, like the following fields */
    struct pl_cluster *cluster;
    struct pl_metrics *metrics;
    /* --webhook-bind-address */
    bool off;
    bool is_default;  /* not requested: if it is not available, that is only a warning */
    bool any_port;    /* then any free port will do */
    const char *host; /* "": every address */
    int port;
    atomic_int *port_told; /* receives the port when it listens; may be NULL */
    const char *cert_dir;  /* NULL: the host makes its certificate itself */
    const char *client_ca; /* a file; NULL: clients need no certificate */
    int64_t drain_ns;
    /* The Secret in which replicas share the host's own certificates; NULL: in memory. */
    const char *secret_ns, *secret_name;
    /* The address of the webhooks for API servers: a URL, "https://HOST:PORT", or a service. Both
     * NULL: nothing is registered. own_url: the address of the listener. */
    const char *url, *service_ns, *service_name;
    int service_port;
    bool own_url;
    bool tell_unregistered;  /* log once that nothing is registered */
    const char *config_name; /* of what is registered; with either of them */
    bool remove;             /* a stop removes the registration */
};

/* NULL and err when a named file cannot be read. The caller owns the result. */
struct pl_webhooks *pl_webhooks_create(const struct pl_webhooks_options *options,
                                       struct pl_err *err);
/* Accepts NULL. */
void pl_webhooks_destroy(struct pl_webhooks *webhooks);

/* These editions handle requests from now on (pl_hooks_switch). Opens the listener for the first of
 * them. An error when a requested address is not available; the handlers have been switched, and
 * listening is retried. */
PL_MUST_USE int pl_webhooks_switch(struct pl_webhooks *webhooks, struct pl_edition *const *editions,
                                   size_t count, struct pl_err *err);
/* See pl_hooks_stop; with --webhook-drain. done is called once, at once or later. */
void pl_webhooks_stop(struct pl_webhooks *webhooks, void (*done)(void *arg), void *arg);

/* Whether there are handlers. */
bool pl_webhooks_is_used(const struct pl_webhooks *webhooks);
/* Whether they are reachable. Otherwise appends the reason. */
bool pl_webhooks_is_ready(const struct pl_webhooks *webhooks, struct pl_buf *why);
/* Whether a registration is missing that should be there. Appends why. */
bool pl_webhooks_is_incomplete(const struct pl_webhooks *webhooks, struct pl_buf *why);
/* Belongs to the webhooks. */
const struct pl_hooks *pl_webhooks_hooks(const struct pl_webhooks *webhooks);
/* "127.0.0.1:9443"; "" while it does not listen. Part of the webhooks; borrowed for the moment. */
const char *pl_webhooks_address(const struct pl_webhooks *webhooks);
/* End of the served certificate, in seconds since 1970; 0: there is none. */
int64_t pl_webhooks_expiry(const struct pl_webhooks *webhooks);
