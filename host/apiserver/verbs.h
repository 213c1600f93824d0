/* The verbs of the API, each in the file of its name; api.c calls them. They run on the server's
 * thread and answer through the context's responder. */
#pragma once

#include "apicall/core.h"

/* Each returns 0 if it has answered (or will, like a watch), or -1 with the status filled in. */
int pl_api_get(struct pl_api_ctx *ctx);
int pl_api_list(struct pl_api_ctx *ctx);
/* Checks the parameters that say which version is listed. 0, or -1 with the status. */
int pl_api_list_check(struct pl_api_ctx *ctx);
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
