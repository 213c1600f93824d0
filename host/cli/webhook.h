/* Webhooks on the command line: their flags, their readiness check, their part of status and check.
 * I/O thread. */
#pragma once

#include "command/flags.h"
#include "serve/bind_address.h"
#include "serve/health.h"
#include "webhook/webhooks.h"

#include <stdatomic.h>

struct pl_admin;

/* Borrows from the flags. */
struct pl_webhook_options {
    struct pl_bind_address address;
    const char *cert_dir, *client_ca;
    int64_t drain_ns;
    const char *secret; /* NS/NAME; NULL: the default */
    bool self_signed, registers, keep;
    const char *url;                 /* NULL: none */
    char *service_ns, *service_name; /* owned; NULL: none */
    int service_port;
};
void pl_webhook_options_deinit(struct pl_webhook_options *options);

/* EINVAL with the reason. */
PL_MUST_USE int pl_webhook_read(const struct pl_flags *flags, struct pl_webhook_options *out,
                                struct pl_err *err);

/* Options derived from the flags and from the host's environment; borrows from the flags. `names`
 * owns derived texts, and must live as long as `out` is used. */
struct pl_webhook_names {
    char *secret_ns, *secret_name, *config_name; /* owned */
};
struct pl_webhook_place {
    const char *ns;               /* the pod's namespace; NULL: outside of a cluster */
    const char *lease_name;       /* --leader-elect-resource-name; NULL: not given */
    const char *first_controller; /* NULL: there is none */
    bool own_server;              /* perilune dev */
    atomic_int *port_told;        /* receives the port of the listener; may be NULL */
    bool dry_run;
};
PL_MUST_USE int pl_webhook_choose(const struct pl_webhook_options *flags,
                                  const struct pl_webhook_place *place,
                                  struct pl_webhook_names *names, struct pl_webhooks_options *out,
                                  struct pl_err *err);
void pl_webhook_names_deinit(struct pl_webhook_names *names);

/* Adds a check to /readyz, which applies while there are handlers; remove it by its arg, the
 * webhooks. */
void pl_webhook_add_check(struct pl_health *health, struct pl_webhooks *webhooks);
/* Adds the webhooks to status. Borrowed for life. */
void pl_admin_add_webhooks(struct pl_admin *admin, struct pl_webhooks *webhooks);
/* For `perilune check`: prints a line for each kind of the registration. */
void pl_webhook_print(const struct pl_controller_spec *spec);
