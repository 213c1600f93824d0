/* The verbs of the API, each in the file of its name; api.c calls them. They run on the server's
 * thread and answer through the context's responder. */
#pragma once

#include "apicall/core.h"

/* Each returns 0 if it has answered (or will, like a watch), or -1 with the status filled in. */
int pl_api_get(struct pl_api_ctx *ctx);
int pl_api_list(struct pl_api_ctx *ctx);
/* Which part of a list is asked for, and in which version. Texts live in the context's arena. */
struct pl_api_plan {
    uint64_t rv;          /* the version to list */
    struct pl_slice from; /* the first key; "" for the beginning */
    int64_t limit;        /* 0: none */
};
/* Reads and checks the parameters. 0, or -1 with the status. */
int pl_api_list_plan(struct pl_api_ctx *ctx, struct pl_api_plan *plan);
/* The token of the page after that object, in the arena. */
struct pl_slice pl_api_list_token(struct pl_api_ctx *ctx, const struct pl_api_plan *plan,
                                  struct pl_node last);
int pl_api_watch(struct pl_api_ctx *ctx);
int pl_api_create_object(struct pl_api_ctx *ctx);
int pl_api_update(struct pl_api_ctx *ctx);
int pl_api_patch(struct pl_api_ctx *ctx);
int pl_api_delete(struct pl_api_ctx *ctx);
int pl_api_delete_collection(struct pl_api_ctx *ctx);
int pl_api_get_scale(struct pl_api_ctx *ctx);
/* PUT and PATCH of the scale subresource. */
int pl_api_write_scale(struct pl_api_ctx *ctx);

/* Stores the initial objects. */
void pl_api_make_first(struct pl_api *api);
/* Stores the default roles and bindings (rbac_defaults.c). */
void pl_api_rbac_make_defaults(struct pl_api *api);
