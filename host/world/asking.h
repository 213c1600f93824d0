/* A user's request to a world's server, which may have to wait for webhooks. One thread. */
#pragma once

#include "apiserver/api.h"
#include "base/buf.h"

struct pl_world_answer {
    int status;
    struct pl_buf body; /* the caller deinits */
};

/* Until the answer is there, or move_on says that nothing is to come in time: false then. */
bool pl_ask_server(struct pl_api *api, const struct pl_api_call *call, bool (*move_on)(void *arg),
                   void *arg, struct pl_world_answer *answer);
