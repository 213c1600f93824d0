/* Finds the run that waits for a request, of the API or to others. The transport knows requests
 * only by method and path. Only with stepped lanes (options.stepped) can it ask for the run, as the
 * lanes' coroutines are then suspended on the same thread. */
#pragma once

#include "base/slice.h"
#include "lane/lanes.h"

struct pl_sought {
    struct pl_slice resource; /* "apps/v1/deployments" */
    struct pl_slice key;      /* "default/blog"; without a name if the server chooses it */
    bool writes;
};

struct pl_asker {
    const char *controller, *key; /* borrowed until the loop's next step */
    const char *run;              /* its id; the same for all requests of one run */
    const char *kind;             /* "apps/v1/Deployment", as in the script; "" if unknown */
    char line[128];               /* "main.lua:44"; "" if no script's line waits */
};

/* The run that waits for an answer of an external server, to this method and URL; the oldest of
 * several. False: none does. */
bool pl_lanes_http_asker(const struct pl_lanes *lanes, const char *method, const char *url,
                         struct pl_asker *out);
/* False: no run waits for it, so it is a request of the host itself. */
bool pl_lanes_asker(const struct pl_lanes *lanes, const struct pl_sought *asked,
                    struct pl_asker *out);
