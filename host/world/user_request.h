/* A user's request to a world's server, which may have to wait for webhooks. One thread. */
#pragma once

#include "apiserver/api.h"
#include "base/buf.h"

struct pl_world_answer {
    int status;
    struct pl_buf body; /* the caller deinits */
};

/* Waits for the answer; false when move_on says that no answer can come in time. */
bool pl_user_request(struct pl_api *api, const struct pl_api_call *call, bool (*move_on)(void *arg),
                     void *arg, struct pl_world_answer *answer);
