/* Webhooks on the command line: their flags, their check, what status and check say. */
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

/* EINVAL with what is wrong. */
PL_MUST_USE int pl_webhook_read(const struct pl_flags *flags, struct pl_webhook_options *out,
                                struct pl_err *err);

/* What follows from the flags and from where the host runs; borrows from the flags. `names` keeps
 * texts that are made here, and must live as long as `out` is used. */
struct pl_webhook_names {
    char *secret_ns, *secret_name, *config_name; /* owned */
};
struct pl_webhook_place {
    const char *ns;               /* the pod's namespace; NULL: outside of a cluster */
    const char *lease_name;       /* --leader-elect-resource-name; NULL: not given */
    const char *first_controller; /* NULL: there is none */
    bool own_server;              /* perilune dev */
    atomic_int *port_told;        /* where the port of the listener is told; NULL: nowhere */
    bool dry_run;
};
PL_MUST_USE int pl_webhook_choose(const struct pl_webhook_options *flags,
                                  const struct pl_webhook_place *place,
                                  struct pl_webhook_names *names, struct pl_webhooks_options *out,
                                  struct pl_err *err);
void pl_webhook_names_deinit(struct pl_webhook_names *names);

/* Adds /readyz's check, which is there while handlers are; remove it by its arg, the webhooks. */
void pl_webhook_add_check(struct pl_health *health, struct pl_webhooks *webhooks);
/* What status says. Borrowed for life. */
void pl_admin_add_webhooks(struct pl_admin *admin, struct pl_webhooks *webhooks);
/* For `perilune check`: a line for each kind of the registration. */
void pl_webhook_print(const struct pl_controller_spec *spec);
