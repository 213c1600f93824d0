/* Registers the webhooks with the API server and keeps the registration up to date: a
 * ValidatingWebhookConfiguration, a MutatingWebhookConfiguration, and spec.conversion of existing
 * CRDs, by server-side apply. registration.h decides when to write. Kinds that the server does not
 * serve yet are registered when it does. I/O thread. */
#pragma once

#include "cluster/cluster.h"
#include "control/edition.h"
#include "webhook/registration.h"

struct pl_registrar;

struct pl_registrar_options {
    struct pl_cluster *cluster; /* borrowed for life, like the following fields */
    const char *name;           /* of both configurations */
    const char *url;            /* "https://HOST:PORT"; NULL: the service */
    const char *service_ns, *service_name;
    int service_port;
};

/* The caller owns the registrar. The options are copied. */
struct pl_registrar *pl_registrar_create(const struct pl_registrar_options *options);
/* References are released, requests under way are cancelled. Accepts NULL. */
void pl_registrar_destroy(struct pl_registrar *registrar);

/* Sets the handlers; references are taken. */
void pl_registrar_set(struct pl_registrar *registrar, struct pl_edition *const *editions,
                      size_t count);
/* Sets the CA for the API server; copied. Nothing is written before. NULL: the CAs that it trusts
 * anyway. */
void pl_registrar_set_ca(struct pl_registrar *registrar, const char *ca_pem);
/* Changes the URL; copied. Nothing is written while the URL is NULL and the initial one was NULL,
 * too. */
void pl_registrar_set_url(struct pl_registrar *registrar, const char *url);
/* Whether something is not registered: its last write failed, or its kind or CRD is not known.
 * Appends why. */
bool pl_registrar_is_incomplete(const struct pl_registrar *registrar, struct pl_buf *why);
/* Removes all registrations; done is called once, later, at the latest after limit_ns. */
void pl_registrar_remove(struct pl_registrar *registrar, int64_t limit_ns, void (*done)(void *arg),
                         void *arg);
