/* How each request proves who we are, and whom it trusts: tokens and certificates that change
 * while the process runs, and exec plugins. Loop's thread. */
#pragma once

#include "base/clock.h"
#include "base/list.h"
#include "base/wait.h"
#include "kube/kubeconfig.h"
#include "net/http.h"
#include "net/loop.h"

struct pl_credentials;

/* What one request is sent with. Immutable and counted: a request keeps its identity until
 * it is done, whatever becomes of files meanwhile. */
struct pl_identity {
    unsigned refs;
    const struct pl_tls_options *tls; /* points to options; NULL for plain http */
    struct pl_tls_options options;
    char *ca, *cert, *key; /* owned PEM behind options */
    char *authorization;   /* "Bearer ..."; NULL: none */
    char *user_password;   /* of basic auth; NULL: none */
};

struct pl_identity *pl_identity_ref(struct pl_identity *identity);
/* Accepts NULL. */
void pl_identity_unref(struct pl_identity *identity);

struct pl_credentials_options {
    const struct pl_kubeconfig *config; /* borrowed for life, as is everything here */
    const struct pl_clock *clock;
    struct pl_loop *loop;   /* for exec plugins; else may be NULL */
    struct pl_waits *waits; /* may be NULL */
};

/* NULL and err (EINVAL) when the configuration cannot be used. Nothing is run yet. */
struct pl_credentials *pl_credentials_create(const struct pl_credentials_options *options,
                                             struct pl_err *err);
/* Whoever waits is told ECANCELED first. Accepts NULL. */
void pl_credentials_destroy(struct pl_credentials *credentials);

/* Someone for whom a plugin runs. */
struct pl_credentials_wait {
    struct pl_link link;
    /* identity is the waiter's (a reference), or NULL with err. */
    void (*ready)(struct pl_credentials_wait *wait, struct pl_identity *identity,
                  const struct pl_err *err);
};

/* 0 and a reference in *identity; or PL_EAGAIN, and wait->ready comes later; or an error of the
 * plugin's last run that is too young to try again. */
PL_MUST_USE int pl_credentials_get(struct pl_credentials *credentials,
                                   struct pl_identity **identity, struct pl_credentials_wait *wait,
                                   struct pl_err *err);
/* Harmless when it does not wait. */
void pl_credentials_unwait(struct pl_credentials_wait *wait);
/* The server answered 401 to this identity. True when the next get gives another one. */
bool pl_credentials_reject(struct pl_credentials *credentials, const struct pl_identity *identity);
