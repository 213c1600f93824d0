/* Commands in Pods, answered by the code that starts the server, which runs none itself. */
#pragma once

#include "base/buf.h"

#include <stdbool.h>

/* Borrowed. */
struct pl_api_command {
    struct pl_slice ns, pod;
    struct pl_slice query; /* of the request: container=...&command=...&command=... */
    struct pl_slice input; /* the whole of stdin */
};

struct pl_api_commands {
    /* Appends the answer as JSON: {"stdout": "", "stderr": "", "code": 0}. out NULL: asks only
     * whether it answers commands in this Pod. False: it does not, or has failed. */
    bool (*answer)(void *arg, const struct pl_api_command *command, struct pl_buf *out);
    void *arg;
};
