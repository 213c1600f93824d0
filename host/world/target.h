/* Reads the resource and object of an API request from its method and URL. */
#pragma once

#include "base/slice.h"

#include <stdbool.h>

struct pl_target {
    struct pl_slice path, query; /* of the URL that was parsed; borrowed from it */
    const char *verb;            /* "get", "list", "watch", "create", "update", "patch", "delete",
                                    "deletecollection"; for other paths the same by the method */
    char *resource;              /* "apps/v1/deployments", "v1/pods"; "" for other paths. Owned. */
    char *object;      /* "apps/v1/deployments default/blog"; otherwise the path. Owned. */
    char *subresource; /* "status" or "". Owned. */
    bool writes;       /* the verb changes something, and it is not a dry run */
};

/* The URL must outlive it. */
void pl_target_parse(struct pl_target *target, const char *method, const char *url);
void pl_target_deinit(struct pl_target *target);
