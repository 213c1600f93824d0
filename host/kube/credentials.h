/* The identity for each request, and the CAs to trust: tokens and certificates that change while
 * the process runs, and exec plugins. Loop's thread. */
#pragma once

#include "base/clock.h"
#include "base/list.h"
#include "base/wait.h"
#include "kube/kubeconfig.h"
#include "net/http.h"
#include "net/loop.h"

struct pl_credentials;

/* The credentials of one request. Immutable and counted: a request keeps its identity until it is
 * done, even if files change meanwhile. */
struct pl_identity {
    unsigned refs;
    const struct pl_tls_options *tls; /* points to options; NULL for plain http */
    struct pl_tls_options options;
    char *ca, *cert, *key; /* owned PEM behind options */
    char *authorization;   /* "Bearer ..."; NULL: none */
    char *user_password;   /* of basic auth; NULL: none */
};

/* Accepts NULL. */
void pl_identity_unref(struct pl_identity *identity);

struct pl_credentials_options {
    const struct pl_kubeconfig *config; /* borrowed for life, like all fields here */
    const struct pl_clock *clock;
    struct pl_loop *loop;   /* for exec plugins; else may be NULL */
    struct pl_waits *waits; /* may be NULL */
};

/* NULL and err (EINVAL) when the configuration cannot be used. No plugin runs yet. The caller owns
 * the result. */
struct pl_credentials *pl_credentials_create(const struct pl_credentials_options *options,
                                             struct pl_err *err);
/* Waiting callers get ECANCELED first. Accepts NULL. */
void pl_credentials_destroy(struct pl_credentials *credentials);

/* A caller that waits for a plugin. */
struct pl_credentials_wait {
    struct pl_link link;
    /* The waiter takes the reference to identity; NULL with err on failure. */
    void (*ready)(struct pl_credentials_wait *wait, struct pl_identity *identity,
                  const struct pl_err *err);
};

/* 0 and a reference in *identity; or PL_EAGAIN, and wait->ready comes later; or the error of the
 * plugin's last run, if that was too short ago to try again. */
PL_MUST_USE int pl_credentials_get(struct pl_credentials *credentials,
                                   struct pl_identity **identity, struct pl_credentials_wait *wait,
                                   struct pl_err *err);
/* Does nothing when it does not wait. */
void pl_credentials_unwait(struct pl_credentials_wait *wait);
/* The server answered 401 to this identity. True when the next get gives a different one. */
bool pl_credentials_reject(struct pl_credentials *credentials, const struct pl_identity *identity);
