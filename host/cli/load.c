/* Loads scripts on the first lane, and prints their errors on standard error. */
#include "cli/load.h"

#include <stdio.h>

struct pl_lanes *pl_load_start(const struct pl_options *options,
                               const struct pl_lanes_options *with)
{
    struct pl_lanes *lanes = pl_lanes_create(with);
    pl_lanes_load_start(lanes, (const char *const *)options->flags.paths,
                        options->flags.path_count);
    return lanes;
}

struct pl_lanes *pl_load_finish(const struct pl_options *options, struct pl_lanes *lanes,
                                struct pl_declarations *declarations)
{
    struct pl_err err;
    pl_err_clear(&err);
    int rc = pl_lanes_load_finish(lanes, declarations, &err);
    if (rc == 0 && declarations->controller_count == 0)
        rc =
            pl_err_set(&err, PL_EINVAL, "%s: the scripts declare nothing; call perilune.controller",
                       options->flags.paths[0]);
    if (rc == 0)
        return lanes;
    fprintf(stderr, "%s\n", err.message);
    pl_lanes_destroy(lanes);
    return NULL;
}

struct pl_lanes *pl_load(const struct pl_options *options, const struct pl_lanes_options *with,
                         struct pl_declarations *declarations)
{
    return pl_load_finish(options, pl_load_start(options, with), declarations);
}
