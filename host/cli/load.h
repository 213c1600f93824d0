/* Loading the scripts that the command line names. */
#pragma once

#include "cli/options.h"

/* Begins on the first lane's thread. with: the lanes' options. Owned by the caller, until it is
 * given to pl_load_finish. */
struct pl_lanes *pl_load_start(const struct pl_options *options,
                               const struct pl_lanes_options *with);
/* Waits for it. On a mistake, or when nothing is declared, prints that, destroys the lanes and
 * returns NULL; else the same lanes. */
struct pl_lanes *pl_load_finish(const struct pl_options *options, struct pl_lanes *lanes,
                                struct pl_declarations *declarations);
/* Both. */
struct pl_lanes *pl_load(const struct pl_options *options, const struct pl_lanes_options *with,
                         struct pl_declarations *declarations);
