/* One webhook of a configuration, for one request. */
#pragma once

#include "apicall/admit.h"

struct pl_api_hook {
    struct pl_api_ctx *ctx;
    const char *config; /* the configuration's name, borrowed */
    struct pl_node webhook;
    struct pl_slice name; /* in the arena */
    size_t version;       /* in which it wants the object */
    bool mutates;
    int round;    /* 1: it is called again */
    bool changed; /* by pl_api_hook_ask: it has changed the object */
};

/* It could not be asked: 0 when its policy ignores that, else -1 with the status. */
int pl_api_hook_failed(struct pl_api_hook *hook, const char *why);
/* 0: it allows, and may have replaced admission->object; -1 with the status, or while it waits. */
int pl_api_hook_ask(struct pl_api_hook *hook, struct pl_api_admission *admission);
