/* The webhook server: admission and conversion reviews become runs of handlers, and the handlers'
 * results become the answers. It knows handlers by their editions (control/edition.h), which a new
 * generation of scripts replaces between two requests; a request under way ends with the edition
 * under which it began. Every replica serves, leader or not. I/O thread. */
#pragma once

#include "base/metrics.h"
#include "cluster/cluster.h"
#include "control/edition.h"
#include "net/http.h"
#include "net/loop.h"

struct pl_hooks;

struct pl_hooks_options {
    struct pl_loop *loop; /* borrowed for life, like the following fields */
    struct pl_cluster *cluster;
    struct pl_metrics *metrics;
};

/* The caller owns the result. The options are copied. */
struct pl_hooks *pl_hooks_create(const struct pl_hooks_options *options);
/* After the callback of pl_hooks_stop, or without any run under way. Accepts NULL. */
void pl_hooks_destroy(struct pl_hooks *hooks);

/* These editions handle requests from now on; references are taken. Without editions every path is
 * unknown. */
void pl_hooks_switch(struct pl_hooks *hooks, struct pl_edition *const *editions, size_t count);
/* At least one handler is declared. */
bool pl_hooks_any(const struct pl_hooks *hooks);

struct pl_hooks_listen {
    const char *host; /* NULL: all addresses */
    int port;
    const char *cert_pem, *key_pem;
    const char *client_ca_pem; /* NULL: clients need no certificate */
};
/* Serves TLS at that address. Call it once. An error when the address is not available, or the pair
 * is invalid. */
PL_MUST_USE int pl_hooks_listen(struct pl_hooks *hooks, const struct pl_hooks_listen *where,
                                struct pl_err *err);
bool pl_hooks_is_listening(const struct pl_hooks *hooks);
int pl_hooks_port(const struct pl_hooks *hooks);
/* For new connections. An invalid pair changes nothing. */
PL_MUST_USE int pl_hooks_set_certificate(struct pl_hooks *hooks, const char *cert_pem,
                                         const char *key_pem, struct pl_err *err);

/* Continues to listen for drain_ns, closes each connection after its next answer, and answers
 * requests under way. Then the listener is closed and done is called, once; at once if there is
 * neither a listener nor a request. */
void pl_hooks_stop(struct pl_hooks *hooks, int64_t drain_ns, void (*done)(void *arg), void *arg);

/* ---- without a connection ---- */

struct pl_hook_question {
    const char *method;          /* borrowed for the call, like the following fields */
    struct pl_slice path, query; /* still escaped */
    const char *content_type;    /* NULL: none */
    struct pl_slice body;        /* a review */
};

/* The asking client. reply is called once; everything is borrowed for the call. */
struct pl_hook_client {
    void (*reply)(void *arg, int status, const struct pl_http_header *headers, size_t count,
                  struct pl_slice body);
    void *arg;
};
/* Answers later, or before it returns; at the latest at the question's deadline. */
void pl_hooks_ask(struct pl_hooks *hooks, const struct pl_hook_question *question,
                  struct pl_hook_client client);

/* ---- status ---- */

/* Whether all kinds that handlers read have synced. Appends which have not, and why; *elsewhere:
 * all of those are in other clusters. */
bool pl_hooks_have_synced(const struct pl_hooks *hooks, struct pl_buf *why, bool *elsewhere);

struct pl_hook_status {
    const struct pl_hook_kind *kind; /* borrowed for the call, like the other fields */
    const struct pl_hook_spec *spec;
    const char *declared_at;
    uint64_t requests, denied, errors;
    int in_flight;
};
void pl_hooks_each(const struct pl_hooks *hooks,
                   void (*visit)(void *arg, const struct pl_hook_status *status), void *arg);
