/* Services that webhooks are behind, as whoever started the server knows them. */
#pragma once

#include "base/buf.h"

#include <stdbool.h>

/* A Service that a clientConfig names. Borrowed. */
struct pl_api_service {
    const char *ns, *name;
    int port;
};

/* Where Services are that no object says: appends "HOST:PORT" and returns true, or returns false.
 * It is called on the API's thread, whenever a webhook is called. */
struct pl_api_services {
    bool (*find)(void *arg, const struct pl_api_service *service, struct pl_buf *where);
    void *arg;
};
