/* The path of a kind on the API server. Immutable, so any thread may read it; lives as long as its
 * discovery. */
#pragma once

#include "base/err.h"
#include "object/kind.h"

#include <stdbool.h>

struct pl_resource {
    struct pl_kind kind;
    char plural[256];
    bool namespaced;
    bool has_status; /* it has the status subresource */
    bool can_watch;
};

/* 0, or EINVAL "v1/Pod is namespaced: ..." when namespace and scope do not fit. An empty name
 * stands for a collection. */
PL_MUST_USE int pl_resource_check_scope(const struct pl_resource *resource, struct pl_slice ns,
                                        struct pl_slice name, struct pl_err *err);
