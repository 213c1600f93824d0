/* Where a webhook is that a clientConfig names. */
#pragma once

#include "apicall/core.h"

/* Texts are owned. */
struct pl_api_reach {
    char *url;
    char *server_name; /* that its certificate must have; NULL: the host of the URL */
};

/* EINVAL, ENOTFOUND or EUNSUPPORTED with what is wrong; `out` is empty then. */
int pl_api_reach(struct pl_api *api, const struct pl_tree *client, struct pl_api_reach *out,
                 struct pl_err *err);
