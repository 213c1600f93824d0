/* Another cluster, as a script declares it. Plain data. */
#pragma once

/* The declaration. The spec owns all texts. */
struct pl_remote_spec {
    char *name;
    char *kubeconfig; /* a file; NULL: see secret, or the host's configuration */
    char *context;    /* NULL: the current one */
    char *secret_ns, *secret_name, *secret_key; /* NULL: no Secret */
};
void pl_remote_spec_deinit(struct pl_remote_spec *spec);
