/* What a world's server is told of the webhooks of its scripts: the documents of registration.h,
 * written without a host's requests in between, so that a script without webhooks costs nothing and
 * no request is seen that nobody's script has made. One thread. */
#pragma once

#include "apicall/core.h"
#include "webhook/hooks.h"

struct pl_registered {
    struct pl_api *api; /* borrowed for life */
    const char *url;    /* of the hosts; borrowed for life */
    /* Asks the server, as a user would; the status, 0: no answer. */
    int (*request)(void *arg, const char *method, const char *target, struct pl_slice body);
    void *arg;
    bool configs[2]; /* by sort: it is there */
    char **crds;     /* owned, names: that are converted by webhooks */
    size_t crd_count;
    bool incomplete; /* a kind is not there yet: to be told again once there are other kinds */
};

/* From now on these, and no others; NULL: none. */
void pl_registered_set(struct pl_registered *registered, const struct pl_hooks *hooks);
void pl_registered_deinit(struct pl_registered *registered);
