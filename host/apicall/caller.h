/* Is a request meant for this server? A page on the web can have its visitor's browser ask any
 * server that the browser reaches, under a name of its own (DNS rebinding) or across origins; the
 * Host and Origin headers tell. */
#pragma once

#include "base/slice.h"

#include <stdbool.h>

/* "localhost", 127.0.0.0/8, ::1; no port. */
bool pl_api_host_is_loopback(struct pl_slice host);
/* authority: what follows "//" of a URL, with or without a port. bound: the name or address that
 * the server was told to listen on, for which it answers besides loopback; where that is every
 * address (0.0.0.0, ::), for any address and the machine's own name. */
bool pl_api_host_is_ours(const char *bound, struct pl_slice authority);
/* host and origin: headers, NULL when absent. */
bool pl_api_caller_is_allowed(const char *bound, const char *host, const char *origin);
