/* Reads the resource and object of an API request from its method and URL. */
#pragma once

#include "base/slice.h"

#include <stdbool.h>

struct pl_target {
    struct pl_slice path, query; /* of the URL that was parsed; borrowed from it */
    const char *verb;            /* "get", "list", "watch", "create", "update", "patch", "delete",
                                    "deletecollection"; of what is no resource the same by its method */
    char *resource;    /* "apps/v1/deployments", "v1/pods"; "" for what is no resource. Owned. */
    char *object;      /* "apps/v1/deployments default/blog"; the path for what is none. Owned. */
    char *subresource; /* "status" or "". Owned. */
    bool writes;       /* and it is not a dry run */
};

/* The URL must outlive it. */
void pl_target_parse(struct pl_target *target, const char *method, const char *url);
void pl_target_deinit(struct pl_target *target);
