/* Addresses of Services with webhooks, given by the code that starts the server. */
#pragma once

#include "base/buf.h"

#include <stdbool.h>

/* A Service that a clientConfig names. Borrowed. */
struct pl_api_service {
    const char *ns, *name;
    int port;
};

/* Finds the address of a Service: appends "HOST:PORT" and returns true, or returns false. Called on
 * the API's thread at each webhook call. */
struct pl_api_services {
    bool (*find)(void *arg, const struct pl_api_service *service, struct pl_buf *where);
    void *arg;
};
