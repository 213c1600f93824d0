/* Webhooks on the command line: their flags, their check, what status and check say. */
#pragma once

#include "serve/bind_address.h"
#include "cli/flags.h"
#include "serve/health.h"
#include "webhook/webhooks.h"

struct pl_admin;

/* Borrows from the flags. */
struct pl_webhook_options {
    struct pl_bind_address address;
    const char *cert_dir, *client_ca;
    int64_t drain_ns;
};

/* EINVAL with what is wrong. */
int pl_webhook_read(const struct pl_flags *flags, struct pl_webhook_options *out,
                    struct pl_err *err);

/* Adds /readyz's check, which is there while handlers are; remove it by its arg, the webhooks. */
void pl_webhook_add_check(struct pl_health *health, struct pl_webhooks *webhooks);
/* What status says. Borrowed for life. */
void pl_admin_add_webhooks(struct pl_admin *admin, struct pl_webhooks *webhooks);
/* For `perilune check`: a line for each kind of the registration. */
void pl_webhook_print(const struct pl_controller_spec *spec);
