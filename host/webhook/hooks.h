/* The webhook server: admission and conversion reviews become runs of handlers, and what those
 * answer becomes the answer. It knows handlers by their editions (control/edition.h), which another
 * generation of scripts replaces between two requests; a request under way ends on the edition that
 * it began under. Every replica serves, whether it leads or not. I/O thread. */
#pragma once

#include "base/metrics.h"
#include "cluster/cluster.h"
#include "control/edition.h"
#include "net/http.h"
#include "net/loop.h"

struct pl_hooks;

struct pl_hooks_options {
    struct pl_loop *loop; /* borrowed for life, as is what follows */
    struct pl_cluster *cluster;
    struct pl_metrics *metrics;
};

struct pl_hooks *pl_hooks_create(const struct pl_hooks_options *options);
/* After pl_hooks_stop has told its end, or without any run under way. Accepts NULL. */
void pl_hooks_destroy(struct pl_hooks *hooks);

/* From now on these handle what comes; references are taken. None: every path is unknown. */
void pl_hooks_switch(struct pl_hooks *hooks, struct pl_edition *const *editions, size_t count);
/* At least one handler is declared. */
bool pl_hooks_any(const struct pl_hooks *hooks);

struct pl_hooks_listen {
    const char *host; /* NULL: all addresses */
    int port;
    const char *cert_pem, *key_pem;
    const char *client_ca_pem; /* NULL: clients need no certificate */
};
/* Serves TLS there. Once. An error when the address can't be had, or the pair is broken. */
PL_MUST_USE int pl_hooks_listen(struct pl_hooks *hooks, const struct pl_hooks_listen *where,
                                struct pl_err *err);
bool pl_hooks_is_listening(const struct pl_hooks *hooks);
int pl_hooks_port(const struct pl_hooks *hooks);
/* For connections that begin from now on. A broken pair changes nothing. */
PL_MUST_USE int pl_hooks_set_certificate(struct pl_hooks *hooks, const char *cert_pem,
                                         const char *key_pem, struct pl_err *err);

/* Listens for drain_ns more, closes each connection after its next answer, and answers what is
 * under way; then the listener is gone and done is called, once, later. */
void pl_hooks_stop(struct pl_hooks *hooks, int64_t drain_ns, void (*done)(void *arg), void *arg);

/* ---- without a connection ---- */

struct pl_hook_question {
    const char *method;          /* borrowed for the call, as is what follows */
    struct pl_slice path, query; /* still escaped */
    const char *content_type;    /* NULL: none */
    struct pl_slice body;        /* a review */
};

/* Whoever asked. reply is called once; everything is borrowed for the call. */
struct pl_hook_client {
    void (*reply)(void *arg, int status, const struct pl_http_header *headers, size_t count,
                  struct pl_slice body);
    void *arg;
};
/* Answers later, or before it returns; at the latest at the question's deadline. */
void pl_hooks_ask(struct pl_hooks *hooks, const struct pl_hook_question *question,
                  struct pl_hook_client client);

/* ---- what is going on ---- */

struct pl_hook_status {
    const struct pl_hook_kind *kind; /* borrowed for the call, as the rest */
    const struct pl_hook_spec *spec;
    const char *declared_at;
    uint64_t requests, denied, errors;
    int in_flight;
};
void pl_hooks_each(const struct pl_hooks *hooks,
                   void (*visit)(void *arg, const struct pl_hook_status *status), void *arg);
