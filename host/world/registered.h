/* Registers the webhooks of a world's scripts with its server: writes the documents of
 * registration.h without requests of a host, so that a script without webhooks costs nothing and
 * specs see only requests of scripts. One thread. */
#pragma once

#include "apicall/core.h"
#include "webhook/hooks.h"

struct pl_registered {
    struct pl_api *api; /* borrowed for life */
    const char *url;    /* of the hosts; borrowed for life */
    /* Asks the server like a user; returns the status, 0: no answer. */
    int (*request)(void *arg, const char *method, const char *target, struct pl_slice body);
    void *arg;
    bool configs[2]; /* by sort: the configuration exists */
    char **crds;     /* owned, names: CRDs that webhooks convert */
    size_t crd_count;
    bool incomplete; /* a kind is missing: try again when there are new kinds */
};

/* Registers exactly these from now on; NULL: none. */
void pl_registered_set(struct pl_registered *registered, const struct pl_hooks *hooks);
void pl_registered_deinit(struct pl_registered *registered);
