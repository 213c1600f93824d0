/* The whole host: loop, client, cluster, lanes and manager, built in order, run until a signal, and
 * destroyed in reverse. Main thread. */
#pragma once

#include "cli/options.h"

/* before: called on the loop when everything is connected and before controllers start (dev applies
 * manifests); a non-zero return ends the host with 1. */
struct pl_host_hooks {
    int (*before)(void *arg, struct pl_cluster *cluster, struct pl_loop *loop, struct pl_err *err);
    void *arg;
};

/* Loads the scripts, finds the API server (options->kubeconfig), runs until a signal. Returns the
 * exit code; errors were reported. hooks may be NULL. */
int pl_host_run(const struct pl_options *options, const struct pl_host_hooks *hooks);
