/* The proxy that the environment names for a server: HTTPS_PROXY, HTTP_PROXY, NO_PROXY and their
 * lower-case forms, by the rules of Go programs such as kubectl. Pure. */
#pragma once

#include "base/slice.h"

/* server: "https://host:port/...". Returns the proxy's URL, which the caller frees; NULL: none. */
char *pl_proxy_for(const char *server, const char *const *environ);

/* The parts of an http(s) URL: the host without brackets, the port as a number (default: that of
 * the scheme). False when it is not such a URL. */
struct pl_server_name {
    bool https;
    struct pl_slice host;
    int port;
};
bool pl_server_name_parse(const char *server, struct pl_server_name *name);
