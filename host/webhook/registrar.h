/* Tells the API server of the webhooks, and keeps it told: a ValidatingWebhookConfiguration, a
 * MutatingWebhookConfiguration, and spec.conversion of CRDs once they are there, by server-side
 * apply. When it writes is registration.h's rule. Kinds that the server does not serve yet are
 * registered when it does. I/O thread. */
#pragma once

#include "cluster/cluster.h"
#include "control/edition.h"
#include "webhook/registration.h"

struct pl_registrar;

struct pl_registrar_options {
    struct pl_cluster *cluster; /* borrowed for life, as is what follows */
    const char *name;           /* of both configurations */
    const char *url;            /* "https://HOST:PORT"; NULL: the service */
    const char *service_ns, *service_name;
    int service_port;
};

struct pl_registrar *pl_registrar_create(const struct pl_registrar_options *options);
/* Nothing of it is needed any more: references are given back, what is under way is cancelled.
 * Accepts NULL. */
void pl_registrar_destroy(struct pl_registrar *registrar);

/* The handlers, from now on; references are taken. */
void pl_registrar_set(struct pl_registrar *registrar, struct pl_edition *const *editions,
                      size_t count);
/* What the API server is to verify with, from now on; copied. Nothing is written before. NULL: what
 * it trusts anyway. */
void pl_registrar_set_ca(struct pl_registrar *registrar, const char *ca_pem);
/* Another URL; copied. Nothing is written while the one it was made with is NULL, too. */
void pl_registrar_set_url(struct pl_registrar *registrar, const char *url);
/* Takes everything back; done is called once, later, at the latest after limit_ns. */
void pl_registrar_remove(struct pl_registrar *registrar, int64_t limit_ns, void (*done)(void *arg),
                         void *arg);
