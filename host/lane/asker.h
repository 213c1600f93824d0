/* Which run waits for a request of the API. What carries requests knows them by method and path
 * alone; only where lanes are stepped (options.stepped) can it ask whose they are, as the lanes'
 * coroutines are suspended then, on the same thread. */
#pragma once

#include "base/slice.h"
#include "lane/lanes.h"

struct pl_sought {
    struct pl_slice resource; /* "apps/v1/deployments" */
    struct pl_slice key;      /* "default/blog"; without a name where the server picks one */
    bool writes;
};

struct pl_asker {
    const char *controller, *key; /* borrowed until the loop's next step */
    const char *run;              /* its id; the same for all that one run asks */
    const char *kind;             /* "apps/v1/Deployment", as the script has it; "" where unknown */
    char line[128];               /* "main.lua:44"; "" where no script's line waits */
};

/* False: nobody's run waits for it, so that it is the host's own. */
bool pl_lanes_asker(const struct pl_lanes *lanes, const struct pl_sought *asked,
                    struct pl_asker *out);
