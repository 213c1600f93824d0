/* A cluster besides the host's own, as a script names it. Plain data. */
#pragma once

/* How a script names one. All texts are the spec's own. */
struct pl_remote_spec {
    char *name;
    char *kubeconfig;                           /* a file; NULL: as with secret, or as the host */
    char *context;                              /* NULL: the current one */
    char *secret_ns, *secret_name, *secret_key; /* NULL: no Secret */
};
void pl_remote_spec_deinit(struct pl_remote_spec *spec);
