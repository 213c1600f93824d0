/* The options of `run`, `dev` and `check`: flags, environment and --config, checked. Main thread.
 */
#pragma once

#include "cli/commands.h"
#include "cli/leader.h"
#include "cli/webhook.h"
#include "kube/kubeconfig.h"
#include "lane/lanes.h"
#include "record/record.h"
#include "serve/bind_address.h"

struct pl_options {
    struct pl_flags flags;
    struct pl_doc *config;                   /* --config, decoded; owned; NULL: none */
    struct pl_buf config_text;               /* its text */
    struct pl_kubeconfig_options kubeconfig; /* borrows from flags */
    struct pl_lanes_options lanes;           /* borrows from flags and config */
    char *const *namespaces;                 /* NULL: all */
    char *const *manifests;                  /* dev: -f; NULL: none */
    bool own_manifests;                      /* dev: also manifests/ beside the scripts */
    int64_t grace_ns, request_timeout_ns;
    double qps;
    int burst;
    bool stream_lists;
    bool dry_run, reload, reload_guard;
    bool once;
    int64_t once_timeout_ns;         /* 0: none */
    const char *admin_socket;        /* NULL: the default; "0": none */
    struct pl_leader_options leader; /* borrows from flags */
    struct pl_bind_address metrics_address, health_address, page_address;
    bool metrics_secure;
    const char *metrics_cert;          /* borrowed from the flags; NULL: none */
    struct pl_webhook_options webhook; /* borrows from flags */
    char *record_path;                 /* owned: the file of --record; NULL: none */
    struct pl_record_options record;   /* path: the same */
    bool own_server;                   /* dev: addresses are not reported elsewhere */
    atomic_int *webhook_port;          /* dev: receives the webhook port; NULL: not needed */
};

/* Reads everything and configures the log. False: stop with *exit_code. The caller deinits in both
 * cases. */
bool pl_options_read(struct pl_options *options, const struct pl_command *self, int argc,
                     char *const *argv, int *exit_code);
void pl_options_deinit(struct pl_options *options);
