/* The address of a webhook, from its clientConfig. */
#pragma once

#include "apicall/core.h"

/* Texts are owned. */
struct pl_api_webhook_address {
    char *url;
    char *server_name; /* the name in its certificate; NULL: the host of the URL */
};

/* EINVAL, ENOTFOUND or EUNSUPPORTED with the reason; `out` is empty then. */
PL_MUST_USE int pl_api_webhook_address(struct pl_api *api, const struct pl_tree *client,
                                       struct pl_api_webhook_address *out, struct pl_err *err);
