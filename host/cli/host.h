/* The whole host: loop, client, cluster, lanes and manager, built in order, run until a signal, and
 * torn down in reverse. */
#pragma once

#include "cli/options.h"

/* Loads the scripts, connects, runs. The exit code. config: where the API server is.
 * before: called on the loop once everything is connected and before controllers start (dev
 * applies manifests); a non-zero return ends the host with 1. May be NULL. */
struct pl_host_hooks {
    int (*before)(void *arg, struct pl_cluster *cluster, struct pl_loop *loop, struct pl_err *err);
    void *arg;
};
int pl_host_run(const struct pl_options *options, const struct pl_kubeconfig *config,
                const struct pl_host_hooks *hooks);

/* Loads the scripts without a cluster; on a mistake prints it and returns NULL. */
struct pl_lanes *pl_host_load(const struct pl_options *options,
                              struct pl_declarations *declarations);
