/* The client, resource and selectors for listing and watching: a reflector and a list beside its
 * watch ask the same server for the same objects. I/O thread. */
#pragma once

#include "base/metrics.h"
#include "base/rand.h"
#include "kube/client.h"

struct pl_listing {
    struct pl_client *client; /* borrowed for life, like the following fields */
    struct pl_timers *timers;
    struct pl_rand *rand;
    const struct pl_resource *resource;
    const char *owner;                /* for logs and waits: the kind, with the namespace */
    const char *ns, *labels, *fields; /* NULL: none */
    bool metadata_only, keep_managed_fields;
    struct pl_series *lists; /* number of requests; NULL: not counted */
};
