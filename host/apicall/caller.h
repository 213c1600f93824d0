/* Whether a request is meant for this server. A web page can make its visitor's browser send
 * requests to any server that the browser reaches, under its own name (DNS rebinding) or across
 * origins. The Host and Origin headers reveal that. */
#pragma once

#include "base/slice.h"

#include <stdbool.h>

/* "localhost", 127.0.0.0/8, ::1; no port. */
bool pl_api_host_is_loopback(struct pl_slice host);
/* authority: the part of a URL after "//", with or without a port. bound: the name or address on
 * which the server listens; requests for it and for loopback are accepted. If it is every address
 * (0.0.0.0, ::), any address and the machine's own name are accepted. */
bool pl_api_host_is_ours(const char *bound, struct pl_slice authority);
/* host and origin: headers, NULL if absent. */
bool pl_api_caller_is_allowed(const char *bound, const char *host, const char *origin);
