/* Where the API server keeps a kind. Immutable; lives as long as its discovery. */
#pragma once

#include "object/kind.h"

#include <stdbool.h>

struct pl_resource {
    struct pl_kind kind;
    char plural[256];
    bool namespaced;
    bool has_status; /* the status subresource */
    bool can_watch;
};
