/* The address of an endpoint: "HOST:PORT", ":PORT" (every address) or "0" (none). */
#pragma once

#include "base/err.h"

#include <stdbool.h>

struct pl_bind_address {
    char host[256]; /* "": every address */
    int port;       /* 0: any free one */
    bool off;
    bool is_default; /* not requested: failing to listen there is only a warning */
};

/* "[::1]:8080" is the host ::1. EINVAL with the reason. */
PL_MUST_USE int pl_bind_address_parse(const char *text, struct pl_bind_address *out,
                                      struct pl_err *err);
/* text NULL: the default, ":PORT" in a cluster, else "127.0.0.1:PORT". */
PL_MUST_USE int pl_bind_address_choose(const char *text, int port, bool in_cluster,
                                       struct pl_bind_address *out, struct pl_err *err);
/* "127.0.0.1:8080", "[::1]:8080", ":8080", with this port. */
void pl_bind_address_text(const struct pl_bind_address *address, int port, char *out, size_t size);
