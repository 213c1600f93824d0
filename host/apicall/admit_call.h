/* One webhook of a configuration, for one request. */
#pragma once

#include "apicall/admit.h"

struct pl_api_hook {
    struct pl_api_ctx *ctx;
    const char *config; /* the configuration's name, borrowed */
    struct pl_node webhook;
    struct pl_slice name; /* in the arena */
    size_t version;       /* the version in which it wants the object */
    bool mutates;
    int round;    /* 1: a second call */
    bool changed; /* set by pl_api_admit_read: the webhook has changed the object */
};

/* 0: the webhook allows the request and may have replaced admission->object. -1 with the status, or
 * while it waits. */
int pl_api_hook_ask(struct pl_api_hook *hook, struct pl_api_admission *admission);

/* ---- admit_read.c ---- */

/* Reads the patched object (*object, in the hook's version) and fills in defaults. Sets
 * hook->changed. sent: what the webhook got. -1 with the status, or while it waits. */
int pl_api_admit_read(struct pl_api_hook *hook, const struct pl_api_admission *sent,
                      struct pl_tree **object);
