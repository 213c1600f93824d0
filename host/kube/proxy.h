/* Which proxy the environment names for a server: HTTPS_PROXY, HTTP_PROXY, NO_PROXY and
 * their lower-case forms, by the rules that Go's programs and so kubectl follow. Pure. */
#pragma once

#include "base/slice.h"

/* server: "https://host:port/...". The proxy's URL, the caller's to free; NULL: none. */
char *pl_proxy_for(const char *server, const char *const *environ);

/* The parts of an http(s) URL: the host without brackets, the port as a number (that of the
 * scheme when it names none). False when it is no such URL. */
struct pl_server_name {
    bool https;
    struct pl_slice host;
    int port;
};
bool pl_server_name_parse(const char *server, struct pl_server_name *name);
