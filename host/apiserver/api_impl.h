/* The whole server, for the files that create it and tell its parts of writes. */
#pragma once

#include "apicall/core.h"
#include "base/base.h"

struct pl_api_actors;
struct pl_api_debug;
struct pl_api_gc;
struct pl_api_protection;
struct pl_api_quotas;

/* What requests share, the parts that work by themselves after a write, and the counts of requests.
 * Code below this folder knows only `api`. Owns the parts. */
struct pl_api_server {
    struct pl_api api;
    struct pl_api_gc *gc;
    struct pl_api_protection *protect;
    struct pl_api_quotas *quotas;
    struct pl_api_actors *actors; /* NULL: none */
    struct pl_api_debug *debug;
};

/* Every pl_api is in a server. */
static inline struct pl_api_server *pl_api_server_of(struct pl_api *api)
{
    return PL_CONTAINER_OF(api, struct pl_api_server, api);
}
